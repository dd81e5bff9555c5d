package glob_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/glob"
)

func TestMatchTool(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"say", "say", true},
		{"say", "says", false},
		{"s*", "say", true},
		{"*a*", "say", true},
		{"s?y", "say", true},
		{"s?y", "sy", false},
		{"", "say", false},
		{"**", "", true},
		{"mini/say", "say", true},
		{"other/say", "say", false},
		{"m*/s*", "say", true},
		{"mini/sub/say", "sub/say", true},
		{"mini/say", "mini/say", true},
		{"*b*b*b*b*b*c", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false},
	} {
		from := func(source string) bool { return glob.Match(source, "mini") }
		if got := glob.MatchTool(tt.pattern, tt.name, from); got != tt.want {
			t.Errorf("MatchTool(%q, %q) = %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}
