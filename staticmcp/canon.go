package staticmcp

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// appendCanonical appends the valid JSON value raw in the form of RFC 8785: no white
// space, members sorted by name, numbers as ECMAScript writes them.
//
// There is one deliberate difference. RFC 8785 rounds every number to the nearest double,
// so 9007199254740993 would become a different number and get the answer to a different
// question. A number that a double cannot represent keeps its digits.
func appendCanonical(dst, raw []byte) []byte {
	switch raw[0] {
	case '{':
		return appendCanonicalObject(dst, raw)
	case '[':
		dst = append(dst, '[')
		for i, element := range elements(raw) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, element)
		}
		return append(dst, ']')
	case '"':
		text, _ := jsonscan.Unquote(raw)
		return jsonscan.AppendQuote(dst, text)
	case 't', 'f', 'n':
		return append(dst, raw...)
	}
	return append(dst, canonicalNumber(string(raw))...)
}

func appendCanonicalObject(dst, raw []byte) []byte {
	type member struct {
		units []uint16 // RFC 8785 sorts by UTF-16 code units
		name  string
		value []byte
	}
	var list []member
	for _, m := range members(raw) {
		list = append(list, member{utf16.Encode([]rune(m.name)), m.name, m.value})
	}
	slices.SortStableFunc(list, func(a, b member) int { return slices.Compare(a.units, b.units) })
	dst = append(dst, '{')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuote(dst, m.name), ':')
		dst = appendCanonical(dst, m.value)
	}
	return append(dst, '}')
}

// member is a member of a JSON object.
type member struct {
	name  string
	value []byte // a slice of the object's text
}

// members returns the members of the valid JSON object raw in text order.
func members(raw []byte) []member {
	var list []member
	// The text is valid, so there is no error.
	jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(raw, i)
		if err == nil {
			list = append(list, member{string(key), raw[i:end:end]})
		}
		return end, err
	})
	return list
}

// elements returns the elements of the valid JSON array raw.
func elements(raw []byte) [][]byte {
	var list [][]byte
	jsonscan.Array(raw, 0, 0, func(i int) (int, error) {
		i = jsonscan.Space(raw, i)
		end, err := jsonscan.Value(raw, i)
		if err == nil {
			list = append(list, raw[i:end:end])
		}
		return end, err
	})
	return list
}

// canonicalNumber returns a JSON number as ECMAScript writes it, or unchanged if that
// would change its value.
func canonicalNumber(literal string) string {
	value, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return literal
	}
	written := formatNumber(value)
	if !sameNumber(written, literal) {
		return literal
	}
	return written
}

// formatNumber implements ECMAScript's Number::toString.
func formatNumber(value float64) string {
	if value == 0 {
		return "0"
	}
	if size := math.Abs(value); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	text := strconv.FormatFloat(value, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// sameNumber reports whether two JSON numbers are equal.
func sameNumber(a, b string) bool {
	aDigits, aExp, aOK := digitsOf(a)
	bDigits, bExp, bOK := digitsOf(b)
	return aOK && bOK && aDigits == bDigits && (aDigits == "" || aExp == bExp)
}

// digitsOf splits a number into its sign and digits, without zeros at either end, and the
// power of ten of the last digit. Zero has no digits.
func digitsOf(literal string) (digits string, exp int, ok bool) {
	mantissa, exponent := literal, ""
	if e := strings.IndexAny(literal, "eE"); e >= 0 {
		mantissa, exponent = literal[:e], literal[e+1:]
	}
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp > 1<<20 || exp < -1<<20 {
			return "", 0, false
		}
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	exp -= len(fraction)
	trimmed := strings.TrimRight(all, "0")
	exp += len(all) - len(trimmed)
	if trimmed = strings.TrimLeft(trimmed, "0"); trimmed == "" {
		return "", 0, true
	}
	return sign + trimmed, exp, true
}

// compact returns raw without white space between its tokens.
func compact(raw []byte) []byte {
	if jsonscan.IsCompact(raw) {
		return raw
	}
	return jsonscan.AppendCompact(make([]byte, 0, len(raw)), raw)
}

// sameValue reports whether two valid JSON values are equal.
func sameValue(a, b []byte) bool {
	return bytes.Equal(appendCanonical(nil, a), appendCanonical(nil, b))
}
