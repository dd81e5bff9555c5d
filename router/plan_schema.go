package router

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// custom is the schema that a type provides.
type custom struct {
	raw   json.RawMessage
	check *schema.Schema
}

func (c *compiler) customOf(t reflect.Type) *custom {
	raw, err := mcp.Marshal(zeroOf(t).(schemer).JSONSchema())
	if err != nil {
		c.fault("%v.JSONSchema(): %v", t, err)
		return nil
	}
	check, err := schema.Compile(raw)
	if err != nil {
		c.fault("%v.JSONSchema(): %v", t, err)
		return nil
	}
	return &custom{raw, check}
}

// literal returns the JSON value of a tag's text.
func (c *compiler) literal(n *node, text string) (json.RawMessage, error) {
	at := n
	for at.kind == kindPointer {
		at = at.elem
	}
	raw := json.RawMessage(text)
	if at.kind.stringly() {
		raw = quoteJSON(text)
	}
	if c.output {
		return raw, jsonscan.Valid(raw) // used only as documentation
	}
	d := newDecoder(raw, true)
	defer d.free()
	if err := d.decode(n, reflect.New(n.typ).Elem()); err != nil {
		return nil, err
	}
	w := schemaWriter{c: c}
	check, err := schema.Compile(w.value(nil, n, &field{}, false))
	if err != nil {
		return nil, err
	}
	return raw, d.explain(check)
}

// setDefault stores the value of a field that is absent from the input.
func (c *compiler) setDefault(f *field, text string) {
	if len(c.defs) > 0 && f.node.object != nil {
		c.fault("default:%q: a recursive type cannot have one", text)
		return
	}
	raw, err := c.literal(f.node, text)
	if err != nil {
		c.fault("default:%q: %v", text, err)
		return
	}
	f.fallback = raw
}

// schemaWriter writes the schema of a plan. Members are in field order, keywords in the
// order of [mcp.Schema].
type schemaWriter struct {
	c      *compiler
	strict bool // reject members that the type does not have
}

// schema returns the complete schema of n.
func (c *compiler) schema(n *node, strict bool) json.RawMessage {
	w := schemaWriter{c: c, strict: strict}
	for n.kind == kindPointer && !c.output {
		n = n.elem
	}
	var dst []byte
	if n.kind == kindStruct {
		dst = w.object(nil, n.object, &field{})
	} else {
		dst = w.value(nil, n, &field{}, true)
	}
	if len(c.defs) == 0 {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"$defs":{`...)
	for i, o := range c.defs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuote(dst, o.name), ':')
		dst = w.object(dst, o, &field{})
	}
	return append(dst, '}', '}')
}

// typeNames are the values of the type keyword.
var typeNames = [...]string{
	kindString: "string", kindBool: "boolean", kindInt: "integer", kindUint: "integer",
	kindFloat: "number", kindNumber: "number", kindTime: "string", kindDuration: "string",
	kindURL: "string", kindQuoted: "string",
	kindText: "string", kindBytes: "string", kindSlice: "array", kindArray: "array",
	kindMap: "object", kindStruct: "object", kindPointer: "",
}

// value appends the schema of n with the documentation of f. nullable means that a nil
// pointer is encoded as null in this position.
func (w *schemaWriter) value(dst []byte, n *node, f *field, nullable bool) []byte {
	null := false
	for n.kind == kindPointer {
		null = w.c.output && nullable
		n = n.elem
	}
	if !null {
		return w.plain(dst, n, f, "")
	}
	if n.kind < kindText && n.rules == nil {
		return w.plain(dst, n, f, "null")
	}
	dst = append(dst, `{"anyOf":[`...)
	dst = w.plain(dst, n, f, "")
	return append(dst, `,{"type":"null"}]}`...)
}

// plain appends the schema of a node that is not a pointer; or, if not empty, is another
// accepted type.
func (w *schemaWriter) plain(dst []byte, n *node, f *field, or string) []byte {
	switch {
	case n.custom != nil:
		return w.described(dst, n.custom.raw, f)
	case n.kind == kindForeign, n.kind == kindAny, n.kind == kindRaw:
		return w.described(dst, []byte(`{}`), f)
	case n.kind == kindStruct && n.object.recursive:
		ref := jsonscan.AppendQuote([]byte(`{"$ref":`), "#/$defs/"+n.object.name)
		return w.described(dst, append(ref, '}'), f)
	case n.kind == kindStruct:
		return w.object(dst, n.object, f)
	}
	name := typeNames[n.kind]
	dst = jsonscan.AppendQuote(append(dst, `{"type":`...), name)
	if or != "" {
		dst = append(dst[:len(dst)-len(name)-2], '[')
		dst = append(jsonscan.AppendQuote(dst, name), ',')
		dst = append(jsonscan.AppendQuote(dst, or), ']')
	}
	dst = w.docs(dst, f)
	dst = w.inner(dst, n)
	dst = w.rules(dst, n)
	return append(w.tail(dst, n, f), '}')
}

// described appends a finished schema with the documentation of f.
func (w *schemaWriter) described(dst, raw []byte, f *field) []byte {
	extra := w.tail(w.docs(nil, f), nil, f)
	if len(extra) == 0 {
		return append(dst, raw...)
	}
	dst = append(dst, raw[:len(raw)-1]...)
	if len(raw) == 2 {
		extra = extra[1:]
	}
	return append(append(dst, extra...), '}')
}

func (w *schemaWriter) docs(dst []byte, f *field) []byte {
	if f.docs.title != "" {
		dst = jsonscan.AppendQuote(append(dst, `,"title":`...), f.docs.title)
	}
	if f.docs.text != "" {
		dst = jsonscan.AppendQuote(append(dst, `,"description":`...), f.docs.text)
	}
	return dst
}

// inner appends the schemas of elements.
func (w *schemaWriter) inner(dst []byte, n *node) []byte {
	switch n.kind {
	case kindSlice:
		dst = w.value(append(dst, `,"items":`...), n.elem, &field{}, true)
	case kindArray:
		dst = w.value(append(dst, `,"items":`...), n.elem, &field{}, true)
		size := int64(n.typ.Len())
		dst = strconv.AppendInt(append(dst, `,"minItems":`...), size, 10)
		dst = strconv.AppendInt(append(dst, `,"maxItems":`...), size, 10)
	case kindMap:
		dst = w.value(append(dst, `,"additionalProperties":`...), n.elem, &field{}, true)
	}
	return dst
}

// object appends the schema of a struct.
func (w *schemaWriter) object(dst []byte, o *object, f *field) []byte {
	dst = w.docs(append(dst, `{"type":"object"`...), f)
	dst = append(dst, `,"properties":{`...)
	required := 0
	for i := range o.fields {
		member := &o.fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, member.key...)
		dst = w.value(dst, member.node, member, !member.omitEmpty && !member.omitZero)
		if member.required {
			required++
		}
	}
	dst = append(dst, '}')
	if required > 0 {
		dst = append(dst, `,"required":[`...)
		for i := range o.fields {
			if o.fields[i].required {
				dst = append(jsonscan.AppendQuote(dst, o.fields[i].name), ',')
			}
		}
		dst[len(dst)-1] = ']'
	}
	if w.strict {
		dst = append(dst, `,"additionalProperties":false`...)
	}
	return append(w.tail(dst, nil, f), '}')
}

// tail appends the keywords that come last.
func (w *schemaWriter) tail(dst []byte, n *node, f *field) []byte {
	if f.fallback != nil {
		dst = append(append(dst, `,"default":`...), f.fallback...)
	}
	switch {
	case f.docs.example != "":
		example, _ := w.c.literal(f.node, f.docs.example) // checked at compilation
		dst = append(append(append(dst, `,"examples":[`...), example...), ']')
	case n != nil && n.kind == kindDuration:
		dst = append(dst, `,"examples":["90s","1h30m"]`...)
	}
	if f.header != "" {
		dst = jsonscan.AppendQuote(append(dst, `,"x-mcp-header":`...), f.header)
	}
	return dst
}

// rules appends the keywords that check values.
func (w *schemaWriter) rules(dst []byte, n *node) []byte {
	r := n.rules
	if r == nil {
		r = newRules()
	}
	if r.enum != nil {
		dst = append(dst, `,"enum":[`...)
		for i, v := range r.enum {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, v...)
		}
		dst = append(dst, ']')
	}
	dst = w.numbers(dst, n, r)
	dst = count(dst, "minLength", r.minLength, 1)
	dst = count(dst, "maxLength", r.maxLength, 0)
	if r.pattern != nil {
		dst = jsonscan.AppendQuote(append(dst, `,"pattern":`...), r.pattern.String())
	}
	switch {
	case n.kind == kindTime:
		dst = append(dst, `,"format":"date-time"`...)
	case n.kind == kindURL && r.format == "":
		dst = append(dst, `,"format":"uri-reference"`...)
	case n.kind == kindBytes:
		dst = append(dst, `,"contentEncoding":"base64"`...)
	case r.format != "":
		dst = jsonscan.AppendQuote(append(dst, `,"format":`...), r.format)
	}
	dst = count(dst, "minItems", r.minItems, 1)
	dst = count(dst, "maxItems", r.maxItems, 0)
	if r.unique != nil {
		dst = append(dst, `,"uniqueItems":true`...)
	}
	return dst
}

func (w *schemaWriter) numbers(dst []byte, n *node, r *rules) []byte {
	low, high := false, false
	for _, b := range r.bounds {
		dst = append(append(append(dst, ',', '"'), b.keyword...), '"', ':')
		dst = append(dst, b.text...)
		low, high = low || !b.upper, high || b.upper
	}
	// The range of a small type is part of the schema, so that models know it. The range of
	// 64-bit types has more digits than many JSON parsers keep.
	small := (n.kind == kindInt || n.kind == kindUint) && n.bits < 64
	switch {
	case low:
	case n.kind == kindUint:
		dst = append(dst, `,"minimum":0`...)
	case small:
		dst = strconv.AppendInt(append(dst, `,"minimum":`...), -1<<(n.bits-1), 10)
	}
	switch {
	case high || !small:
	case n.kind == kindUint:
		dst = strconv.AppendUint(append(dst, `,"maximum":`...), 1<<n.bits-1, 10)
	default:
		dst = strconv.AppendInt(append(dst, `,"maximum":`...), 1<<(n.bits-1)-1, 10)
	}
	if r.multiple != nil {
		dst = append(append(dst, `,"multipleOf":`...), r.multText...)
	}
	return dst
}

// count appends a numeric keyword, unless value is below least and so has no effect.
func count(dst []byte, name string, value, least int) []byte {
	if value < least {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), name...), '"', ':')
	return strconv.AppendInt(dst, int64(value), 10)
}
