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
		rest := r.text[r.at:]
		c, size := utf8.DecodeRune(rest)
		switch {
		case unicode.IsSpace(c) || c == '\ufeff':
			r.at += size
		case bytes.HasPrefix(rest, []byte("//")), r.at == r.module.start && bytes.HasPrefix(rest, []byte("#!")):
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

func (r *reader) peekByte() byte {
	r.space()
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) peek(mark string) bool {
	r.space()
	return bytes.HasPrefix(r.text[r.at:], []byte(mark))
}

// punct consumes mark if it is next.
func (r *reader) punct(mark string) bool {
	if !r.peek(mark) {
		return false
	}
	r.at += len(mark)
	return true
}

func (r *reader) want(mark string) error {
	if r.punct(mark) {
		return nil
	}
	return r.unexpected()
}

func (r *reader) unexpected() error {
	r.space()
	if r.at >= len(r.text) {
		return r.fail(r.at, "unexpected end of the script", "")
	}
	c, _ := utf8.DecodeRune(r.text[r.at:])
	return r.fail(r.at, fmt.Sprintf("unexpected character %q", c), "")
}

// peekWord returns the next name, or "".
func (r *reader) peekWord() string {
	r.space()
	end := r.at
	for end < len(r.text) {
		c, size := utf8.DecodeRune(r.text[end:])
		if c != '_' && c != '$' && !unicode.IsLetter(c) && (end == r.at || !unicode.IsDigit(c)) {
			break
		}
		end += size
	}
	return string(r.text[r.at:end])
}

func (r *reader) word() string {
	w := r.peekWord()
	r.at += len(w)
	return w
}

// stringLiteral reads '...' or "...".
func (r *reader) stringLiteral() (string, error) {
	start := r.at
	quote := r.peekByte()
	if quote != '"' && quote != '\'' {
		return "", r.unexpected()
	}
	r.at++
	var b strings.Builder
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case quote:
			r.at++
			return b.String(), nil
		case '\n':
			return "", r.fail(start, "the string is not closed", "")
		case '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	return "", r.fail(start, "the string is not closed", "")
}

// escape reads an escape sequence.
func (r *reader) escape(b *strings.Builder) error {
	start := r.at
	r.at++
	if r.at >= len(r.text) {
		return r.unexpected()
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
			return r.fail(start, "not an escape", "")
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
	return nil
}

func utf16High(c rune) bool { return 0xd800 <= c && c < 0xdc00 }

func (r *reader) codePoint(kind byte) (rune, bool) {
	digits := 4
	if kind == 'x' {
		digits = 2
	}
	start, end := r.at, r.at+digits
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
func (r *reader) closing(at int) (int, error) {
	back := r.at
	defer func() { r.at = back }()
	depth := 0
	for r.at = at; r.at < len(r.text); {
		r.space()
		if r.at >= len(r.text) {
			break
		}
		switch c := r.text[r.at]; c {
		case '(', '[', '{':
			depth++
			r.at++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return r.at, nil
			}
			r.at++
		case '"', '\'':
			if _, err := r.stringLiteral(); err != nil {
				return at, err
			}
		case '`':
			if err := r.skipTemplate(); err != nil {
				return at, err
			}
		default:
			r.at++
		}
	}
	return at, r.fail(at, fmt.Sprintf("%q is not closed", rune(r.text[at])), "")
}

func (r *reader) skipTemplate() error {
	start := r.at
	for r.at++; r.at < len(r.text); r.at++ {
		switch {
		case r.text[r.at] == '`':
			r.at++
			return nil
		case r.text[r.at] == '\\':
			r.at++
		case bytes.HasPrefix(r.text[r.at:], []byte("${")):
			leave, err := r.step()
			if err != nil {
				return err
			}
			end, err := r.closing(r.at + 1)
			leave()
			if err != nil {
				return err
			}
			r.at = end
		}
	}
	return r.fail(start, "the template is not closed", "")
}

// generics skips <...> if it is next.
func (r *reader) generics() bool {
	if !r.peek("<") {
		return false
	}
	depth := 0
	for i := r.at; i < len(r.text); i++ {
		switch r.text[i] {
		case '<':
			depth++
		case '>':
			if i > 0 && r.text[i-1] == '=' {
				continue
			}
			if depth--; depth == 0 {
				r.at = i + 1
				return true
			}
		case ';':
			return false
		}
	}
	return false
}

// skipDeclaration skips an interface or a declare statement.
func (r *reader) skipDeclaration() error {
	for r.at < len(r.text) {
		switch r.peekByte() {
		case '{':
			end, err := r.closing(r.at)
			r.at = end + 1
			return err
		case ';':
			return nil
		}
		r.at++
	}
	return r.unexpected()
}

// skipType skips a type.
func (r *reader) skipType() error {
	leave, err := r.step()
	defer leave()
	if err != nil {
		return err
	}
	r.punct("|")
	for {
		for w := r.peekWord(); w == "keyof" || w == "readonly" || w == "typeof" || w == "unique"; w = r.peekWord() {
			r.word()
		}
		if err := r.skipPrimaryType(); err != nil {
			return err
		}
		if !r.punct("|") && !r.punct("&") {
			return nil
		}
	}
}

func (r *reader) skipPrimaryType() error {
	switch c := r.peekByte(); {
	case c == '{' || c == '[' || c == '(':
		end, err := r.closing(r.at)
		if err != nil {
			return err
		}
		r.at = end + 1
		if c == '(' && r.punct("=>") {
			return r.skipType()
		}
	case c == '"' || c == '\'':
		if _, err := r.stringLiteral(); err != nil {
			return err
		}
	case c == '`':
		if err := r.skipTemplate(); err != nil {
			return err
		}
	case '0' <= c && c <= '9' || c == '-':
		r.at++
		for r.at < len(r.text) && (unicode.IsDigit(rune(r.text[r.at])) || r.text[r.at] == '.') {
			r.at++
		}
	default:
		if r.word() == "" {
			return r.unexpected()
		}
		for r.punct(".") {
			r.word()
		}
		r.generics()
	}
	for r.peek("[") {
		end, err := r.closing(r.at)
		if err != nil {
			return err
		}
		r.at = end + 1
	}
	return nil
}
