package router

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// scalar decodes raw, a value that is not an array, an object, or a pointer to one, unless
// its type decodes them itself.
func (d *decoder) scalar(n *node, v reflect.Value, raw []byte) {
	switch n.kind {
	case kindBool:
		v.SetBool(raw[0] == 't')
	case kindInt, kindUint:
		d.integer(n, v, raw)
	case kindFloat:
		value, err := strconv.ParseFloat(string(raw), n.bits)
		if err != nil {
			d.problem(fmt.Sprintf("must be a number of %d bits (got %s)", n.bits,
				schema.Shorten(raw)))
			return
		}
		v.SetFloat(value)
	case kindNumber:
		v.SetString(string(raw))
	case kindRaw:
		d.rejectDuplicates(raw)
		v.SetBytes(bytes.Clone(raw))
		return
	case kindAny, kindForeign:
		d.rejectDuplicates(raw)
		d.foreign(n, v, raw)
		return
	default:
		s, _ := jsonscan.Unquote(raw)
		d.text(n, v, s)
	}
	if n.check != nil && !n.check.AcceptsToken(raw) {
		d.fail()
	}
}

// integer decodes a number in any notation: 1.0 and 1e3 are integers in JSON Schema.
func (d *decoder) integer(n *node, v reflect.Value, raw []byte) {
	text := string(raw)
	if bytes.ContainsAny(raw, ".eE") || text == "-0" {
		number := decimal.Parse(raw)
		if !number.Integer() {
			d.fail()
			return
		}
		text = number.IntegerText()
	}
	var err error
	if n.kind == kindInt {
		var value int64
		value, err = strconv.ParseInt(text, 10, n.bits)
		v.SetInt(value)
	} else if strings.HasPrefix(text, "-") {
		d.fail() // the schema has minimum 0
	} else {
		var value uint64
		value, err = strconv.ParseUint(text, 10, n.bits)
		v.SetUint(value)
	}
	if err != nil {
		sign := "a signed"
		if n.kind == kindUint {
			sign = "an unsigned"
		}
		d.problem(fmt.Sprintf("must fit %s integer of %d bits (got %s)", sign,
			n.bits, schema.Shorten(raw)))
	}
}

// text fills v from a string, which may encode another type.
func (d *decoder) text(n *node, v reflect.Value, s string) {
	if n.format.Accepts != nil && !n.format.Accepts(s) {
		d.wrongText(n.format.Text, s)
		return
	}
	switch n.kind {
	case kindString:
		v.SetString(s)
	case kindTime:
		at, _ := time.Parse(time.RFC3339, s) // it has the format date-time
		v.Set(reflect.ValueOf(at))
	case kindDuration:
		length, err := time.ParseDuration(s)
		if err != nil {
			d.wrongText(`a duration such as "90s" or "1h30m"`, s)
		}
		v.SetInt(int64(length))
	case kindURL:
		at, err := url.Parse(s)
		if err != nil {
			d.wrongText("a URI reference", s)
			return
		}
		v.Set(reflect.ValueOf(*at))
	case kindBytes:
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			d.problem("must be base64 (RFC 4648, section 4)")
		}
		v.SetBytes(data)
	default:
		err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
		if err != nil {
			d.problem(fmt.Sprintf("%v (got %s)", err, schema.Quote(s)))
		}
	}
}

// wrongText records that s is not what its type or format requires.
func (d *decoder) wrongText(want, s string) {
	d.problem(fmt.Sprintf("must be %s (got %s)", want, schema.Quote(s)))
}

// foreign decodes a value with encoding/json or the type's own method.
func (d *decoder) foreign(n *node, v reflect.Value, raw []byte) {
	if n.custom != nil {
		if !n.custom.check.Accepts(raw) {
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
		d.problem(fmt.Sprintf("%s (got %s)", plainJSON(err), schema.Describe(raw)))
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

// rejectDuplicates rejects a value with a repeated member name: two parsers might read
// different values.
func (d *decoder) rejectDuplicates(raw []byte) {
	if jsonscan.Duplicate(raw) != nil {
		d.fail()
	}
}
