package style_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/style"
)

func TestTruncate(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"short":             {"abc", 3, "abc"},
		"long":              {"abcd", 3, "ab…"},
		"no limit":          {"abcd", 0, "abcd"},
		"wide":              {"東京都", 6, "東京都"},
		"half of a wide":    {"東京都", 4, "東…"},
		"combining marks":   {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		"family of emoji":   {"👩‍👩‍👧x y", 4, "👩‍👩‍👧x…"},
		"flag":              {"🇩🇪ab", 3, "🇩🇪…"},
		"one column":        {"abc", 1, "…"},
		"skin tone":         {"👍🏽ok", 4, "👍🏽ok"},
		"presentation text": {"☎\ufe0fabc", 4, "☎\ufe0fa…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := style.Truncate(test.text, test.width)
			if got != test.want || test.width > 0 && style.Width(got) > test.width {
				t.Errorf("Truncate(%q, %d) = %q of %d columns, want %q", test.text, test.width, got, style.Width(got), test.want)
			}
		})
	}
}

func TestPad(t *testing.T) {
	if got, want := style.Pad("東", 4), "東  "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := style.Pad("long", 2); got != "long" {
		t.Errorf("got %q, want it unchanged", got)
	}
}

func TestPaint(t *testing.T) {
	if got, want := style.Error.Paint("x"), "\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := style.Error.If(false).Paint("x"); got != "x" {
		t.Errorf("got %q without color, want x", got)
	}
}
