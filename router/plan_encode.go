package router

import (
	"encoding"
	"encoding/base64"
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
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcp"
)

// append appends v as JSON. It differs from encoding/json in two points, for the benefit
// of readers: nil slices are [] and nil maps {}, as the schema says, and HTML is not
// escaped.
func (n *node) append(dst []byte, v reflect.Value) ([]byte, error) {
	switch n.kind {
	case kindString:
		return jsonscan.AppendQuote(dst, v.String()), nil
	case kindBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case kindInt:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case kindDuration:
		return jsonscan.AppendQuote(dst, time.Duration(v.Int()).String()), nil
	case kindUint:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case kindFloat:
		return appendFloat(dst, v.Float(), n.bits)
	case kindBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes())
		return append(dst, '"'), nil
	case kindTime:
		return appendTime(dst, v.Interface().(time.Time))
	case kindStruct:
		return n.object.append(dst, v)
	case kindSlice, kindArray:
		return n.appendList(dst, v)
	case kindMap:
		return n.appendMap(dst, v)
	case kindPointer:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return n.elem.append(dst, v.Elem())
	}
	return n.appendSpecial(dst, v)
}

// appendFloat writes the shortest text that parses as f, formatted as in ECMAScript.
func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return dst, fmt.Errorf("%v cannot be represented in JSON", f)
	}
	return decimal.AppendFloat(dst, f, bits), nil
}

// appendTime encodes a time as RFC 3339, which has no other years.
func appendTime(dst []byte, t time.Time) ([]byte, error) {
	if y := t.Year(); y < 0 || y > 9999 {
		return dst, fmt.Errorf("the year %d is out of range", y)
	}
	dst = t.AppendFormat(append(dst, '"'), time.RFC3339Nano)
	return append(dst, '"'), nil
}

// appendSpecial encodes the kinds with their own rules, most of them by methods of the
// value.
func (n *node) appendSpecial(dst []byte, v reflect.Value) ([]byte, error) {
	switch n.kind {
	case kindRaw:
		raw := v.Bytes()
		if raw == nil {
			return append(dst, "null"...), nil
		}
		if err := jsonscan.Valid(raw); err != nil {
			return dst, err
		}
		return jsonscan.AppendCompact(dst, raw), nil
	case kindURL:
		u := v.Interface().(url.URL)
		return jsonscan.AppendQuote(dst, u.String()), nil
	case kindQuoted:
		text, err := n.elem.append(nil, v)
		return jsonscan.AppendQuote(dst, text), err
	case kindText:
		m, ok := methods(v).(encoding.TextMarshaler)
		if !ok {
			return dst, fmt.Errorf("%v cannot be written as text", n.typ)
		}
		text, err := m.MarshalText()
		return jsonscan.AppendQuote(dst, text), err
	}
	encoded, err := mcp.Marshal(methods(v))
	if err != nil {
		return dst, errors.New(plainJSON(err))
	}
	return append(dst, encoded...), nil
}

// methods returns v, or its address if it has one, to include methods with pointer
// receivers.
func methods(v reflect.Value) any {
	if v.CanAddr() && v.Kind() != reflect.Interface && v.Kind() != reflect.Pointer {
		return v.Addr().Interface()
	}
	return v.Interface()
}

// append appends a struct as an object, with the members in the order of the fields. An error
// names the path to the value that cannot be encoded.
func (o *object) append(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	for i := range o.fields {
		f := &o.fields[i]
		value, ok := f.at(v)
		if !ok || f.isOmitted(value) {
			continue
		}
		dst = append(dst, f.key...)
		if dst, err = f.node.append(dst, value); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
		dst = append(dst, ',')
	}
	return closeWith(dst, '}'), nil
}

// isOmitted reports whether omitempty or omitzero applies, with the meaning that package
// json gives them.
func (f *field) isOmitted(v reflect.Value) bool {
	if f.omitZero {
		if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
			if v.Kind() == reflect.Pointer && v.IsNil() || z.IsZero() {
				return true
			}
		} else if v.IsZero() {
			return true
		}
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// appendList appends a slice or an array.
func (n *node) appendList(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i := range v.Len() {
		if dst, err = n.elem.append(dst, v.Index(i)); err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
		dst = append(dst, ',')
	}
	return closeWith(dst, ']'), nil
}

// appendMap writes the members sorted by name.
func (n *node) appendMap(dst []byte, v reflect.Value) ([]byte, error) {
	type member struct {
		name  string
		value reflect.Value
	}
	members := make([]member, 0, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		name, err := keyName(entries.Key())
		if err != nil {
			return dst, err
		}
		members = append(members, member{name, entries.Value()})
	}
	order.By(members, func(a, b member) int {
		return strings.Compare(a.name, b.name)
	})
	dst = append(dst, '{')
	var err error
	for _, m := range members {
		dst = append(jsonscan.AppendQuote(dst, m.name), ':')
		if dst, err = n.elem.append(dst, m.value); err != nil {
			return dst, fmt.Errorf("%s: %w", m.name, err)
		}
		dst = append(dst, ',')
	}
	return closeWith(dst, '}'), nil
}

// keyName returns a map key as encoding/json writes it.
func keyName(key reflect.Value) (string, error) {
	if key.Kind() == reflect.String {
		return key.String(), nil
	}
	if m, ok := key.Interface().(encoding.TextMarshaler); ok {
		if key.Kind() == reflect.Pointer && key.IsNil() {
			return "", nil
		}
		text, err := m.MarshalText()
		return string(text), err
	}
	if key.CanInt() {
		return strconv.FormatInt(key.Int(), 10), nil
	}
	return strconv.FormatUint(key.Uint(), 10), nil
}
