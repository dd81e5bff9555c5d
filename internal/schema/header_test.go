package schema_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/schema"
)

func TestTokens(t *testing.T) {
	for name, want := range map[string]bool{
		"Region":            true,
		"a":                 true,
		"x!#$%&'*+-.^_`|~9": true,
		"":                  false,
		"a b":               false,
		"a:":                false,
		"ü":                 false,
		"a\x00":             false,
		"a b\u00fc-c":       false,
	} {
		if got := schema.IsToken(name); got != want {
			t.Errorf("IsToken(%q) = %v, want %v", name, got, want)
		}
	}
}
