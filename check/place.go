package check

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

const byteOrderMark = "\ufeff"

// LineColumn returns the line and column of the byte at offset, both counted from 1.
// Columns count characters. Lines end with LF; a leading byte order mark is not counted.
// An offset past the end is treated as the end.
func LineColumn(text []byte, offset int) (line, column int) {
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	begin := before[bytes.LastIndexByte(before, '\n')+1:]
	if line == 1 {
		begin = bytes.TrimPrefix(begin, []byte(byteOrderMark))
	}
	return line, 1 + utf8.RuneCount(begin)
}

// Offset returns the index of the first byte of the value that pointer (RFC 6901)
// identifies in a JSON text. If that value does not exist, it returns the index of its
// deepest existing ancestor, and false. If a member is repeated, the last one wins. Text
// after a syntax error is ignored.
func Offset(text []byte, pointer string) (offset int, ok bool) {
	at := jsonscan.Space(text, 0)
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		next, found := step(text, at, jsonscan.UnescapeToken(token))
		if !found {
			return at, false
		}
		at = next
	}
	return at, at < len(text)
}

// Pointer returns the JSON pointer with the given names and indices.
func Pointer(tokens ...any) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(jsonscan.EscapeToken(fmt.Sprint(t)))
	}
	return b.String()
}

// step returns the index of a member or element of the value at text[at].
func step(text []byte, at int, token string) (next int, ok bool) {
	if at >= len(text) {
		return at, false
	}
	switch text[at] {
	case '{':
		_, _ = jsonscan.Object(text, at, 0, func(key []byte, i int) (int, error) {
			if string(key) == token {
				next = i
				ok = true
			}
			return jsonscan.Value(text, i)
		})
	case '[':
		want, err := strconv.Atoi(token)
		if err != nil || want < 0 {
			return at, false
		}
		n := 0
		_, _ = jsonscan.Array(text, at, 0, func(i int) (int, error) {
			if n == want {
				next, ok = jsonscan.Space(text, i), true
			}
			n++
			return jsonscan.Value(text, i)
		})
	}
	return next, ok
}
