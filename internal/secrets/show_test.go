package secrets_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

func TestURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/mcp":                   "https://example.com/mcp",
		"https://ann:pw@example.com/mcp?token=1#at": "https://redacted@example.com/mcp?redacted",
		"https://%zz": "the URL",
	} {
		if got := secrets.URL(address); got != want {
			t.Errorf("URL(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y server --root /data":           "npx -y server --root /data",
		"server --token=abc --port=80":         "server --token=[redacted] --port=80",
		"server --api-key abc --verbose":       "server --api-key [redacted] --verbose",
		"server --password --verbose":          "server --password --verbose",
		"env API_TOKEN=abc LANG=C server":      "env API_TOKEN=[redacted] LANG=C server",
		"proxy https://a:b@host/p?k=v end":     "proxy https://redacted@host/p?redacted end",
		"proxy --url=https://host/p?k=v":       "proxy --url=https://host/p?redacted",
		"git ghp_" + strings.Repeat("a1B2", 9): "git [redacted]",
	} {
		if got := strings.Join(secrets.Command(strings.Fields(line)), " "); got != want {
			t.Errorf("Command(%q) = %q, want %q", line, got, want)
		}
	}
}
