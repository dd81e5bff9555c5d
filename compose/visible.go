package compose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// invisible reports whether people do not see a character that a model reads, or
// see something else: marks for the direction of writing, spaces without width,
// tags, variation selectors, fillers, controls. last is the character before it:
// emoji are joined and selected by some of these.
func invisible(r, last rune) bool {
	switch {
	case r == '\n' || r == '\t': // people see what they do
		return false
	case r == 0x200d || r == 0xfe0f:
		return !unicode.Is(unicode.So, last) && !unicode.Is(unicode.Sk, last) && last != 0xfe0f && !(r == 0xfe0f && strings.ContainsRune("#*0123456789\u203c\u2049", last))
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case 0xfe00 <= r && r <= 0xfe0f, 0xe0000 <= r && r <= 0xe0fff, 0xfff0 <= r && r <= 0xfff8:
		return true
	}
	return slices.Contains([]rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x2065, 0x2800, 0x3164, 0xffa0}, r)
}

// Visible returns text with what people do not see written as escapes: \u202e.
func Visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	var out strings.Builder
	last := rune(0)
	for _, r := range text {
		if invisible(r, last) {
			writeEscape(&out, r)
		} else {
			out.WriteRune(r)
		}
		last = r
	}
	return out.String()
}

func writeEscape(out *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); r > 0xffff {
		fmt.Fprintf(out, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(out, `\u%04x`, r)
}

// hidden returns the characters of text that people do not see, each once.
func hidden(text string) (found []rune) {
	last := rune(0)
	for _, r := range text {
		if r != '\r' && invisible(r, last) && !slices.Contains(found, r) {
			found = append(found, r)
		}
		last = r
	}
	return found
}

// nameOf says what an invisible character is.
func nameOf(r rune) string {
	kind := "a character that nobody sees"
	switch {
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		kind = "a mark that turns the direction of writing"
	case r == 0x200b, r == 0x200c, r == 0x200d, r == 0x2060, r == 0xfeff:
		kind = "a space without width"
	case 0xe0000 <= r && r <= 0xe007f:
		kind = "a tag, which a model reads as a letter"
	case 0xfe00 <= r && r <= 0xfe0f, 0xe0100 <= r && r <= 0xe01ef:
		kind = "a variation selector"
	case unicode.Is(unicode.Cc, r):
		kind = "a control character"
	}
	return fmt.Sprintf("U+%04X, %s", r, kind)
}
