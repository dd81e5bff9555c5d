// Package visible makes untrusted text safe to display.
//
// Terminals interpret some characters instead of showing them: they clear the screen,
// change its title, move the cursor or reverse the writing direction, so a server could
// forge the output of a command. [Line] escapes a name or a message on one line, [Text] a
// text of several lines, [JSON] an encoded document, and [Writer] a stream. Escapes have
// the form of JSON: \u001b.
package visible

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s with every invisible character escaped, including line endings and tabs:
// controls, directional marks, zero-width spaces, tags and fillers. Invalid UTF-8 is
// escaped as \x9b. Joiners and selectors within emoji are kept.
func Line(s string) string {
	if plain(s) && !strings.Contains(s, "\n") {
		return s
	}
	return escape(s, func(r, last rune) bool {
		return r == '\n' || r == '\t' || invisible(r, last)
	})
}

// Lines is [Line] for text of several lines: line endings and tabs are kept.
func Lines(s string) string {
	if plain(s) {
		return s
	}
	return escape(s, invisible)
}

// Text returns s with every character escaped that a terminal would interpret: controls,
// directional marks, tags and separators. Line endings, including those of Windows, and
// tabs are kept, as are joiners, which some languages require. Invalid UTF-8 is escaped
// as \x9b.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && unsafe(r)
	}) {
		return s
	}
	ends := strings.Split(s, "\r\n")
	for i, part := range ends {
		ends[i] = escape(part, func(r, _ rune) bool {
			return r != '\n' && r != '\t' && unsafe(r)
		})
	}
	return strings.Join(ends, "\r\n")
}

// JSON returns one or more encoded JSON documents with the same meaning, in which the
// characters that [Lines] and [Text] escape are JSON escapes. It returns doc itself if
// there are none.
func JSON(doc []byte) []byte {
	if plain(doc) {
		return doc
	}
	valid := strings.ToValidUTF8(string(doc), "\ufffd")
	return []byte(escape(valid, func(r, last rune) bool {
		return r >= 0x7f && (invisible(r, last) || unsafe(r))
	}))
}

// unsafe reports whether a terminal may interpret a character. RuneError is the result of
// decoding invalid UTF-8, which some terminals interpret as a control.
func unsafe(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r <= 0x9f, r == utf8.RuneError:
		return true
	case r < 0x061c:
		return false
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || 0x2028 <= r && r <= 0x202e ||
		0x2066 <= r && r <= 0x2069 || 0xe0000 <= r && r <= 0xe007f
}

// fillers are letters and marks that are displayed as nothing.
var fillers = []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x2065, 0x2800, 0x3164,
	0xffa0}

// invisible reports whether a character that a model reads is not displayed, or is
// displayed as something else. last is the preceding character: some of these characters
// are parts of emoji.
func invisible(r, last rune) bool {
	switch {
	case r == '\n' || r == '\t': // visible by their effect
		return false
	case r == 0x200d || r == 0xfe0f:
		return !inEmoji(r, last)
	case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp):
		return true
	case 0xfe00 <= r &&
		r <= 0xfe0f, 0xe0000 <= r && r <= 0xe0fff, 0xfff0 <= r && r <= 0xfff8:
		return true
	}
	return slices.Contains(fillers, r)
}

// inEmoji reports whether a joiner or selector after last is part of an emoji.
func inEmoji(r, last rune) bool {
	if unicode.In(last, unicode.So, unicode.Sk) || last == 0xfe0f {
		return true
	}
	return r == 0xfe0f && strings.ContainsRune("#*0123456789\u203c\u2049", last)
}

// escape writes the characters that must be escaped as \u001b, and invalid UTF-8 as \x9b.
func escape(s string, must func(r, last rune) bool) string {
	var out strings.Builder
	out.Grow(len(s))
	last := rune(0)
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case r != utf8.RuneError && must(r, last):
			writeEscape(&out, r)
		default:
			out.WriteRune(r)
		}
		last = r
	}
	return out.String()
}

// plain reports whether s contains only printable ASCII and line endings.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && s[i] != '\n' {
			return false
		}
	}
	return true
}

func writeEscape(out *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); r > 0xffff {
		fmt.Fprintf(out, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(out, `\u%04x`, r)
}

// Find returns the characters of text that [Lines] escapes, each once, except the
// carriage returns of line endings.
func Find(text string) (found []rune) {
	last := rune(0)
	for i, r := range text {
		if r == '\r' && strings.HasPrefix(text[i:], "\r\n") {
			last = r
			continue
		}
		if invisible(r, last) && !slices.Contains(found, r) {
			found = append(found, r)
		}
		last = r
	}
	return found
}

// Describe returns the code point of an invisible character and its effect: "U+202E, a
// mark that turns the direction of writing".
func Describe(r rune) string {
	kind := "an invisible character"
	switch {
	case 0x202a <= r &&
		r <= 0x202e, 0x2066 <= r && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
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
