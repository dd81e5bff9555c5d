package jsonscan_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

func TestTokens(t *testing.T) {
	// The last three are the order of replacements: "~01" is "~1", not "/" (RFC 6901,
	// section 4).
	for name, token := range map[string]string{
		"": "", "plain": "plain", "a/b": "a~1b", "m~n": "m~0n", "~1": "~01", "~0": "~00", "/~/": "~1~0~1",
	} {
		if got := jsonscan.EscapeToken(name); got != token {
			t.Errorf("EscapeToken(%q) = %q, want %q", name, got, token)
		}
		if got := jsonscan.UnescapeToken(token); got != name {
			t.Errorf("UnescapeToken(%q) = %q, want %q", token, got, name)
		}
	}
}
