// Package jsonscan is Slipway's own JSON scanner: it walks JSON text in place,
// proves it valid while it goes, and hands out slices of it instead of Go values.
//
// The protocol core and the formats use it wherever a document must reach its
// reader byte for byte, and wherever two parsers that read the same bytes
// differently would be a security hole. It is stricter than encoding/json: text
// must be UTF-8, nesting has a limit, nothing may follow the value, and callers
// that walk an object see every member, so that they can refuse duplicates.
//
// Start with [Valid], [Value], [Object] and [AppendQuote]. Everything else in
// the program that is not on the path of a request uses encoding/json.
package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how deeply arrays and objects may nest. A value nested deeper is
// refused, so recursion over scanned text is safe.
const MaxDepth = 512

// Error tells what is wrong with a JSON text and at which byte.
type Error struct {
	// Offset is the index of the offending byte, counted from 0 in the slice
	// that was scanned.
	Offset int
	// Reason is a short lower-case description, such as "unexpected end of input".
	Reason string
}

// Error implements the error interface.
func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

func fail(offset int, reason string) error { return &Error{Offset: offset, Reason: reason} }

func unexpected(b []byte, i int) error {
	if i >= len(b) {
		return fail(len(b), "unexpected end of input")
	}
	if c := b[i]; c >= 0x20 && c < 0x7f {
		return fail(i, fmt.Sprintf("unexpected character %q", rune(c)))
	}
	return fail(i, fmt.Sprintf("unexpected byte 0x%02x", b[i]))
}

// Valid reports with a nil error that b is exactly one JSON value with optional
// white space around it, in UTF-8, nested at most [MaxDepth] deep. Otherwise the
// error is an [*Error]. Duplicate object keys are not looked for.
func Valid(b []byte) error {
	i, err := Value(b, 0)
	if err != nil {
		return err
	}
	return End(b, i)
}

// End reports with a nil error that nothing but white space stands in b from i on.
func End(b []byte, i int) error {
	if i = Space(b, i); i < len(b) {
		return fail(i, "text after the end of the value")
	}
	return nil
}

// Value scans the JSON value that begins at b[i], leading white space skipped,
// and returns the index just behind it.
func Value(b []byte, i int) (end int, err error) { return value(b, i, 0) }

// Space returns the index of the first byte from b[i] on that is not JSON white space.
func Space(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\n', '\r', '\t':
			i++
		default:
			return i
		}
	}
	return i
}

func value(b []byte, i, depth int) (int, error) {
	i = Space(b, i)
	if i >= len(b) {
		return i, unexpected(b, i)
	}
	switch c := b[i]; c {
	case '"':
		end, _, err := scanString(b, i)
		return end, err
	case '{':
		return skipObject(b, i, depth+1)
	case '[':
		return skipArray(b, i, depth+1)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return number(b, i)
		}
		return i, unexpected(b, i)
	}
}

func skipObject(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, fail(i, "nested too deeply")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return i, unexpected(b, i)
		}
		end, _, err := scanString(b, i)
		if err != nil {
			return end, err
		}
		if i = Space(b, end); i >= len(b) || b[i] != ':' {
			return i, unexpected(b, i)
		}
		if i, err = value(b, i+1, depth); err != nil {
			return i, err
		}
		i = Space(b, i)
		if i >= len(b) {
			return i, unexpected(b, i)
		}
		switch b[i] {
		case ',':
			i = Space(b, i+1)
		case '}':
			return i + 1, nil
		default:
			return i, unexpected(b, i)
		}
	}
}

func skipArray(b []byte, i, depth int) (int, error) {
	return array(b, i, depth, func(i int) (int, error) { return value(b, i, depth) })
}

func array(b []byte, i, depth int, element func(i int) (int, error)) (int, error) {
	if depth > MaxDepth {
		return i, fail(i, "nested too deeply")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = element(i); err != nil {
			return i, err
		}
		i = Space(b, i)
		if i >= len(b) {
			return i, unexpected(b, i)
		}
		switch b[i] {
		case ',':
			i = Space(b, i+1)
		case ']':
			return i + 1, nil
		default:
			return i, unexpected(b, i)
		}
	}
}

// Object scans the object that begins at b[i] and returns the index just behind
// it. It calls member for each member in turn with the decoded key and the index
// of the value's first byte; member returns the index just behind that value,
// usually from [Value]. The key may be a slice of b and must not be changed. An
// error of member ends the scan and is returned as it is.
//
// depth is how many arrays and objects already enclose b[i]: 0 for a whole text.
func Object(b []byte, i, depth int, member func(key []byte, i int) (end int, err error)) (end int, err error) {
	if i = Space(b, i); i >= len(b) || b[i] != '{' {
		return i, unexpected(b, i)
	}
	if depth >= MaxDepth {
		return i, fail(i, "nested too deeply")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return i, unexpected(b, i)
		}
		end, escaped, err := scanString(b, i)
		if err != nil {
			return end, err
		}
		key := b[i+1 : end-1]
		if escaped {
			key = appendUnescaped(nil, key)
		}
		if i = Space(b, end); i >= len(b) || b[i] != ':' {
			return i, unexpected(b, i)
		}
		if i, err = member(key, Space(b, i+1)); err != nil {
			return i, err
		}
		i = Space(b, i)
		if i >= len(b) {
			return i, unexpected(b, i)
		}
		switch b[i] {
		case ',':
			i = Space(b, i+1)
		case '}':
			return i + 1, nil
		default:
			return i, unexpected(b, i)
		}
	}
}

// ValueAt is [Value] for a value that depth arrays and objects already enclose.
func ValueAt(b []byte, i, depth int) (end int, err error) { return value(b, i, depth) }

// Array scans the array that begins at b[i] and returns the index just behind
// it. It calls element for each element with the index of its first byte;
// element returns the index just behind it. depth is as in [Object].
func Array(b []byte, i, depth int, element func(i int) (end int, err error)) (end int, err error) {
	if i = Space(b, i); i >= len(b) || b[i] != '[' {
		return i, unexpected(b, i)
	}
	return array(b, i, depth+1, element)
}

func literal(b []byte, i int, want string) (int, error) {
	for k := range len(want) {
		if i+k >= len(b) || b[i+k] != want[k] {
			return i + k, unexpected(b, i+k)
		}
	}
	return i + len(want), nil
}

func number(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return i, unexpected(b, i)
	case b[i] == '0':
		i++
	case '1' <= b[i] && b[i] <= '9':
		i = digits(b, i)
	default:
		return i, unexpected(b, i)
	}
	if i < len(b) && b[i] == '.' {
		start := i + 1
		if i = digits(b, start); i == start {
			return i, unexpected(b, i)
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start := i
		if i = digits(b, start); i == start {
			return i, unexpected(b, i)
		}
	}
	return i, nil
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns a word whose lowest set high bit marks the first of eight bytes
// that ends a run of plain ASCII: a quote, a backslash, a control character or
// a byte of a multi-byte sequence. Zero means all eight are plain.
func plain(w uint64) uint64 {
	quote := w ^ (ones * '"')
	slash := w ^ (ones * '\\')
	return (w | (w - ones*0x20) | (quote - ones) | (slash - ones)) & highs
}

// plainEnd returns the index of the first byte from b[i] on that ends a run of plain
// ASCII, or one of the last seven of b.
func plainEnd(b []byte, i int) int {
	for len(b)-i >= 16 { // two words at a time need half the jumps
		pair := b[i : i+16]
		first, second := plain(binary.LittleEndian.Uint64(pair)), plain(binary.LittleEndian.Uint64(pair[8:]))
		if first != 0 {
			return i + bits.TrailingZeros64(first)>>3
		}
		if second != 0 {
			return i + 8 + bits.TrailingZeros64(second)>>3
		}
		i += 16
	}
	if len(b)-i >= 8 {
		if m := plain(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	return i
}

// scanString scans the string whose opening quote is b[i]. It returns the index
// behind the closing quote and whether the string holds an escape.
func scanString(b []byte, i int) (end int, escaped bool, err error) {
	i++
	for {
		i = plainEnd(b, i)
		if i >= len(b) {
			return i, escaped, unexpected(b, i)
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			if i, err = escape(b, i); err != nil {
				return i, escaped, err
			}
		case c < 0x20:
			return i, escaped, fail(i, "control character in a string")
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n <= 1 {
				return i, escaped, fail(i, "invalid UTF-8")
			}
			i += n
		}
	}
}

func escape(b []byte, i int) (int, error) {
	i++
	if i >= len(b) {
		return i, unexpected(b, i)
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case 'u':
		for k := 1; k <= 4; k++ {
			if i+k >= len(b) || hex(b[i+k]) < 0 {
				return i + k, unexpected(b, i+k)
			}
		}
		return i + 5, nil
	}
	return i, unexpected(b, i)
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Member returns the value of a member of the valid JSON text raw, a slice of it.
// It is nil if there is no such member, or raw is no object; of members that are
// given twice it is the last.
func Member(raw []byte, name string) (value []byte) {
	i := Space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil
	}
	_, err := Object(raw, i, 0, func(key []byte, i int) (int, error) {
		end, err := Value(raw, i)
		if err == nil && string(key) == name {
			value = raw[i:end]
		}
		return end, err
	})
	if err != nil {
		return nil
	}
	return value
}
