package router

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// custom is the schema that a type provides.
type custom struct {
	// raw is the schema as the type returns it, and check its compiled form.
	raw   json.RawMessage
	check *schema.Schema
}

// customOf returns the schema that the type's JSONSchema method returns for its zero value, or
// nil after recording a fault.
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
	raw := json.RawMessage(text)
	if pointee(n).kind.stringly() {
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
	w.value(n, &field{}, false)
	check, err := schema.Compile(w.out)
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

// schema returns the complete schema of n.
func (c *compiler) schema(n *node, strict bool) json.RawMessage {
	w := schemaWriter{
		c:      c,
		strict: strict,
	}
	if !c.output {
		n = pointee(n)
	}
	if n.kind == kindStruct {
		w.object(n.object, &field{})
	} else {
		w.value(n, &field{}, true)
	}
	if len(c.defs) == 0 {
		return w.out
	}
	w.out = append(w.out[:len(w.out)-1], `,"$defs":{`...)
	for _, o := range c.defs {
		w.out = append(jsonscan.AppendQuote(w.out, o.name), ':')
		w.object(o, &field{})
		w.out = append(w.out, ',')
	}
	w.close("}}")
	return w.out
}

// schemaWriter writes the schema of a plan. Members are in field order, keywords in the
// order of [mcp.Schema].
type schemaWriter struct {
	c      *compiler
	strict bool // reject members that the type does not have
	out    []byte
}

// open begins a schema of a type, which is JSON.
func (w *schemaWriter) open(typeName string) {
	w.out = append(append(w.out, `{"type":`...), typeName...)
	w.out = append(w.out, ',')
}

// close replaces a trailing comma with brackets.
func (w *schemaWriter) close(brackets string) {
	w.out = append(bytes.TrimSuffix(w.out, []byte{','}), brackets...)
}

// keyword writes a keyword and its value.
func (w *schemaWriter) keyword(name string, value []byte) {
	w.out = append(appendMember(w.out, name, value), ',')
}

// text writes a keyword whose value is a string, unless that is empty.
func (w *schemaWriter) text(name, value string) {
	if value != "" {
		w.keyword(name, quoteJSON(value))
	}
}

// schemaTypes are the values of the type keyword.
var schemaTypes = [...]string{
	kindString:   "string",
	kindBool:     "boolean",
	kindInt:      "integer",
	kindUint:     "integer",
	kindFloat:    "number",
	kindNumber:   "number",
	kindTime:     "string",
	kindDuration: "string",
	kindURL:      "string",
	kindQuoted:   "string",
	kindText:     "string",
	kindBytes:    "string",
	kindSlice:    "array",
	kindArray:    "array",
	kindMap:      "object",
	kindStruct:   "object",
}

// formats are the formats of the kinds that have one.
var formats = map[kind]string{kindTime: "date-time", kindURL: "uri-reference"}

// value writes the schema of n with the documentation of f. nullable means that a nil
// pointer is encoded as null in this position.
func (w *schemaWriter) value(n *node, f *field, nullable bool) {
	target := pointee(n)
	switch {
	case target == n || !w.c.output || !nullable:
		w.plain(target, f, schemaTypes[target.kind])
	case target.kind < kindText && len(target.keywords) == 0:
		w.plain(target, f, schemaTypes[target.kind], "null")
	default:
		w.out = append(w.out, `{"anyOf":[`...)
		w.plain(target, f, schemaTypes[target.kind])
		w.out = append(w.out, `,{"type":"null"}]}`...)
	}
}

// plain writes the schema of a node that is not a pointer.
func (w *schemaWriter) plain(n *node, f *field, types ...string) {
	switch {
	case n.custom != nil:
		w.described(n.custom.raw, f)
		return
	case n.kind == kindForeign, n.kind == kindAny, n.kind == kindRaw:
		w.described([]byte(`{}`), f)
		return
	case n.kind == kindStruct && n.object.recursive:
		w.described(fmt.Appendf(nil, `{"$ref":%s}`, quoteJSON("#/$defs/"+n.object.name)), f)
		return
	case n.kind == kindStruct:
		w.object(n.object, f)
		return
	}
	name := quoteJSON(types[0])
	if len(types) > 1 {
		name, _ = json.Marshal(types)
	}
	w.open(string(name))
	w.docs(f)
	w.elements(n)
	w.rules(n)
	w.tail(n, f)
	w.close("}")
}

// described writes a finished schema with the documentation of f.
func (w *schemaWriter) described(raw []byte, f *field) {
	w.out = append(w.out, raw[:len(raw)-1]...)
	if len(raw) > len("{}") {
		w.out = append(w.out, ',')
	}
	w.docs(f)
	w.tail(nil, f)
	w.close("}")
}

// docs writes the keywords of a field that explain it.
func (w *schemaWriter) docs(f *field) {
	w.text("title", f.docs.title)
	w.text("description", f.docs.text)
}

// elements writes the schema of the elements of a slice, array or map.
func (w *schemaWriter) elements(n *node) {
	switch n.kind {
	case kindSlice, kindArray:
		w.out = append(w.out, `"items":`...)
	case kindMap:
		w.out = append(w.out, `"additionalProperties":`...)
	default:
		return
	}
	w.value(n.elem, &field{}, true)
	w.out = append(w.out, ',')
	if n.kind == kindArray {
		w.keyword("minItems", fmt.Append(nil, n.typ.Len()))
		w.keyword("maxItems", fmt.Append(nil, n.typ.Len()))
	}
}

// object writes the schema of a struct.
func (w *schemaWriter) object(o *object, f *field) {
	w.open(`"object"`)
	w.docs(f)
	w.out = append(w.out, `"properties":{`...)
	var required []json.RawMessage
	for i := range o.fields {
		member := &o.fields[i]
		w.out = append(w.out, member.key...)
		w.value(member.node, member, !member.omitEmpty && !member.omitZero)
		w.out = append(w.out, ',')
		if member.required {
			required = append(required, quoteJSON(member.name))
		}
	}
	w.close("},")
	if required != nil {
		w.keyword("required", arrayOf(required))
	}
	if w.strict {
		w.keyword("additionalProperties", []byte("false"))
	}
	w.tail(nil, f)
	w.close("}")
}

// tail writes the keywords that come last. n is nil for an object.
func (w *schemaWriter) tail(n *node, f *field) {
	if f.fallback != nil {
		w.keyword("default", f.fallback)
	}
	switch {
	case f.docs.example != "":
		example, _ := w.c.literal(f.node, f.docs.example) // checked at compilation
		w.keyword("examples", arrayOf([]json.RawMessage{example}))
	case n != nil && n.kind == kindDuration:
		w.keyword("examples", []byte(`["90s","1h30m"]`))
	}
	w.text("x-mcp-header", f.header)
}

// rules writes the keywords that check values.
func (w *schemaWriter) rules(n *node) {
	var hasLow, hasHigh, hasFormat bool
	for _, k := range n.keywords {
		_, isLow := lowBounds[k.name]
		_, isHigh := highBounds[k.name]
		hasLow = hasLow || isLow
		hasHigh = hasHigh || isHigh
		hasFormat = hasFormat || k.name == "format"
		hasEffect := string(k.value) != "0" ||
			!strings.HasPrefix(k.name, "min") || k.name == "minimum"
		if hasEffect && string(k.value) != "false" {
			w.keyword(k.name, k.value)
		}
	}
	// The range of a small type is part of the schema, so that models know it. The range of
	// 64-bit types has more digits than many JSON parsers keep.
	lowest, highest := n.typeRange()
	isSmall := n.bits < 64
	if lowest != "" && !hasLow && (isSmall || n.kind == kindUint) {
		w.keyword("minimum", []byte(lowest))
	}
	if highest != "" && !hasHigh && isSmall {
		w.keyword("maximum", []byte(highest))
	}
	if !hasFormat {
		w.text("format", formats[n.kind])
	}
	if n.kind == kindBytes {
		w.keyword("contentEncoding", []byte(`"base64"`))
	}
}
