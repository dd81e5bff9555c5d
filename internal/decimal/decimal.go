// Package decimal compares and divides JSON numbers of any size without rounding.
//
//	decimal.Same([]byte("1e2"), []byte("100.0")) // true
package decimal

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
)

// Number is a JSON number of any size, split without changing its value: ±0.d1d2…dn ×
// 10^Exp, where neither d1 nor dn is 0. Zero has no digits. It refers to the text it was
// parsed from.
type Number struct {
	// Digits are d1 to dn, possibly with a decimal point between them. Exp is the exponent.
	Digits []byte
	Exp    int

	neg bool
	n   int
}

// Same reports whether two valid JSON numbers are equal, without rounding.
func Same(a, b []byte) bool {
	x := Parse(a)
	y := Parse(b)
	return x.Compare(&y) == 0
}

// maxExponent limits exponents; larger ones are treated as equal. The sum of two and the length of a
// text fits into 32 bits.
const maxExponent = 1 << 29

// Parse parses a valid JSON number.
func Parse(token []byte) Number {
	var d Number
	if token[0] == '-' {
		d.neg = true
		token = token[1:]
	}
	first := -1
	last := 0
	point := -1
	end := len(token)
scan:
	for i, c := range token {
		switch {
		case '1' <= c && c <= '9':
			if first < 0 {
				first = i
			}
			last = i
		case c == '.':
			point = i
		case c != '0':
			end = i
			d.Exp = parseExponent(token[i+1:])
			break scan
		}
	}
	if first < 0 {
		return Number{}
	}
	if point < 0 {
		point = end
	}
	d.Digits = token[first : last+1]
	d.n = len(d.Digits)
	if first > point {
		d.Exp -= first - point - 1
		return d
	}
	d.Exp += point - first
	if last > point {
		d.n--
	}
	return d
}

func parseExponent(text []byte) int {
	neg := text[0] == '-'
	if neg || text[0] == '+' {
		text = text[1:]
	}
	e := int64(0)
	for _, c := range text {
		e = min(e*10+int64(c-'0'), maxExponent)
	}
	if neg {
		e = -e
	}
	return int(e)
}

// Integer reports whether d has no fraction.
func (d *Number) Integer() bool { return d.n == 0 || d.Exp >= d.n }

// Compare returns -1, 0 or +1 as d is less than, equal to or greater than x.
func (d *Number) Compare(x *Number) int {
	switch ds, xs := d.Sign(), x.Sign(); {
	case ds < xs:
		return -1
	case ds > xs:
		return 1
	case ds == 0:
		return 0
	case ds < 0:
		return -d.compareSize(x)
	}
	return d.compareSize(x)
}

// Sign returns -1, 0 or +1.
func (d *Number) Sign() int {
	switch {
	case d.n == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// Int returns a whole number that is not negative, or most if it is larger.
func (d *Number) Int(most int) int {
	n := 0
	for k := range d.Exp {
		n *= 10
		if k < d.n {
			n += d.digit(k)
		}
		if n > most {
			return most
		}
	}
	return n
}

// IntegerText returns an integer without fraction and exponent. Beyond 32 digits, which
// exceed every Go integer, additional zeros are omitted.
func (d *Number) IntegerText() string {
	if d.n == 0 {
		return "0"
	}
	text := bytes.ReplaceAll(d.Digits, []byte{'.'}, nil)
	if d.neg {
		text = append([]byte{'-'}, text...)
	}
	for range min(d.Exp-d.n, 32) {
		text = append(text, '0')
	}
	return string(text)
}

// AppendFloat appends the shortest text that parses as f, which must be finite, formatted
// as in ECMAScript (RFC 8785, section 3.2.2.3), except that -0 stays. bits is 32 or 64.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	size := math.Abs(f)
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	n := len(dst)
	if dst[n-4] == 'e' && dst[n-2] == '0' {
		dst = append(dst[:n-2], dst[n-1]) // e-09 becomes e-9
	}
	return dst
}

// digit returns digit d(k+1).
func (d *Number) digit(k int) int {
	point := bytes.IndexByte(d.Digits, '.')
	if point >= 0 && k >= point {
		k++
	}
	return int(d.Digits[k] - '0')
}

func (d *Number) compareSize(x *Number) int {
	if d.Exp != x.Exp {
		if d.Exp < x.Exp {
			return -1
		}
		return 1
	}
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		if i < len(d.Digits) && d.Digits[i] == '.' {
			i++
		}
		if j < len(x.Digits) && x.Digits[j] == '.' {
			j++
		}
		switch {
		case i == len(d.Digits) && j == len(x.Digits):
			return 0
		case i == len(d.Digits):
			return -1
		case j == len(x.Digits):
			return 1
		case d.Digits[i] < x.Digits[j]:
			return -1
		case d.Digits[i] > x.Digits[j]:
			return 1
		}
	}
}

// Divisor is the value of multipleOf: unit × 10^exp.
type Divisor struct {
	unit uint64
	exp  int
	Text string // as it is shown
}

// Divisor returns d, which must be positive, as a divisor. ok is false if its digits do
// not fit into 64 bits.
func (d *Number) Divisor() (v Divisor, ok bool) {
	for _, c := range d.Digits {
		if c == '.' {
			continue
		}
		hi, lo := bits.Mul64(v.unit, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if hi != 0 || carry != 0 {
			return v, false
		}
		v.unit = sum
	}
	v.exp = d.Exp - d.n
	return v, true
}

// Divides reports whether d is a whole multiple of v. It works on the decimal
// digits, so 0.3 is a multiple of 0.1.
func (v *Divisor) Divides(d *Number) bool {
	if d.n == 0 {
		return true
	}
	shift := d.Exp - d.n - v.exp
	if shift < 0 {
		return false // d's last digit, which is not 0, is below v's
	}
	var rest uint64
	for _, c := range d.Digits {
		if c != '.' {
			rest = v.mulAdd(rest, 10, uint64(c-'0'))
		}
	}
	for power := 10 % v.unit; shift > 0; shift >>= 1 {
		if shift&1 == 1 {
			rest = v.mulAdd(rest, power, 0)
		}
		power = v.mulAdd(power, power, 0)
	}
	return rest == 0
}

// mulAdd returns a*b+c modulo the unit.
func (v *Divisor) mulAdd(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c, 0)
	return bits.Rem64(hi+carry, lo, v.unit)
}
