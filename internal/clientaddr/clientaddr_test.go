package clientaddr_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/clientaddr"
)

func TestOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4711":               "192.0.2.7",
		"[::ffff:192.0.2.7]:4711":      "192.0.2.7",
		"[2001:db8:1:2:aaaa::1]:1":     "2001:db8:1:2::",
		"[2001:db8:1:2:bbbb::9]:65535": "2001:db8:1:2::",
		"[fe80::1%eth0]:80":            "fe80::",
		"@":                            "@",
		"":                             "",
	} {
		if got := clientaddr.Of(remote); got != want {
			t.Errorf("Of(%q) = %q, want %q", remote, got, want)
		}
	}
}
