package base64url_test

import (
	"encoding/base64"
	"testing"

	"github.com/slipway-mcp/slipway/internal/base64url"
)

// Every byte sequence has exactly one encoding.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"", true}, {"AA", true}, {"AAA", true}, {"-_8", true},
		{"AB", false}, {"AAB", false}, {"AA==", false}, {"A", false}, {"+/8", false},
		{"A\nA", false}, {"AA\n", false}, {"AA\r\n", false}, {" AA", false},
	} {
		got, err := base64url.Decode(c.text)
		if (err == nil) != c.ok || c.ok && base64.RawURLEncoding.EncodeToString(got) != c.text {
			t.Errorf("Decode(%q) = %q, %v, want it valid: %t", c.text, got, err, c.ok)
		}
	}
}
