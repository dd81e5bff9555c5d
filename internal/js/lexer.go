package js

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// space skips white space and comments. An unclosed comment extends to the end of the
// text, where the missing token is reported.
func (r *reader) space() {
	for r.at < len(r.text) {
		if c := r.text[r.at]; c > ' ' && c < utf8.RuneSelf && c != '/' && c != '#' {
			return
		}
		rest := r.text[r.at:]
		c, size := utf8.DecodeRune(rest)
		switch {
		case unicode.IsSpace(c) || c == '\ufeff':
			r.at += size
		case bytes.HasPrefix(rest, []byte("//")), r.at == r.module.start &&
			bytes.HasPrefix(rest, []byte("#!")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			r.at += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				r.at = len(r.text)
				return
			}
			r.at += end + 4
		default:
			return
		}
	}
}

// peekByte returns the next byte after white space, or 0 at the end.
func (r *reader) peekByte() byte {
	r.space()
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// peek reports whether mark is next.
func (r *reader) peek(mark string) bool {
	r.space()
	return r.at < len(r.text) && r.text[r.at] == mark[0] &&
		bytes.HasPrefix(r.text[r.at:], []byte(mark))
}

// punct consumes mark if it is next.
func (r *reader) punct(mark string) bool {
	if !r.peek(mark) {
		return false
	}
	r.at += len(mark)
	return true
}

// want consumes mark, which must be next.
func (r *reader) want(mark string) {
	if !r.punct(mark) {
		panic(r.unexpected())
	}
}

// list reads elements between brackets, separated by commas. A comma may follow the last.
func (r *reader) list(opening, closing string, element func()) {
	r.want(opening)
	unfinished := func() bool { return r.opts.Lenient && r.peekByte() == 0 }
	for !r.punct(closing) && !unfinished() {
		element()
		if !r.punct(",") && !r.peek(closing) && !unfinished() {
			panic(r.unexpected())
		}
	}
}

// unexpected returns the fault for a character that cannot be here.
func (r *reader) unexpected() *fault {
	r.space()
	if r.at >= len(r.text) {
		return fail(r.at, "unexpected end of the script", "")
	}
	c, _ := utf8.DecodeRune(r.text[r.at:])
	return fail(r.at, fmt.Sprintf("unexpected character %q", c), "")
}

// peekWord returns the next name, or "".
func (r *reader) peekWord() string {
	r.space()
	end := r.at
	for end < len(r.text) {
		c, size := utf8.DecodeRune(r.text[end:])
		if c != '_' &&
			c != '$' &&
			!unicode.IsLetter(c) &&
			(end == r.at || !unicode.IsDigit(c)) {
			break
		}
		end += size
	}
	return string(r.text[r.at:end])
}

// word consumes the next name and returns it, or "".
func (r *reader) word() string {
	w := r.peekWord()
	r.at += len(w)
	return w
}

// name is word for a name that must be there.
func (r *reader) name() string {
	w := r.word()
	if w == "" {
		panic(r.unexpected())
	}
	return w
}

// keyword consumes a word if it is next.
func (r *reader) keyword(word string) bool {
	if r.peekWord() != word {
		return false
	}
	r.at += len(word)
	return true
}

// stringLiteral reads '...' or "...".
func (r *reader) stringLiteral() string {
	start := r.at
	quote := r.peekByte()
	if quote != '"' && quote != '\'' {
		panic(r.unexpected())
	}
	r.at++
	var b strings.Builder
	for r.at < len(r.text) && r.text[r.at] != '\n' {
		switch c := r.text[r.at]; c {
		case quote:
			r.at++
			return b.String()
		case '\\':
			r.escape(&b)
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	panic(fail(start, "unterminated string", ""))
}

// escape reads an escape sequence.
func (r *reader) escape(b *strings.Builder) {
	start := r.at
	r.at++
	if r.at >= len(r.text) {
		panic(r.unexpected())
	}
	c := r.text[r.at]
	r.at++
	plain := strings.IndexByte("nrtbfv0", c)
	switch {
	case plain >= 0:
		b.WriteByte("\n\r\t\b\f\v\x00"[plain])
	case c == '\r': // line continuation
		if r.at < len(r.text) && r.text[r.at] == '\n' {
			r.at++
		}
	case c == '\n': // line continuation
	case c == 'x' || c == 'u':
		code, ok := r.codePoint(c)
		if !ok {
			panic(fail(start, "invalid escape sequence", ""))
		}
		if utf16High(code) && bytes.HasPrefix(r.text[r.at:], []byte(`\u`)) {
			r.at += 2
			if low, ok := r.codePoint('u'); ok {
				code = (code-0xd800)<<10 + (low - 0xdc00) + 0x10000
			}
		}
		b.WriteRune(code)
	default:
		r.at--
		c, size := utf8.DecodeRune(r.text[r.at:])
		r.at += size
		b.WriteRune(c)
	}
}

// utf16High reports whether c is the first half of a surrogate pair, as in "\ud83d\ude00".
func utf16High(c rune) bool { return 0xd800 <= c && c < 0xdc00 }

// codePoint reads the digits of \xHH, \uHHHH or \u{H...}.
func (r *reader) codePoint(kind byte) (rune, bool) {
	digits := 4
	if kind == 'x' {
		digits = 2
	}
	start := r.at
	end := r.at + digits
	if kind == 'u' && r.at < len(r.text) && r.text[r.at] == '{' {
		start = r.at + 1
		n := bytes.IndexByte(r.text[start:], '}')
		if n < 0 {
			return 0, false
		}
		end = start + n
		r.at = end + 1
	} else {
		r.at = end
	}
	if end > len(r.text) {
		r.at = len(r.text)
		return 0, false
	}
	code, err := strconv.ParseUint(string(r.text[start:end]), 16, 21)
	return rune(code), err == nil
}

// closing returns the position of the bracket that closes the one at r.text[at].
func (r *reader) closing(at int) int {
	back := r.at
	defer func() { r.at = back }()
	r.at = at
	r.skipBrackets()
	return r.at - 1
}

// skipBrackets skips the bracket that is next, through the one that closes it.
func (r *reader) skipBrackets() {
	r.space()
	start := r.at
	depth := 0
	for r.space(); r.at < len(r.text); r.space() {
		switch c := r.text[r.at]; c {
		case '(', '[', '{':
			depth++
			r.at++
		case ')', ']', '}':
			r.at++
			if depth--; depth == 0 {
				return
			}
		case '"', '\'':
			r.stringLiteral()
		case '`':
			r.skipTemplate()
		default:
			if c != '/' || !r.skipPattern() {
				r.at++
			}
		}
	}
	panic(fail(start, fmt.Sprintf("%q is not closed", rune(r.text[start])), ""))
}

// skipTemplate skips a template, including the expressions in it.
func (r *reader) skipTemplate() {
	start := r.at
	for r.at++; r.at < len(r.text); r.at++ {
		switch {
		case r.text[r.at] == '`':
			r.at++
			return
		case r.text[r.at] == '\\':
			r.at++
		case bytes.HasPrefix(r.text[r.at:], []byte("${")):
			leave := r.step()
			r.at = r.closing(r.at + 1)
			leave()
		}
	}
	panic(fail(start, "unterminated template", ""))
}
