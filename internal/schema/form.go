package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Form describes how to enter a value that satisfies a schema. It shows only what a form
// can; Validate decides.
type Form struct {
	// Kind is text, longtext, number, integer, boolean, enum, const, object, map, array,
	// tuple, choice, null, any, file, date, time, datetime, color, uri, email, password or
	// none (nothing is accepted).
	Kind string `json:"kind"`
	// Key is the name of the member in its object.
	Key string `json:"key,omitempty"`
	// Pointer is the place in the schema, as a JSON Pointer.
	Pointer  string `json:"pointer"`
	Label    string `json:"label,omitempty"`
	Help     string `json:"help,omitempty"`
	Required bool   `json:"required,omitempty"`

	Default  json.RawMessage   `json:"default,omitempty"`
	Examples []json.RawMessage `json:"examples,omitempty"`
	Const    json.RawMessage   `json:"const,omitempty"`
	// Options are the values of an enum.
	Options []Option `json:"options,omitempty"`

	// Min, Max and Step are numbers as the schema has them, of any size.
	Min          string `json:"min,omitempty"`
	Max          string `json:"max,omitempty"`
	Step         string `json:"step,omitempty"`
	ExclusiveMin bool   `json:"exclusiveMin,omitempty"`
	ExclusiveMax bool   `json:"exclusiveMax,omitempty"`
	MinLength    string `json:"minLength,omitempty"`
	MaxLength    string `json:"maxLength,omitempty"`
	MinItems     string `json:"minItems,omitempty"`
	MaxItems     string `json:"maxItems,omitempty"`
	Unique       bool   `json:"unique,omitempty"`
	Pattern      string `json:"pattern,omitempty"`
	Format       string `json:"format,omitempty"`
	MediaType    string `json:"mediaType,omitempty"`

	// Children are the members of an object or the first items of a tuple, Items is the form
	// of each additional one, and Open reports whether there may be more.
	Children   []*Form `json:"children,omitempty"`
	Items      *Form   `json:"items,omitempty"`
	Open       bool    `json:"open,omitempty"`
	KeyPattern string  `json:"keyPattern,omitempty"`
	// Branches are the alternatives of a choice.
	Branches []*Form `json:"branches,omitempty"`
	// Nullable reports whether null is accepted besides.
	Nullable bool `json:"nullable,omitempty"`
	// Ref is the pointer to a schema that contains itself, or "#" for the whole schema. Its
	// form is made by [NewForm] when the user opens it.
	Ref string `json:"ref,omitempty"`
	// Header is the HTTP header that repeats the value (x-mcp-header).
	Header   string `json:"header,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	// More names what the schema demands beyond the form.
	More string `json:"more,omitempty"`
}

// Option is a value of an enum.
type Option struct {
	Value json.RawMessage `json:"value"`
	Label string          `json:"label"`
}

// FormOptions configure [NewForm]. Nil and the zero value mean the defaults.
type FormOptions struct {
	// Pointer is the subschema to make a form of, or a [Form.Ref]; "" means the whole schema.
	Pointer string
}

// wholeSchema is the [Form.Ref] to the whole schema.
const wholeSchema = "#"

// Limits of forms.
const (
	maxFormNodes = 5000
	maxFormDepth = 24
)

// NewForm returns the form of a schema that [Compile] accepts.
func NewForm(raw []byte, opts *FormOptions) (*Form, error) {
	if _, err := Compile(raw); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &FormOptions{}
	}
	m := &formMaker{root: raw}
	pointer := strings.TrimPrefix(opts.Pointer, wholeSchema)
	start, end, ok := Locate(raw, pointer)
	if !ok {
		return nil, fmt.Errorf("the schema has nothing at %s", Quote(pointer))
	}
	return m.form(raw[start:end], pointer, []string{pointer}), nil
}

// formMaker makes the forms of one schema.
type formMaker struct {
	root  []byte
	count int
}

// part is a schema object with the keywords of others that apply to the same value.
type part struct {
	// words are the keywords with their values. Where several schemas have the same keyword, the
	// first one counts.
	words map[string]json.RawMessage
	// order has the properties in the order of the schema, with the place of each.
	order    []property
	required []string
	more     []string // keywords that no form can show
	// never means that one of the schemas is false, so that no value is accepted.
	never bool
}

// property is a member of an object with its schema and the place of that.
type property struct {
	name    string
	schema  []byte
	pointer string
}

// form returns the form of the schema at a pointer. opened are the references that lead
// to it.
func (m *formMaker) form(raw []byte, pointer string, opened []string) *Form {
	f := &Form{
		Kind:    "any",
		Pointer: pointer,
	}
	m.count++
	if m.count > maxFormNodes || len(opened) > maxFormDepth {
		f.More = "the schema is larger than a form can show"
		return f
	}
	p := &part{words: make(map[string]json.RawMessage)}
	target, recursive := m.gather(p, raw, pointer, &opened)
	if recursive {
		f.Ref = cmp.Or(target, wholeSchema)
		f.Kind = m.kindOfRef(target)
		m.describe(f, p)
		return f
	}
	if p.never {
		f.Kind = "none"
		return f
	}
	m.describe(f, p)
	m.shape(f, p, pointer, opened)
	f.More = strings.Join(p.more, ", ")
	return f
}

// kindOfRef returns the kind of the schema at a pointer without its children.
func (m *formMaker) kindOfRef(pointer string) string {
	start, end, ok := Locate(m.root, pointer)
	if !ok {
		return "any"
	}
	switch kind, _ := jsonscan.Unquote(jsonscan.Member(m.root[start:end], "type")); kind {
	case "object", "array":
		return kind
	}
	if jsonscan.Member(m.root[start:end], "properties") != nil {
		return "object"
	}
	return "any"
}

// gather collects the keywords of a schema, of its $ref and of its allOf. It stops at a
// reference that is open already, which it returns.
func (m *formMaker) gather(
	p *part,
	raw []byte,
	pointer string,
	opened *[]string,
) (ref string, recursive bool) {
	if string(raw) == "false" {
		p.never = true
	}
	members := jsonscan.Members(raw)
	for _, w := range members {
		if w.Name != "$ref" {
			continue
		}
		target, text := m.target(w.Value)
		if text == nil {
			p.more = append(p.more, "$ref")
			continue
		}
		if slices.Contains(*opened, target) {
			m.keep(p, members, pointer)
			return target, true
		}
		*opened = append(slices.Clip(*opened), target)
		if ref, recursive = m.gather(p, text, target, opened); recursive {
			return ref, true
		}
	}
	m.keep(p, members, pointer)
	for i, part := range jsonscan.Elements(jsonscan.Member(raw, "allOf")) {
		at := fmt.Sprintf("%s/allOf/%d", pointer, i)
		if ref, recursive = m.gather(p, part, at, opened); recursive {
			return ref, true
		}
	}
	return "", false
}

// target returns the pointer and the text of the schema that a $ref means, or nil.
func (m *formMaker) target(ref []byte) (pointer string, text []byte) {
	name, ok := jsonscan.Unquote(ref)
	if !ok || !strings.HasPrefix(name, "#") {
		return "", nil
	}
	pointer = unescapeFragment(name[1:])
	if pointer != "" && pointer[0] != '/' {
		if pointer = m.anchor(m.root, "", pointer); pointer == "" {
			return "", nil
		}
	}
	start, end, ok := Locate(m.root, pointer)
	if !ok {
		return "", nil
	}
	return pointer, m.root[start:end]
}

// unescapeFragment decodes the percent-encoding of a URI fragment (RFC 3986, section 2.1). A
// percent sign without two hexadecimal digits after it stays as it is.
func unescapeFragment(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// anchor returns the pointer to the definition with an $anchor, or "".
func (m *formMaker) anchor(raw []byte, pointer, name string) string {
	for _, list := range []string{"$defs", "definitions"} {
		for _, d := range jsonscan.Members(jsonscan.Member(raw, list)) {
			if text, _ := jsonscan.Unquote(jsonscan.Member(d.Value, "$anchor")); text == name {
				return pointer + "/" + list + "/" + jsonscan.EscapeToken(d.Name)
			}
		}
	}
	return ""
}

// beyond are the keywords that a form does not show.
var beyond = []string{"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "contains",
	"minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties"}

// keep merges keywords into p. The first value of a keyword wins, except where both apply.
func (m *formMaker) keep(p *part, members []jsonscan.Field, pointer string) {
	for _, w := range members {
		switch {
		case w.Name == "properties":
			for _, prop := range jsonscan.Members(w.Value) {
				p.addProperty(prop, pointer)
			}
			p.words[w.Name] = w.Value
		case w.Name == "required":
			for _, element := range jsonscan.Elements(w.Value) {
				if name, ok := jsonscan.Unquote(element); ok {
					p.required = append(p.required, name)
				}
			}
		case slices.Contains(beyond, w.Name):
			p.more = append(p.more, w.Name)
		case p.words[w.Name] == nil:
			p.words[w.Name] = w.Value
			p.words["@"+w.Name] = json.RawMessage(pointer + "/" + w.Name)
		case w.Name != "title" && w.Name != "description" && w.Name != "$ref" &&
			w.Name != "allOf" &&
			string(p.words[w.Name]) != string(w.Value):
			p.more = append(p.more, w.Name+" (twice)")
		}
	}
}

// addProperty adds a property at the end. A second schema for the same name cannot be shown,
// so it is listed among the keywords beyond the form.
func (p *part) addProperty(prop jsonscan.Field, pointer string) {
	at := slices.IndexFunc(p.order, func(known property) bool {
		return known.name == prop.Name
	})
	if at >= 0 {
		p.more = append(p.more, "properties (twice)")
		return
	}
	p.order = append(p.order, property{
		name:    prop.Name,
		schema:  prop.Value,
		pointer: pointer + "/properties/" + jsonscan.EscapeToken(prop.Name),
	})
}

// place returns the pointer to a keyword.
func (p *part) place(word string) string { return string(p.words["@"+word]) }

// text returns the value of a keyword that is a string, or "".
func (p *part) text(word string) string {
	s, _ := jsonscan.Unquote(p.words[word])
	return s
}

// types returns the values of the keyword type without null, and whether null is one.
func (p *part) types() (types []string, null bool) {
	raw := p.words["type"]
	list := jsonscan.Elements(raw)
	if one, ok := jsonscan.Unquote(raw); ok {
		list = [][]byte{jsonscan.AppendQuote(nil, one)}
	}
	for _, element := range list {
		switch name, _ := jsonscan.Unquote(element); name {
		case "null":
			null = true
		default:
			types = append(types, name)
		}
	}
	return types, null
}

// describe sets what the form says about the value.
func (m *formMaker) describe(f *Form, p *part) {
	f.Label = p.text("title")
	f.Help = p.text("description")
	f.Default = p.words["default"]
	for _, e := range jsonscan.Elements(p.words["examples"]) {
		f.Examples = append(f.Examples, e)
	}
	f.Header = p.text("x-mcp-header")
	f.ReadOnly = string(p.words["readOnly"]) == "true"
	f.Format = p.text("format")
	f.Pattern = p.text("pattern")
	f.MediaType = p.text("contentMediaType")
	f.Min = string(p.words["minimum"])
	f.Max = string(p.words["maximum"])
	if bound := p.words["exclusiveMinimum"]; bound != nil {
		f.Min = string(bound)
		f.ExclusiveMin = true
	}
	if bound := p.words["exclusiveMaximum"]; bound != nil {
		f.Max = string(bound)
		f.ExclusiveMax = true
	}
	f.Step = string(p.words["multipleOf"])
	f.MinLength = string(p.words["minLength"])
	f.MaxLength = string(p.words["maxLength"])
	f.MinItems = string(p.words["minItems"])
	f.MaxItems = string(p.words["maxItems"])
	f.Unique = string(p.words["uniqueItems"]) == "true"
}

// shape sets the kind of the form and its parts.
func (m *formMaker) shape(f *Form, p *part, pointer string, opened []string) {
	types, null := p.types()
	f.Nullable = null
	switch {
	case p.words["const"] != nil:
		f.Kind = "const"
		f.Const = p.words["const"]
		return
	case p.words["enum"] != nil:
		m.options(f, p)
		return
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if p.words[word] == nil {
			continue
		}
		if m.choice(f, p, word, opened) {
			return
		}
	}
	switch {
	case len(types) > 1:
		m.typeChoice(f, p, types, pointer, opened)
	case len(types) == 1:
		m.typed(f, p, types[0], pointer, opened)
	case null:
		f.Kind = "null"
		f.Nullable = false
	case p.order != nil || p.words["additionalProperties"] != nil ||
		p.words["patternProperties"] != nil:
		m.typed(f, p, "object", pointer, opened)
	case p.words["items"] != nil || p.words["prefixItems"] != nil:
		m.typed(f, p, "array", pointer, opened)
	case f.Format != "" || f.Pattern != "" || f.MinLength != "" || f.MaxLength != "":
		m.typed(f, p, "string", pointer, opened)
	case f.Min != "" || f.Max != "" || f.Step != "":
		m.typed(f, p, "number", pointer, opened)
	}
}

// options makes the form an enum.
func (m *formMaker) options(f *Form, p *part) {
	f.Kind = "enum"
	names := jsonscan.Elements(p.words["enumNames"])
	for i, value := range jsonscan.Elements(p.words["enum"]) {
		if string(value) == "null" {
			f.Nullable = true
			continue
		}
		label := labelOf(value)
		if i < len(names) {
			label = labelOf(names[i])
		}
		f.Options = append(f.Options, Option{value, label})
	}
}

// labelOf returns the label of an enum value: a string without its quotes, else the JSON.
func labelOf(value []byte) string {
	if text, ok := jsonscan.Unquote(value); ok {
		return text
	}
	return string(value)
}

// choice makes the form a choice of the schemas of a keyword, or an enum if all of them
// are constants, and reports whether it did: a single one besides null is no choice.
func (m *formMaker) choice(f *Form, p *part, word string, opened []string) bool {
	var branches []*Form
	constants := true
	for i, raw := range jsonscan.Elements(p.words[word]) {
		at := fmt.Sprintf("%s/%d", p.place(word), i)
		b := m.form(raw, at, opened)
		if b.Kind == "null" {
			f.Nullable = true
			continue
		}
		constants = constants && b.Kind == "const"
		b.inherit(f)
		branches = append(branches, b)
	}
	switch {
	case len(branches) == 0:
		f.Kind = "null"
		f.Nullable = false
		return true
	case constants:
		f.Kind = "enum"
		for _, b := range branches {
			label := b.Label
			if label == "" {
				label = labelOf(b.Const)
			}
			f.Options = append(f.Options, Option{b.Const, label})
		}
		return true
	case len(branches) == 1 && p.order == nil:
		m.become(f, branches[0])
		return true
	}
	// Alternatives of required members, no shapes of their own.
	if p.order != nil && onlyRequires(branches) {
		p.more = append(p.more, word)
		return false
	}
	f.Kind = "choice"
	f.Branches = branches
	for i, b := range branches {
		if b.Label == "" {
			b.Label = b.name(i)
		}
	}
	if p.order != nil { // the members apply along with each branch
		shared := &Form{Pointer: f.Pointer}
		m.object(shared, p, opened)
		f.Children = shared.Children
	}
	return true
}

// onlyRequires reports whether no form has content.
func onlyRequires(forms []*Form) bool {
	return !slices.ContainsFunc(forms, func(f *Form) bool {
		return f.Kind != "any" && len(f.Children) > 0 || f.Ref != ""
	})
}

// inherit gives a branch without a type of its own that of the choice.
func (f *Form) inherit(outer *Form) {
	if f.Kind == "any" && outer.Kind != "any" && outer.Kind != "" {
		f.Kind = outer.Kind
	}
}

// become replaces f by its only branch, with the words of f.
func (m *formMaker) become(f, only *Form) {
	label := f.Label
	help := f.Help
	value := f.Default
	nullable := f.Nullable
	*f = *only
	f.Nullable = f.Nullable || nullable
	if label != "" {
		f.Label = label
	}
	if help != "" {
		f.Help = help
	}
	if value != nil {
		f.Default = value
	}
}

// name returns a name for a branch without a title.
func (f *Form) name(i int) string {
	for _, c := range f.Children {
		if c.Kind == "const" {
			return c.Key + ": " + labelOf(c.Const)
		}
	}
	for _, c := range f.Children {
		if c.Required {
			return c.Key
		}
	}
	switch {
	case f.Const != nil:
		return labelOf(f.Const)
	case f.Ref != "":
		return f.Ref[strings.LastIndexByte(f.Ref, '/')+1:]
	case f.Kind != "any":
		return f.Kind
	}
	return fmt.Sprintf("variant %d", i+1)
}

// typeChoice makes the form a choice of types.
func (m *formMaker) typeChoice(f *Form, p *part, types []string, pointer string, opened []string) {
	f.Kind = "choice"
	for _, name := range types {
		b := &Form{
			Pointer: pointer,
			Label:   name,
		}
		m.describe(b, p)
		b.Label = name
		b.Help = ""
		b.Default = nil
		m.typed(b, p, name, pointer, opened)
		f.Branches = append(f.Branches, b)
	}
}

// typed sets the kind of a form with one type.
func (m *formMaker) typed(f *Form, p *part, name, pointer string, opened []string) {
	switch name {
	case "string":
		f.Kind = textKind(f, p)
	case "number", "integer", "boolean":
		f.Kind = name
	case "array":
		m.array(f, p, opened)
	case "object":
		m.object(f, p, opened)
	default:
		f.Kind = "any"
	}
}

// textKinds are the kinds of texts with a format.
var textKinds = map[string]string{
	"date":          "date",
	"time":          "time",
	"date-time":     "datetime",
	"color":         "color",
	"uri":           "uri",
	"url":           "uri",
	"iri":           "uri",
	"uri-reference": "uri",
	"email":         "email",
	"idn-email":     "email",
	"password":      "password",
	"byte":          "file",
	"binary":        "file",
	"textarea":      "longtext",
	"multiline":     "longtext",
}

// longText is the maxLength from which a text gets several lines.
const longText = 500

// textKind chooses the kind of a form for a string. What the schema says about encoding and
// format counts before the length.
func textKind(f *Form, p *part) string {
	if p.text("contentEncoding") == "base64" {
		return "file"
	}
	if kind := textKinds[f.Format]; kind != "" {
		return kind
	}
	n, err := json.Number(f.MaxLength).Int64()
	if err == nil && n >= longText {
		return "longtext"
	}
	if f.MediaType != "" {
		return "longtext"
	}
	return "text"
}

// array makes the form an array or a tuple.
func (m *formMaker) array(f *Form, p *part, opened []string) {
	f.Kind = "array"
	prefix := "prefixItems"
	rest := "items"
	// draft-07
	if p.words["prefixItems"] == nil && len(p.words["items"]) > 0 &&
		p.words["items"][0] == '[' {
		prefix = "items"
		rest = "additionalItems"
	}
	for i, raw := range jsonscan.Elements(p.words[prefix]) {
		f.Kind = "tuple"
		f.Children = append(f.Children, m.form(raw,
			fmt.Sprintf("%s/%d", p.place(prefix), i), opened))
	}
	f.Open = true
	switch raw := p.words[rest]; {
	case raw == nil:
		if f.Kind == "array" {
			f.Items = &Form{
				Kind:    "any",
				Pointer: f.Pointer,
			}
		}
	case string(raw) == "false":
		f.Open = false
	default:
		f.Items = m.form(raw, p.place(rest), opened)
	}
}

// object makes the form an object or, without named members, a map.
func (m *formMaker) object(f *Form, p *part, opened []string) {
	f.Kind = "object"
	for _, prop := range p.order {
		child := m.form(prop.schema, prop.pointer, opened)
		child.Key = prop.name
		child.Required = slices.Contains(p.required, prop.name)
		f.Children = append(f.Children, child)
	}
	for _, name := range p.required { // a member that is required but not described
		described := slices.ContainsFunc(p.order, func(known property) bool {
			return known.name == name
		})
		if !described {
			f.Children = append(f.Children, &Form{
				Kind:     "any",
				Key:      name,
				Pointer:  f.Pointer + "/required",
				Required: true,
			})
		}
	}
	f.KeyPattern, _ = jsonscan.Unquote(jsonscan.Member(p.words["propertyNames"], "pattern"))
	raw := p.words["additionalProperties"]
	patterns := jsonscan.Members(p.words["patternProperties"])
	switch {
	case string(raw) == "false" && len(patterns) > 0:
		f.Open = true
		f.KeyPattern = patterns[0].Name
		f.Items = m.form(patterns[0].Value,
			p.place("patternProperties")+"/"+jsonscan.EscapeToken(patterns[0].Name), opened)
		patterns = patterns[1:]
	case string(raw) == "false":
	case jsonscan.IsObject(raw):
		f.Open = true
		f.Items = m.form(raw, p.place("additionalProperties"), opened)
	default:
		f.Open = true
	}
	if len(patterns) > 0 {
		p.more = append(p.more, "patternProperties")
	}
	if len(f.Children) == 0 && f.Items != nil {
		f.Kind = "map"
	}
}

// SyntaxOffset returns the place of the error in a text that is not valid JSON, and why.
func SyntaxOffset(doc []byte) (offset int, reason string, bad bool) {
	err := jsonscan.Valid(doc)
	var e *jsonscan.Error
	if err == nil || !errors.As(err, &e) {
		return 0, "", err != nil
	}
	return e.Offset, e.Reason, true
}
