package router

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// text decodes a string.
func (d *decoder) text(n *node, v reflect.Value, i, depth int) (int, error) {
	end, err := d.skip(i, depth)
	if err != nil {
		return end, err
	}
	s, _ := jsonscan.Unquote(d.doc[i:end])
	if n.rules != nil {
		d.checkText(n.rules, s)
	}
	v.SetString(s)
	return end, nil
}

func (d *decoder) checkText(r *rules, s string) {
	if !r.acceptsText(s) {
		d.fail()
	}
	if r.ofFormat != nil && !r.ofFormat(s) {
		d.problem(fmt.Sprintf("must be %s (got %s)", r.formatText, shown(quoteJSON(s))))
	}
}

// number decodes the number at i.
func (d *decoder) number(n *node, v reflect.Value, i, depth int) (int, error) {
	end, err := d.skip(i, depth)
	if err != nil {
		return end, err
	}
	raw := d.doc[i:end]
	switch n.kind {
	case kindInt:
		d.int(n, v, raw)
	case kindUint:
		d.uint(n, v, raw)
	case kindFloat:
		value, err := strconv.ParseFloat(string(raw), n.bits)
		if err != nil {
			d.problem(fmt.Sprintf("must be a number of %d bits (got %s)", n.bits, shown(raw)))
			break
		}
		v.SetFloat(value)
		if n.rules != nil && !n.rules.acceptsFloat(value, raw) {
			d.fail()
		}
	default:
		v.SetString(string(raw))
		if n.rules != nil && !n.rules.acceptsExact(raw) {
			d.fail()
		}
	}
	return end, nil
}

func (d *decoder) int(n *node, v reflect.Value, raw []byte) {
	value, ok := smallInt(raw)
	if !ok {
		exact, isInt := integer(raw)
		if !isInt {
			d.fail()
			return
		}
		if exact == nil || !exact.IsInt64() {
			d.outOfRange(n, raw)
			return
		}
		value = exact.Int64()
	}
	if v.OverflowInt(value) {
		d.outOfRange(n, raw)
		return
	}
	v.SetInt(value)
	if n.rules != nil && !n.rules.acceptsInt(value, raw) {
		d.fail()
	}
}

func (d *decoder) uint(n *node, v reflect.Value, raw []byte) {
	small, ok := smallInt(raw)
	value := uint64(small)
	if !ok || small < 0 {
		exact, isInt := integer(raw)
		switch {
		case !isInt:
			d.fail()
			return
		case exact == nil || exact.Sign() >= 0 && !exact.IsUint64():
			d.outOfRange(n, raw)
			return
		case exact.Sign() < 0:
			d.fail() // the schema has minimum 0
			return
		}
		value = exact.Uint64()
	}
	if v.OverflowUint(value) {
		d.outOfRange(n, raw)
		return
	}
	v.SetUint(value)
	if n.rules != nil && !n.rules.acceptsUint(value, raw) {
		d.fail()
	}
}

// smallInt parses integers of up to 18 plain digits, the most common form.
func smallInt(raw []byte) (value int64, ok bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		value = value*10 + int64(c-'0')
	}
	if raw[0] == '-' {
		value = -value
	}
	return value, true
}

// integer returns the value of a number in any notation, and whether it is an integer:
// 1.0 and 1e3 are integers in JSON Schema. The value is nil if it exceeds every range.
func integer(raw []byte) (value *big.Int, ok bool) {
	whole, inRange := exact(raw)
	if inRange {
		return whole.Num(), whole.IsInt()
	}
	// With a huge exponent, the number is an integer unless the exponent is negative.
	i := bytes.IndexAny(raw, "eE")
	return nil, i < 0 && bytes.IndexByte(raw, '.') < 0 || i >= 0 && raw[i+1] != '-'
}

func (d *decoder) outOfRange(n *node, raw []byte) {
	kind := "a signed"
	if n.kind == kindUint {
		kind = "an unsigned"
	}
	d.problem(fmt.Sprintf("must fit %s integer of %d bits (got %s)", kind, n.bits, shown(raw)))
}

// special decodes the kinds that need more than their JSON type.
func (d *decoder) special(n *node, v reflect.Value, i, depth int) (int, error) {
	end, err := d.skip(i, depth)
	if err != nil {
		return end, err
	}
	raw := d.doc[i:end]
	switch n.kind {
	case kindTime, kindDuration, kindURL, kindText, kindBytes:
		if raw[0] != '"' {
			d.fail()
			return end, nil
		}
		s, _ := jsonscan.Unquote(raw)
		if n.rules != nil {
			d.checkText(n.rules, s)
		}
		d.parsed(n, v, s)
	case kindRaw:
		d.distinct(raw)
		v.SetBytes(bytes.Clone(raw))
	default:
		d.distinct(raw)
		d.foreign(n, v, raw)
	}
	return end, nil
}

// parsed fills v from a string that encodes another type.
func (d *decoder) parsed(n *node, v reflect.Value, s string) {
	switch n.kind {
	case kindTime:
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			d.problem(fmt.Sprintf("must be %s (got %s)", schema.Formats()["date-time"].Text, shown(quoteJSON(s))))
			return
		}
		v.Set(reflect.ValueOf(at))
	case kindDuration:
		length, err := time.ParseDuration(s)
		if err != nil {
			d.problem(fmt.Sprintf(`must be a duration such as "90s" or "1h30m" (got %s)`, shown(quoteJSON(s))))
			return
		}
		v.SetInt(int64(length))
	case kindURL:
		uri := schema.Formats()["uri-reference"]
		at, err := url.Parse(s)
		if err != nil || !uri.Accepts(s) {
			d.problem(fmt.Sprintf("must be %s (got %s)", uri.Text, shown(quoteJSON(s))))
			return
		}
		v.Set(reflect.ValueOf(*at))
	case kindBytes:
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			d.problem("must be base64 (RFC 4648, section 4)")
			return
		}
		v.SetBytes(data)
	default:
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
			d.problem(fmt.Sprintf("%v (got %s)", err, shown(quoteJSON(s))))
		}
	}
}

// foreign decodes a value with encoding/json or the type's own method.
func (d *decoder) foreign(n *node, v reflect.Value, raw []byte) {
	if n.custom != nil {
		if err := n.custom.check.Validate(raw); err != nil {
			d.fail()
			return
		}
	}
	if v.Kind() == reflect.Interface && v.NumMethod() == 0 {
		if value, ok := exactValue(raw); ok && value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		d.problem(fmt.Sprintf("%s (got %s)", plainJSON(err), found(raw)))
	}
}

// exactValue decodes a value as encoding/json does into any, except that a number that a
// float64 cannot hold exactly, such as 12345678901234567890, becomes a [json.Number].
func exactValue(raw []byte) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, false // valid JSON, but nested too deeply for encoding/json
	}
	return withFloats(value), true
}

// withFloats replaces numbers with float64 values where those are exact.
func withFloats(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = withFloats(member)
		}
	case []any:
		for i, item := range value {
			value[i] = withFloats(item)
		}
	case json.Number:
		f, err := value.Float64()
		if err != nil {
			return value
		}
		if !strings.ContainsAny(value.String(), ".eE") && math.Abs(f) >= 1<<53 {
			return value
		}
		return f
	}
	return value
}

// plainJSON returns the text of an encoding/json error without Go type names, which mean
// nothing to a caller. Errors of an author's own methods keep their text.
func plainJSON(err error) string {
	var wrongType *json.UnmarshalTypeError
	var marshaler *json.MarshalerError
	switch {
	case errors.As(err, &wrongType):
		return "this value has the wrong type"
	case errors.As(err, &marshaler):
		return marshaler.Unwrap().Error()
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// distinct rejects a value with a repeated member name: two parsers might read different
// values.
func (d *decoder) distinct(raw []byte) {
	if raw[0] == '{' || raw[0] == '[' {
		if _, err := distinctNames(raw, 0, 0); err != nil {
			d.fail()
		}
	}
}
