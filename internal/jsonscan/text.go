package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a scanned JSON string literal, including its quotes. An unpaired
// escaped surrogate becomes U+FFFD. If raw does not begin with a quote, ok is false.
func Unquote(raw []byte) (s string, ok bool) {
	text, ok := UnquoteBytes(raw)
	return string(text), ok
}

// UnquoteBytes is [Unquote] without a copy if there are no escapes: the result may be a
// slice of raw and must not be modified.
func UnquoteBytes(raw []byte) (s []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return body, true
	}
	return appendUnescaped(make([]byte, 0, len(body)), body), true
}

// unescapes maps the letter of a two-character escape to its byte.
var unescapes = [256]byte{
	'"':  '"',
	'\\': '\\',
	'/':  '/',
	'b':  '\b',
	'f':  '\f',
	'n':  '\n',
	'r':  '\r',
	't':  '\t',
}

// appendUnescaped appends the text of a valid string body. Unpaired surrogates become
// U+FFFD.
func appendUnescaped(dst, body []byte) []byte {
	for i := 0; i < len(body); {
		c := body[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if c = body[i+1]; c != 'u' {
			dst = append(dst, unescapes[c])
			i += 2
			continue
		}
		r := hex4(body[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			if i+6 <= len(body) && body[i] == '\\' && body[i+1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(body[i+2:])); pair != utf8.RuneError {
					dst = utf8.AppendRune(dst, pair)
					i += 6
					continue
				}
			}
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func hex4(b []byte) rune {
	return rune(hex(b[0])<<12 | hex(b[1])<<8 | hex(b[2])<<4 | hex(b[3]))
}

const hexDigits = "0123456789abcdef"

// AppendQuote appends s to dst as a JSON string literal. It only escapes what JSON
// requires, so HTML is not escaped. Invalid UTF-8 becomes U+FFFD.
func AppendQuote[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			m := plain(word(s, i))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := decodeRune(s, i)
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += n
		case c == '"' || c == '\\' || c < 0x20:
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
		default:
			i++
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func word[T string | []byte](s T, i int) uint64 {
	var w [8]byte
	copy(w[:], s[i:i+8])
	return binary.LittleEndian.Uint64(w[:])
}

func decodeRune[T string | []byte](s T, i int) (rune, int) {
	var w [utf8.UTFMax]byte
	n := copy(w[:], s[i:])
	return utf8.DecodeRune(w[:n])
}

// appendEscape appends the shortest escape of a byte that JSON requires to be escaped.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendCompact appends the valid JSON text src to dst without the white space between
// its tokens. Strings and numbers keep their bytes.
func AppendCompact(dst, src []byte) []byte {
	start := 0
	for i := 0; i < len(src); {
		switch src[i] {
		case '"':
			i = stringEnd(src, i)
		case ' ', '\n', '\r', '\t':
			dst = append(dst, src[start:i]...)
			i = Space(src, i)
			start = i
		default:
			i++
		}
	}
	return append(dst, src[start:]...)
}

// IsCompact reports whether the valid JSON text src has no white space between its
// tokens, so that [AppendCompact] would copy it unchanged.
func IsCompact(src []byte) bool {
	for i := 0; i < len(src); {
		switch src[i] {
		case '"':
			i = stringEnd(src, i)
		case ' ', '\n', '\r', '\t':
			return false
		default:
			i++
		}
	}
	return true
}

// stringEnd returns the index after the closing quote of the string that begins at
// src[i], or the length of src. The text is valid: only backslashes matter.
func stringEnd(src []byte, i int) int {
	for j := i + 1; ; j++ {
		k := bytes.IndexByte(src[j:], '"')
		if k < 0 {
			return len(src)
		}
		j += k
		slashes := j
		for slashes > i+1 && src[slashes-1] == '\\' {
			slashes--
		}
		if (j-slashes)%2 == 0 {
			return j + 1
		}
	}
}
