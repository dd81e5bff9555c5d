package schema

import (
	"bytes"
	"math/bits"
)

// decimal is a JSON number of any size, split without changing its value: ±0.d1d2…dn ×
// 10^exp, where neither d1 nor dn is 0. Zero has no digits.
type decimal struct {
	neg    bool
	digits []byte // d1 to dn, possibly with a decimal point between them
	n      int
	exp    int
}

// SameNumber reports whether two valid JSON numbers are equal, without rounding.
func SameNumber(a, b []byte) bool {
	x, y := parseDecimal(a), parseDecimal(b)
	return x.compare(&y) == 0
}

// maxExponent limits exponents; larger ones are treated as equal.
const maxExponent = 1 << 60

// parseDecimal parses a valid JSON number.
func parseDecimal(token []byte) decimal {
	var d decimal
	if token[0] == '-' {
		d.neg, token = true, token[1:]
	}
	if e := bytes.IndexAny(token, "eE"); e >= 0 {
		d.exp = parseExponent(token[e+1:])
		token = token[:e]
	}
	point := bytes.IndexByte(token, '.')
	if point < 0 {
		point = len(token)
	}
	first, last := -1, 0
	for i, c := range token {
		if c != '0' && c != '.' {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return decimal{}
	}
	d.digits = token[first : last+1]
	d.n = len(d.digits)
	if first < point {
		d.exp += point - first
		if last > point {
			d.n--
		}
	} else {
		d.exp -= first - point - 1
	}
	return d
}

func parseExponent(text []byte) int {
	neg := text[0] == '-'
	if neg || text[0] == '+' {
		text = text[1:]
	}
	e := 0
	for _, c := range text {
		if e = e*10 + int(c-'0'); e > maxExponent {
			e = maxExponent
		}
	}
	if neg {
		return -e
	}
	return e
}

// integer reports whether d has no fraction.
func (d *decimal) integer() bool { return d.n == 0 || d.exp >= d.n }

// compare returns -1, 0 or +1 as d is less than, equal to or greater than x.
func (d *decimal) compare(x *decimal) int {
	switch ds, xs := d.sign(), x.sign(); {
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

func (d *decimal) sign() int {
	switch {
	case d.n == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// digit returns digit d(k+1).
func (d *decimal) digit(k int) int {
	if point := bytes.IndexByte(d.digits, '.'); point >= 0 && k >= point {
		k++
	}
	return int(d.digits[k] - '0')
}

func (d *decimal) compareSize(x *decimal) int {
	if d.exp != x.exp {
		if d.exp < x.exp {
			return -1
		}
		return 1
	}
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		if i < len(d.digits) && d.digits[i] == '.' {
			i++
		}
		if j < len(x.digits) && x.digits[j] == '.' {
			j++
		}
		switch {
		case i == len(d.digits) && j == len(x.digits):
			return 0
		case i == len(d.digits):
			return -1
		case j == len(x.digits):
			return 1
		case d.digits[i] < x.digits[j]:
			return -1
		case d.digits[i] > x.digits[j]:
			return 1
		}
	}
}

// divisor is the value of multipleOf: unit × 10^exp.
type divisor struct {
	unit uint64
	exp  int
	text string
}

// divisor returns d, which must be positive, as a divisor. ok is false if its digits do
// not fit into 64 bits.
func (d *decimal) divisor() (v divisor, ok bool) {
	for _, c := range d.digits {
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
	v.exp = d.exp - d.n
	return v, true
}

// divides reports whether d is a whole multiple of v. It works on the decimal
// digits, so 0.3 is a multiple of 0.1.
func (v *divisor) divides(d *decimal) bool {
	if d.n == 0 {
		return true
	}
	shift := d.exp - d.n - v.exp
	if shift < 0 {
		return false // d's last digit, which is not 0, is below v's
	}
	var rest uint64
	for _, c := range d.digits {
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
func (v *divisor) mulAdd(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c, 0)
	return bits.Rem64(hi+carry, lo, v.unit)
}
