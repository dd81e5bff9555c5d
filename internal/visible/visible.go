// Package visible makes text from outside safe to show to people.
//
// A terminal acts on some characters instead of showing them: they clear the
// screen, change its title, move the cursor or reverse the direction of writing,
// so a server could forge what a command prints. [Line] escapes a name or a
// message that belongs on one line, [Text] a text of several lines, [JSON] an
// encoded document, and [Writer] a stream. Escapes have the form of JSON:
// \u001b.
package visible

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s with every character escaped that people cannot see, line ends
// and tabs included: controls, marks for the direction of writing, spaces
// without width, tags and fillers. Bytes that are not UTF-8 become \x9b. Joiners
// and selectors within emoji stay.
func Line(s string) string {
	if plain(s) && !strings.Contains(s, "\n") {
		return s
	}
	return escape(s, func(r, last rune) bool { return r == '\n' || r == '\t' || invisible(r, last) })
}

// Lines is [Line] for text of several lines: line ends and tabs stay as they are.
func Lines(s string) string {
	if plain(s) {
		return s
	}
	return escape(s, invisible)
}

// Text returns s with every character escaped that a terminal would act on:
// controls, marks for the direction of writing, tags and separators. Line ends,
// also those of Windows, and tabs stay, and so do joiners, which some languages
// need. Bytes that are not UTF-8 become \x9b.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unsafe(r) }) {
		return s
	}
	ends := strings.Split(s, "\r\n")
	for i, part := range ends {
		ends[i] = escape(part, func(r, _ rune) bool { return r != '\n' && r != '\t' && unsafe(r) })
	}
	return strings.Join(ends, "\r\n")
}

// JSON returns an encoded JSON document, or several, in which the characters
// that [Lines] and [Text] escape are escapes of JSON, so that it means the same.
// It returns doc itself if there are none.
func JSON(doc []byte) []byte {
	if plain(doc) {
		return doc
	}
	valid := strings.ToValidUTF8(string(doc), "\ufffd")
	return []byte(escape(valid, func(r, last rune) bool { return r >= 0x7f && (invisible(r, last) || unsafe(r)) }))
}

// unsafe reports whether a terminal may act on a character. RuneError is how a
// byte that is not UTF-8 is read: some terminals take it for a control.
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

// fillers are letters and marks that are shown as nothing.
var fillers = []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x2065, 0x2800, 0x3164,
	0xffa0}

// invisible reports whether people do not see a character that a model reads, or
// see something else. last is the character before it: emoji are joined and
// selected by some of these.
func invisible(r, last rune) bool {
	switch {
	case r == '\n' || r == '\t': // people see what they do
		return false
	case r == 0x200d || r == 0xfe0f:
		return !inEmoji(r, last)
	case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp):
		return true
	case 0xfe00 <= r && r <= 0xfe0f, 0xe0000 <= r && r <= 0xe0fff, 0xfff0 <= r && r <= 0xfff8:
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

// escape writes the characters that must be escaped as \u001b, and bytes that are
// not UTF-8 as \x9b.
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

// plain reports whether s has nothing but printable ASCII and line ends.
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

// Find returns the characters of text that [Lines] escapes, each once. A return
// before a line end is none of them.
func Find(text string) (found []rune) {
	last := rune(0)
	for _, r := range text {
		if r != '\r' && invisible(r, last) && !slices.Contains(found, r) {
			found = append(found, r)
		}
		last = r
	}
	return found
}

// Describe returns the code point of an invisible character and what it does:
// "U+202E, a mark that turns the direction of writing".
func Describe(r rune) string {
	kind := "an invisible character"
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
