// Package canonical writes JSON in canonical form, as defined by RFC 8785, the JSON
// Canonicalization Scheme. Members are sorted, strings and numbers have a single
// spelling, and there is no white space, so texts with the same meaning have the same
// digest.
//
// Start with [Append].
package canonical

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Append appends the canonical form of a JSON text to dst. It returns an error for text
// without a canonical form: invalid JSON, a repeated member, half of a surrogate pair, or
// a number too large for a double. As RFC 8785 requires, numbers are rounded to doubles:
// 9007199254740993 becomes 9007199254740992. On error, the returned slice ends with a
// part of the text.
func Append(dst, text []byte) ([]byte, error) {
	w := writer{
		text: text,
		out:  dst,
	}
	end, err := w.value(jsonscan.Space(text, 0), 0)
	if err == nil {
		err = jsonscan.End(text, end)
	}
	return w.sorted(), err
}

// AppendExact is [Append] for a valid JSON text, all of whose meaning must survive. It
// differs from RFC 8785 in three ways: a number that a double cannot represent keeps its
// spelling, because another number would be another question; a repeated member is kept;
// and half of a surrogate pair becomes U+FFFD.
func AppendExact(dst, text []byte) []byte {
	w := writer{
		text:  text,
		out:   dst,
		exact: true,
	}
	_, _ = w.value(jsonscan.Space(text, 0), 0) // a valid text has no errors
	return w.sorted()
}

type writer struct {
	text, out []byte
	scratch   []byte // members to be sorted
	exact     bool   // for AppendExact

	// levels is how deeply objects whose members had to be sorted are nested in the last value.
	levels int
	late   []unsorted // objects that sorted sorts
}

// unsorted is an object whose members are in out, but not in their order.
type unsorted struct {
	start, end int // in out, between the braces
	members    []member
}

// maxMoves is how often a byte of the text is moved because members are sorted as soon as they are written. Objects
// with more levels are sorted together at the end: the cost would grow with size times depth.
const maxMoves = 8

// value writes the value that begins at text[i], nested depth levels deep, and returns
// its end.
func (w *writer) value(i, depth int) (end int, err error) {
	w.levels = 0
	if i >= len(w.text) {
		return i, errors.New("unexpected end of input")
	}
	switch w.text[i] {
	case '{':
		return w.object(i, depth)
	case '[':
		return w.array(i, depth)
	}
	end, err = jsonscan.ValueAt(w.text, i, depth)
	if err != nil {
		return end, err
	}
	switch token := w.text[i:end]; token[0] {
	case '"':
		return end, w.literal(token)
	case 't', 'f', 'n':
		w.out = append(w.out, token...)
		return end, nil
	default:
		return end, w.number(token)
	}
}

func (w *writer) array(i, depth int) (int, error) {
	w.out = append(w.out, '[')
	first := true
	levels := 0
	end, err := jsonscan.Array(w.text, i, depth, func(i int) (int, error) {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		end, err := w.value(i, depth+1)
		levels = max(levels, w.levels)
		return end, err
	})
	w.out = append(w.out, ']')
	w.levels = levels
	return end, err
}

// member is a written member: its name and its position in out.
type member struct {
	name       string
	start, end int
}

func (w *writer) object(i, depth int) (int, error) {
	w.out = append(w.out, '{')
	start := len(w.out)
	next := i + 1 // the end of the previous member
	var members []member
	levels := 0
	end, err := jsonscan.Object(w.text, i, depth, func(key []byte, i int) (int, error) {
		m := member{
			name:  string(key),
			start: len(w.out),
		}
		if err := w.name(next); err != nil {
			return i, err
		}
		w.out = append(w.out, ':')
		end, err := w.value(i, depth+1)
		next, m.end = end, len(w.out)
		members = append(members, m)
		levels = max(levels, w.levels)
		w.out = append(w.out, ',')
		return end, err
	})
	if err != nil {
		return end, err
	}
	if len(members) > 0 {
		w.out = w.out[:len(w.out)-1]
	}
	if !slices.IsSortedFunc(members, byName) {
		slices.SortStableFunc(members, byName)
		if levels++; levels <= maxMoves {
			w.sort(start, members)
		} else {
			w.late = append(w.late, unsorted{start, len(w.out), members})
		}
	}
	w.levels = levels
	for k := 1; k < len(members) && !w.exact; k++ {
		if members[k].name == members[k-1].name {
			return end, fmt.Errorf("duplicate member %q", members[k].name)
		}
	}
	w.out = append(w.out, '}')
	return end, nil
}

// name writes the name of the member after text[:i], which ends with another member or an
// opening brace.
func (w *writer) name(i int) error {
	if i = jsonscan.Space(w.text, i); w.text[i] == ',' {
		i = jsonscan.Space(w.text, i+1)
	}
	end, err := jsonscan.Value(w.text, i)
	if err != nil {
		return err
	}
	return w.literal(w.text[i:end])
}

// sort writes the sorted members, which occupy out from start on, in their order.
func (w *writer) sort(start int, members []member) {
	w.scratch = append(w.scratch[:0], w.out[start:]...)
	w.out = w.out[:start]
	for k, m := range members {
		if k > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.scratch[m.start-start:m.end-start]...)
	}
}

// sorted returns out with the members of all objects in their order.
func (w *writer) sorted() []byte {
	if w.late == nil {
		return w.out
	}
	slices.SortFunc(w.late, func(a, b unsorted) int { return cmp.Compare(a.start, b.start) })
	return w.appendSorted(make([]byte, 0, len(w.out)), 0, len(w.out))
}

// appendSorted appends out[from:to], a number of whole members or values, with the members of all objects in their
// order.
func (w *writer) appendSorted(dst []byte, from, to int) []byte {
	for {
		// An object that begins at from encloses it: those within begin after a brace.
		k, _ := slices.BinarySearchFunc(w.late, from+1, func(o unsorted, at int) int { return cmp.Compare(o.start, at) })
		if k == len(w.late) || w.late[k].start >= to {
			return append(dst, w.out[from:to]...)
		}
		o := w.late[k]
		dst = append(dst, w.out[from:o.start]...)
		for k, m := range o.members {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = w.appendSorted(dst, m.start, m.end)
		}
		from = o.end
	}
}

func byName(a, b member) int { return compare(a.name, b.name) }

// compare orders names by UTF-16 code units (RFC 8785, section 3.2.3). That equals the
// order of code points, except for those encoded as two units.
func compare(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(firstUnit(x), firstUnit(y)), cmp.Compare(x, y))
		}
		a = a[n:]
		b = b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

func firstUnit(r rune) rune {
	if r > 0xffff {
		return 0xd800 + (r-0x10000)>>10
	}
	return r
}

// literal writes a string. Decoding replaces half of a surrogate pair, so the escapes are
// verified in the text.
func (w *writer) literal(token []byte) error {
	if !slices.Contains(token, '\\') {
		w.out = append(w.out, token...)
		return nil
	}
	if err := pairs(token); err != nil && !w.exact {
		return err
	}
	s, _ := jsonscan.Unquote(token)
	w.out = jsonscan.AppendQuote(w.out, s)
	return nil
}

// pairs verifies that every escaped surrogate in a valid string is part of a pair.
func pairs(token []byte) error {
	for i := 0; i < len(token); i++ {
		if token[i] != '\\' {
			continue
		}
		if i++; token[i] != 'u' {
			continue
		}
		high := unit(token[i+1:])
		i += 4
		switch {
		case high < 0xd800 || high > 0xdfff:
			continue
		case high <= 0xdbff && i+6 < len(token) && token[i+1] == '\\' && token[i+2] == 'u':
			low := unit(token[i+3:])
			if low >= 0xdc00 && low <= 0xdfff {
				i += 6
				continue
			}
		}
		return fmt.Errorf("half of a surrogate pair: \\u%04x", high)
	}
	return nil
}

// unit returns the UTF-16 code unit of four hexadecimal digits.
func unit(hex []byte) uint64 {
	// The scanner has verified the digits.
	n, _ := strconv.ParseUint(string(hex[:4]), 16, 16)
	return n
}

// number writes a number as ECMAScript does (RFC 8785, section 3.2.2.3).
func (w *writer) number(token []byte) error {
	f, err := strconv.ParseFloat(string(token), 64)
	start := len(w.out)
	if err != nil && !w.exact {
		return fmt.Errorf("%.40s is too large a number", token)
	}
	if err == nil {
		w.out = decimal.AppendFloat(w.out, f+0, 64) // the sum turns -0 into 0
	}
	if w.exact && (err != nil || !decimal.Same(w.out[start:], token)) {
		w.out = append(w.out[:start], token...)
	}
	return nil
}
