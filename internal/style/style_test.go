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

func TestWrap(t *testing.T) {
	tests := []struct {
		name, text string
		width      int
		want       string
	}{
		{"no limit", "one two three", 0, "one two three"},
		{"fits", "one two", 7, "one two"},
		{"at spaces", "one two three four", 9, "one two\n  three\n  four"},
		{"several lines", "one two\nthree four", 5, "one\n  two\nthree\n  four"},
		{"a long word stays whole", "see https://example.com/a now", 10, "see\n  https://example.com/a\n  now"},
		{"wide characters", "東京 の 挨拶", 7, "東京 の\n  挨拶"},
		{"colors take no columns", "\x1b[31merror:\x1b[0m two", 10, "\x1b[31merror:\x1b[0m two"},
		{"indented", "  one two", 6, "  one\n  two"},
	}
	for _, tt := range tests {
		if got := style.Wrap(tt.text, tt.width, "  "); got != tt.want {
			t.Errorf("%s: Wrap(%q, %d) = %q, want %q", tt.name, tt.text, tt.width, got, tt.want)
		}
	}
}
