// Package jsonscan is Slipway's JSON scanner: it validates JSON text in place and returns
// slices of it instead of Go values.
//
// The protocol core and the formats use it wherever a document must reach its reader byte
// for byte, and wherever a difference between two parsers of the same bytes would be a
// security hole. It is stricter than encoding/json: text must be UTF-8, nesting is
// limited, nothing may follow the value, and callers that walk an object see every
// member, so that they can reject duplicates.
//
// Start with [Valid], [Value], [Object] and [AppendQuote]. Code that is not on the path
// of a request uses encoding/json.
package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MaxDepth limits the nesting of arrays and objects. More deeply nested values are
// rejected, so recursion over scanned text is safe.
const MaxDepth = 512

// Error is a syntax error in a JSON text.
type Error struct {
	// Offset is the index of the offending byte, counted from 0 in the scanned slice.
	Offset int
	// Reason is a short lower-case description, such as "unexpected end of input".
	Reason string
}

// Error implements the error interface.
func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

func fail(offset int, reason string) error {
	return &Error{
		Offset: offset,
		Reason: reason,
	}
}

// unexpected returns the error for the byte at i.
func unexpected(b []byte, i int) error {
	if i >= len(b) {
		return fail(len(b), "unexpected end of input")
	}
	if c := b[i]; c >= 0x20 && c < 0x7f {
		return fail(i, fmt.Sprintf("unexpected character %q", rune(c)))
	}
	return fail(i, fmt.Sprintf("unexpected byte 0x%02x", b[i]))
}

// Valid returns nil if b is exactly one JSON value with optional white space around it,
// in UTF-8, nested at most [MaxDepth] deep. Otherwise it returns an [*Error]. It does not
// detect duplicate keys.
func Valid(b []byte) error {
	i, err := Value(b, 0)
	if err != nil {
		return err
	}
	return End(b, i)
}

// End returns nil if b contains only white space from i on.
func End(b []byte, i int) error {
	if i = Space(b, i); i < len(b) {
		return fail(i, "text after the end of the value")
	}
	return nil
}

// Value scans the JSON value at b[i], skipping leading white space, and returns the index
// after it.
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

// value scans any value. It is the loop of the whole package, so it calls functions
// directly rather than through a table.
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

// skipObject scans an object without calling back for its members.
func skipObject(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, fail(i, "nested too deeply")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		_, _, at, err := memberName(b, i)
		if err != nil {
			return at, err
		}
		if i, err = value(b, at, depth); err != nil {
			return i, err
		}
		more := false
		if i, more, err = afterMember(b, i); !more {
			return i, err
		}
	}
}

// memberName scans the name of a member at b[i]. It returns the name without quotes and the index of the value.
// On an error, at is the index of the fault.
func memberName(b []byte, i int) (name []byte, escaped bool, at int, err error) {
	if i >= len(b) || b[i] != '"' {
		return nil, false, i, unexpected(b, i)
	}
	end, escaped, err := scanString(b, i)
	if err != nil {
		return nil, false, end, err
	}
	name = b[i+1 : end-1]
	if i = Space(b, end); i >= len(b) || b[i] != ':' {
		return nil, false, i, unexpected(b, i)
	}
	return name, escaped, Space(b, i+1), nil
}

// afterMember scans what follows a member that ends at b[i]: more means that another one begins at next,
// otherwise the object ends there.
func afterMember(b []byte, i int) (next int, more bool, err error) {
	i = Space(b, i)
	if i >= len(b) {
		return i, false, unexpected(b, i)
	}
	switch b[i] {
	case ',':
		return Space(b, i+1), true, nil
	case '}':
		return i + 1, false, nil
	}
	return i, false, unexpected(b, i)
}

func skipArray(b []byte, i, depth int) (int, error) {
	return array(b, i, depth, func(i int) (int, error) {
		return value(b, i, depth)
	})
}

// array scans an array, and calls element at the start of each element.
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

// Object scans the object at b[i] and returns the index after it. It calls member for
// each member in order, with the decoded key and the index of the first byte of the
// value; member returns the index after that value, usually from [Value]. The key may be
// a slice of b and must not be modified. An error from member ends the scan and is
// returned unchanged.
//
// depth is the number of arrays and objects that enclose b[i]: 0 for a whole text.
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
		key, escaped, at, err := memberName(b, i)
		if err != nil {
			return at, err
		}
		if escaped {
			key = appendUnescaped(nil, key)
		}
		if i, err = member(key, at); err != nil {
			return i, err
		}
		more := false
		if i, more, err = afterMember(b, i); !more {
			return i, err
		}
	}
}

// ValueAt is [Value] for a value that is enclosed in depth arrays and objects.
func ValueAt(b []byte, i, depth int) (end int, err error) {
	return value(b, i, depth)
}

// Array scans the array at b[i] and returns the index after it. It calls element for each
// element with the index of its first byte; element returns the index after it. depth is
// as in [Object].
func Array(b []byte, i, depth int, element func(i int) (end int, err error)) (end int, err error) {
	if i = Space(b, i); i >= len(b) || b[i] != '[' {
		return i, unexpected(b, i)
	}
	return array(b, i, depth+1, element)
}

// literal scans true, false or null.
func literal(b []byte, i int, want string) (int, error) {
	for k := range len(want) {
		if i+k >= len(b) || b[i+k] != want[k] {
			return i + k, unexpected(b, i+k)
		}
	}
	return i + len(want), nil
}

// number scans a number as in RFC 8259, section 6: no leading zeros, and digits on both
// sides of the point.
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

// plain returns a word whose lowest set high bit marks the first of eight bytes that ends
// a run of plain ASCII: a quote, a backslash, a control character or a byte of a
// multi-byte sequence. Zero means all eight are plain.
func plain(w uint64) uint64 {
	quote := w ^ (ones * '"')
	slash := w ^ (ones * '\\')
	return (w | (w - ones*0x20) | (quote - ones) | (slash - ones)) & highs
}

// plainEnd returns the index of the first byte from b[i] on that ends a run of plain
// ASCII, or len(b) if none does. If b has fewer than eight bytes, it is i.
func plainEnd(b []byte, i int) int {
	for len(b)-i >= 16 { // two words at a time halve the number of jumps
		pair := b[i : i+16]
		first := plain(binary.LittleEndian.Uint64(pair))
		second := plain(binary.LittleEndian.Uint64(pair[8:]))
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
	if rest := len(b) - i; rest > 0 && len(b) >= 8 {
		// The word that ends with b, without the bytes before i: zeros follow, which are not plain.
		w := binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * (8 - rest))
		return i + bits.TrailingZeros64(plain(w))>>3
	}
	return i
}

// scanString scans the string whose opening quote is b[i]. It returns the index after the
// closing quote and whether the string contains an escape.
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

// escape scans an escape sequence after its backslash.
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

// hex returns the value of a hexadecimal digit, or -1.
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

// Member returns the value of a member of the valid JSON text raw, as a slice of raw. It
// is nil if the member does not exist or raw is not an object. If the member is repeated,
// the last one wins.
func Member(raw []byte, name string) (value []byte) {
	value, _ = member(raw, name, false)
	return value
}

// OnlyMember is [Member], and returns the name of a member that another program may read instead, or
// nil: the name again, of which some read the first, or one that differs only in case, which some
// ignore.
func OnlyMember(raw []byte, name string) (value, rival []byte) { return member(raw, name, true) }

// member is OnlyMember, or Member if rivals do not matter.
func member(raw []byte, name string, rivals bool) (found, rival []byte) {
	i := Space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil, nil
	}
	i = Space(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return nil, nil
	}
	for {
		key, escaped, at, err := memberName(raw, i)
		if err != nil {
			return nil, nil
		}
		end, err := value(raw, at, 0)
		if err != nil {
			return nil, nil
		}
		if escaped {
			key = appendUnescaped(nil, key)
		}
		same := string(key) == name
		if rivals && (same && found != nil || !same && equalFold(key, name)) {
			rival = append([]byte{}, key...)
		}
		if same {
			found = raw[at:end]
		}
		more := false
		if i, more, err = afterMember(raw, end); err != nil {
			return nil, nil
		}
		if !more {
			return found, rival
		}
	}
}

// equalFold is [strings.EqualFold], which costs an allocation for long names.
func equalFold(key []byte, name string) bool {
	if len(key) == 0 || name == "" {
		return len(key) == len(name)
	}
	k, n := key[0], name[0]
	if k < utf8.RuneSelf && n < utf8.RuneSelf && k|0x20 != n|0x20 {
		return false
	}
	return strings.EqualFold(string(key), name)
}

// IsObject reports whether raw starts like an object.
func IsObject(raw []byte) bool {
	i := Space(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// IsID reports whether the value raw can be the id of a JSON-RPC message: a string or an
// integer. With fractions or exponents it would be unclear whether 1 and 1.0 are the same
// id.
func IsID(raw []byte) bool {
	if raw[0] == '"' {
		return true
	}
	for i, c := range raw {
		if (c < '0' || '9' < c) && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}
