package router

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// A plan describes a Go type in JSON. It is compiled once, when a feature is registered,
// and then decodes and checks input (plan_decode.go), encodes values (plan_encode.go) and
// writes the schema of both (plan_schema.go), so that these cannot disagree. Types are
// reflected on only here.

// kind selects how a value of a type is decoded and encoded.
type kind uint8

const (
	// The kinds without a comment are those of the package reflect.
	kindString kind = iota
	kindBool
	kindInt
	kindUint
	kindFloat
	kindNumber   // json.Number
	kindTime     // time.Time, RFC 3339
	kindDuration // time.Duration
	kindURL      // url.URL
	kindQuoted   // elem in a string, for the option "string" of a json tag; outputs only
	kindText     // an encoding.TextUnmarshaler, in outputs an encoding.TextMarshaler
	kindBytes    // []byte, base64
	kindRaw      // json.RawMessage
	kindAny      // an empty interface
	kindForeign  // encoded and decoded by its own methods
	kindStruct
	kindSlice
	kindArray
	kindMap
	kindPointer
)

// stringly reports whether values are strings in JSON.
func (k kind) stringly() bool {
	switch k {
	case kindString, kindTime, kindDuration, kindURL, kindQuoted, kindText, kindBytes:
		return true
	}
	return false
}

// node is the plan of one type, including the tags of its field. It is read-only after
// compilation.
type node struct {
	// kind selects how a value of typ is decoded and encoded.
	kind   kind
	typ    reflect.Type
	elem   *node         // of slices, arrays, maps and pointers
	empty  reflect.Value // of slices
	object *object       // of structs
	bits   int           // of numbers
	custom *custom       // the type's own schema, if it has one

	// keywords are those of the tags, in the order of the schema; check is compiled from
	// them. The format is checked separately.
	keywords []keywordValue
	check    *schema.Schema // nil if there are none
	// enum has the allowed values from the tags, or from the type's own method.
	enum   []json.RawMessage
	format schema.Format
}

// object is the plan of a struct.
type object struct {
	typ    reflect.Type
	name   string // its key in $defs, if recursive
	fields []field
	index  map[string]int // from name to index in fields, if there are many

	// compiling reports that a field of the struct is being compiled: meeting the struct
	// again then makes it recursive.
	compiling, recursive bool
}

// field is a member of an object.
type field struct {
	name string
	key  []byte // `"name":`
	// path is the index of each struct on the way, as for reflect's FieldByIndex.
	path   []int
	node   *node
	docs   docs
	header string // x-mcp-header

	required bool
	fallback json.RawMessage // the default, or nil
	// omitEmpty and omitZero are the options of the json tag.
	omitEmpty bool
	omitZero  bool
}

// docs are the keywords that are not checked.
type docs struct{ title, text, example string }

// few is the largest number of fields that are searched one by one.
const few = 8

// find returns the index of the field for a key, or -1. Clients usually send members in
// the order of the schema, so the guess is right most of the time.
func (o *object) find(key []byte, guess int) int {
	if guess < len(o.fields) && o.fields[guess].name == string(key) {
		return guess
	}
	if o.index != nil {
		if i, ok := o.index[string(key)]; ok {
			return i
		}
		return -1
	}
	for i := range o.fields {
		if o.fields[i].name == string(key) {
			return i
		}
	}
	return -1
}

var (
	typeTime     = reflect.TypeFor[time.Time]()
	typeDuration = reflect.TypeFor[time.Duration]()
	typeURL      = reflect.TypeFor[url.URL]()
	typeRaw      = reflect.TypeFor[json.RawMessage]()
	typeNumber   = reflect.TypeFor[json.Number]()
	typeBytes    = reflect.TypeFor[[]byte]()

	typeUnmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	typeMarshaler       = reflect.TypeFor[json.Marshaler]()
	typeTextUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	typeTextMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	typeSchemer         = reflect.TypeFor[schemer]()
	typeEnumer          = reflect.TypeFor[enumer]()
)

// schemer is a type that provides its own schema.
type schemer interface{ JSONSchema() mcp.Schema }

// enumer is a type with a fixed list of values.
type enumer interface{ Enum() []string }

// compiler compiles the plans of one feature.
type compiler struct {
	output  bool // compile for encoding, not decoding
	lenient bool // require nothing: a hand-written schema decides
	objects map[reflect.Type]*object
	defs    []*object // the recursive ones
	faults  []string
	// path leads to the field being compiled, for faults.
	path []string
}

// newCompiler returns a compiler for plans that decode, or with output for plans that encode.
// Structs are compiled once for each compiler.
func newCompiler(output bool) *compiler {
	return &compiler{
		output:  output,
		objects: make(map[reflect.Type]*object),
	}
}

// fault records an error in the type at the current path.
func (c *compiler) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(c.path) > 0 {
		text = strings.Join(c.path, ".") + ": " + text
	}
	c.faults = append(c.faults, text)
}

// implements reports whether t, or a pointer to it, has the methods of i.
func implements(t, i reflect.Type) bool {
	return t.Implements(i) ||
		t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(i)
}

// node compiles the plan of t. It always returns a node, which is usable only if faults
// is empty.
func (c *compiler) node(t reflect.Type) *node {
	n := &node{typ: t}
	if c.formOfType(n, t) {
		return n
	}
	switch t.Kind() {
	case reflect.String:
		n.kind = kindString
		c.enumOf(n, t)
	case reflect.Bool:
		n.kind = kindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n.kind = kindInt
		n.bits = t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n.kind = kindUint
		n.bits = t.Bits()
	case reflect.Float32, reflect.Float64:
		n.kind = kindFloat
		n.bits = t.Bits()
	case reflect.Struct:
		n.kind = kindStruct
		n.object = c.object(t)
	case reflect.Slice:
		n.kind = kindSlice
		n.elem = c.node(t.Elem())
		n.empty = reflect.MakeSlice(t, 0, 0)
	case reflect.Array:
		n.kind = kindArray
		n.elem = c.node(t.Elem())
	case reflect.Map:
		n.kind = kindMap
		n.elem = c.mapValue(t)
	case reflect.Pointer:
		n.kind = kindPointer
		n.elem = c.node(t.Elem())
	case reflect.Interface:
		if t.NumMethod() > 0 {
			c.fault("an interface with methods (%v) cannot be a JSON value", t)
		}
		n.kind = kindAny
	default:
		c.fault("a %v (%v) cannot be a JSON value", t.Kind(), t)
	}
	return n
}

// typeKinds are the types that have their own kind.
var typeKinds = map[reflect.Type]kind{
	typeTime:     kindTime,
	typeDuration: kindDuration,
	typeURL:      kindURL,
	typeRaw:      kindRaw,
	typeNumber:   kindNumber,
	typeBytes:    kindBytes,
}

// formOfType handles the types that need more than their reflect.Kind.
func (c *compiler) formOfType(n *node, t reflect.Type) bool {
	var known bool
	if n.kind, known = typeKinds[t]; known {
		n.format = schema.Formats()[formats[n.kind]]
		return true
	}
	if t.Kind() == reflect.Pointer {
		return false // its element has the methods
	}
	asJSON := typeUnmarshaler
	asText := typeTextUnmarshaler
	if c.output {
		asJSON = typeMarshaler
		asText = typeTextMarshaler
	}
	switch {
	case implements(t, typeSchemer):
		n.kind = kindForeign
		n.custom = c.customOf(t)
	case implements(t, asJSON):
		n.kind = kindForeign
	case implements(t, asText):
		n.kind = kindText
		c.enumOf(n, t)
	default:
		return false
	}
	return true
}

// zeroOf returns a pointer to a zero value of t, on which any of its methods can be
// called.
func zeroOf(t reflect.Type) any { return reflect.New(t).Interface() }

// enumOf adds the values that the type declares itself.
func (c *compiler) enumOf(n *node, t reflect.Type) {
	if !implements(t, typeEnumer) {
		return
	}
	values := zeroOf(t).(enumer).Enum()
	if len(values) == 0 {
		c.fault("%v.Enum() returns no values", t)
		return
	}
	for _, value := range values {
		n.enum = append(n.enum, quoteJSON(value))
	}
	if err := n.setKeyword("enum", arrayOf(n.enum)); err != nil {
		c.fault("%v.Enum(): %v", t, err)
	}
}

// mapValue compiles the values of a map, and checks its keys. Outputs may have any keys
// that encoding/json can write.
func (c *compiler) mapValue(t reflect.Type) *node {
	if c.output && hasTextKeys(t) {
		return c.node(t.Elem())
	}
	if t.Key().Kind() != reflect.String || implements(t.Key(), typeTextUnmarshaler) {
		c.fault("the keys of a map must be strings, not %v", t.Key())
	}
	return c.node(t.Elem())
}

// hasTextKeys reports whether encoding/json can write the keys of a map as strings.
func hasTextKeys(t reflect.Type) bool {
	kind := t.Key().Kind()
	isInteger := reflect.Int <= kind && kind <= reflect.Uintptr
	return kind == reflect.String || isInteger || t.Key().Implements(typeTextMarshaler)
}

// quoted returns the plan of a field with the option "string". As in encoding/json, it
// affects only scalars.
func quoted(n *node) *node {
	switch n.kind {
	case kindString, kindBool, kindInt, kindUint, kindFloat:
		return &node{
			kind: kindQuoted,
			typ:  n.typ,
			elem: n,
		}
	case kindPointer:
		inner := *n
		inner.elem = quoted(n.elem)
		return &inner
	}
	return n
}

// object compiles the plan of a struct, once per type, so that types may contain
// themselves.
func (c *compiler) object(t reflect.Type) *object {
	if o := c.objects[t]; o != nil {
		if o.compiling && !o.recursive {
			o.recursive = true
			o.name = c.defName(t)
			c.defs = append(c.defs, o)
		}
		return o
	}
	o := &object{
		typ:       t,
		compiling: true,
	}
	c.objects[t] = o
	for _, found := range c.promoted(t) {
		c.path = append(c.path, found.name)
		o.fields = append(o.fields, c.field(found))
		c.path = c.path[:len(c.path)-1]
	}
	if len(o.fields) > few {
		o.index = make(map[string]int, len(o.fields))
		for i := range o.fields {
			o.index[o.fields[i].name] = i
		}
	}
	o.compiling = false
	return o
}

// defName returns a key in $defs for a type that no other has. Characters that would need
// escapes in a reference are replaced.
func (c *compiler) defName(t reflect.Type) string {
	name := t.Name()
	if name == "" {
		name = "object"
	}
	for n := 2; slices.ContainsFunc(c.defs, func(o *object) bool {
		return o.name == name
	}); n++ {
		name = t.Name() + strconv.Itoa(n)
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`~/%#[]"\ ,*`, r) {
			return '_'
		}
		return r
	}, name)
}

// field compiles a struct field. It is required unless it is optional by its json tag, a
// pointer or a default; the tag required overrides all of these.
func (c *compiler) field(found structField) field {
	f := field{
		name:      found.name,
		path:      found.path,
		omitEmpty: found.omitEmpty,
		omitZero:  found.omitZero,
		key:       append(quoteJSON(found.name), ':'),
	}
	f.node = c.node(found.Type)
	if found.quoted {
		f.node = quoted(f.node)
	}
	c.tags(&f, found.Tag)
	f.required = !f.omitEmpty && !f.omitZero
	if !c.output {
		isOptional := c.lenient || found.Type.Kind() == reflect.Pointer || f.fallback != nil
		f.required = f.required && !isOptional
	}
	if text, ok := found.Tag.Lookup("required"); ok {
		required, err := strconv.ParseBool(text)
		switch {
		case err != nil:
			c.fault("required:%q is neither true nor false", text)
		case required && f.fallback != nil:
			c.fault("required:%q contradicts the default", text)
		default:
			f.required = required
		}
	}
	return f
}
