package mcpb

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// valueSchema describes valid values. It is derived from a Go type, and the tag "manifest" of its
// fields, a list of these words:
//
//	required     the field must exist
//	since=0.3    the first version that knows the field
//	name=x       the JSON name, if the field has none by the tag "json"
//	names=a b    the members of the map that have names; any other is unknown
//	others       the map holds the members of the object that no field is for
//	url          the strings of the field have that format; see formats
//	type         the strings of the field are one of those; see words
//
// A list of options is an object in JSON, whose names are the keys of the options.
type valueSchema struct {
	kind    tree.Kind
	words   []string     // of a string; nil means any
	format  format       // of a string; nil means any
	fields  []field      // of an object; nil means any names
	elem    *valueSchema // of an array, or of an object with any names
	inexact bool         // other names are valid, too, although the reference refuses them
	scalar  bool         // a string, number, boolean or array of strings
	any     bool         // any value
}

// field is a member of an object.
type field struct {
	// name is the name of a member, and schema what its value must be.
	name     string
	schema   *valueSchema
	since    string // the first version that knows the field; "" means all
	required bool
	index    int // in the Go type, or -1
}

// words returns the values that a field allows.
func words(name, version string) []string {
	switch name {
	case "version":
		return []string{version}
	case "type":
		types := []string{TypePython, TypeNode, TypeBinary}
		if version >= "0.4" {
			types = append(types, TypeUV)
		}
		return types
	case "option":
		return []string{OptionString, OptionNumber, OptionBoolean, OptionDirectory, OptionFile}
	case "platform":
		return platforms()
	}
	return nil
}

// manifestSchema returns the schema of a manifest of one version.
func manifestSchema(version string) *valueSchema {
	s := structSchema(reflect.TypeFor[Manifest](), version)
	dxt := &valueSchema{
		kind:  tree.String,
		words: []string{version},
	}
	s.fields = append(s.fields, field{
		name:   "dxt_version",
		schema: dxt,
		index:  -1,
	})
	return s
}

// schemaOf returns the schema of a Go type. tags are those of its field.
func schemaOf(t reflect.Type, tags []string, version string) *valueSchema {
	switch t {
	case reflect.TypeFor[any]():
		return &valueSchema{scalar: true}
	case reflect.TypeFor[json.RawMessage]():
		return &valueSchema{any: true}
	case reflect.TypeFor[[]Option]():
		return &valueSchema{
			kind: tree.Object,
			elem: schemaOf(t.Elem(), nil, version),
		}
	case reflect.TypeFor[map[string]json.RawMessage](): // _meta is an object of objects
		objects := &valueSchema{
			kind: tree.Object,
			elem: &valueSchema{any: true},
		}
		return &valueSchema{
			kind: tree.Object,
			elem: objects,
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), tags, version)
	case reflect.Bool:
		return &valueSchema{kind: tree.Bool}
	case reflect.Float64:
		return &valueSchema{kind: tree.Number}
	case reflect.Slice:
		return &valueSchema{
			kind: tree.Array,
			elem: schemaOf(t.Elem(), tags, version),
		}
	case reflect.Map:
		s := &valueSchema{
			kind: tree.Object,
			elem: schemaOf(t.Elem(), nil, version),
		}
		for _, name := range strings.Fields(tagged(tags, "names")) {
			s.fields = append(s.fields, field{
				name:   name,
				schema: s.elem,
				index:  -1,
			})
		}
		return s
	case reflect.Struct:
		return structSchema(t, version)
	}
	s := &valueSchema{kind: tree.String}
	for _, tag := range tags {
		if f := formats()[tag]; f != nil {
			s.format = f
		}
		s.words = append(s.words, words(tag, version)...)
	}
	return s
}

// structSchema returns the schema of a struct: an object whose fields have the names of the
// tag "json".
func structSchema(t reflect.Type, version string) *valueSchema {
	s := &valueSchema{kind: tree.Object}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		tags := strings.Split(f.Tag.Get("manifest"), ",")
		below := schemaOf(f.Type, tags, version)
		if name == "-" {
			name = tagged(tags, "name")
		}
		switch {
		case slices.Contains(tags, "others"):
			s.inexact = true
			s.fields = append(s.fields, below.fields...)
		case name != "" && f.Tag.Get("manifest") != "-":
			required := slices.Contains(tags, "required")
			s.fields = append(s.fields, field{name, below, tagged(tags, "since"), required, i})
		}
	}
	return s
}

// tagged returns the value of a word such as since=0.3 in tags, or "".
func tagged(tags []string, name string) string {
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, name+"="); ok {
			return value
		}
	}
	return ""
}

// field returns the field of an object, or nil.
func (s *valueSchema) field(name string) *field {
	i := slices.IndexFunc(s.fields, func(f field) bool {
		return f.name == name
	})
	if i < 0 {
		return nil
	}
	return &s.fields[i]
}

// names returns the names of the fields that a version knows.
func (s *valueSchema) names(version string) []string {
	var known []string
	for _, f := range s.fields {
		if f.since <= version {
			known = append(known, f.name)
		}
	}
	return known
}

// validator checks a tree against its schema and reports every difference.
type validator struct {
	*document
	version     string
	anyVersion  bool       // the version is invalid, which is already reported
	translation bool       // the document is a translation, whose differences are warnings
	typeRule    check.Rule // the rule about values of another type
}

// maxFreeName limits names that the author chooses, such as keys of options, in bytes. The pointers
// of all values below a name contain it.
const maxFreeName = 1 << 10

// value reports differences between a value and its schema.
func (v *validator) value(n *tree.Node, s *valueSchema, pointer string) {
	switch {
	case s.any:
	case s.scalar && n.Kind != tree.Null && n.Kind != tree.Object:
		for i, item := range n.Items {
			v.value(item, &valueSchema{kind: tree.String}, fmt.Sprintf("%s/%d", pointer, i))
		}
	case s.scalar:
		v.addType("a string, a number, a boolean or a list of strings", n, pointer)
	case n.Kind != s.kind:
		v.addType(s.kind.String(), n, pointer)
	case s.kind == tree.String:
		v.text(n, s, pointer)
	case s.kind == tree.Array:
		for i, item := range n.Items {
			v.value(item, s.elem, fmt.Sprintf("%s/%d", pointer, i))
		}
	case s.kind == tree.Object:
		v.object(n, s, pointer)
	}
}

// addType reports a value of another type.
func (v *validator) addType(want string, n *tree.Node, pointer string) {
	hint := ""
	switch {
	case n.Kind == tree.Null:
		hint = "remove the field"
	case want == tree.String.String() && (n.Kind == tree.Number || n.Kind == tree.Bool):
		hint = "write it in quotes"
	case n.Kind == tree.String && pointer == "/author":
		hint = "write " + authorObject(n.Text) + "; slipway bundle validate --fix does that"
	case n.Kind == tree.String && pointer == "/repository":
		hint = `write { "type": "git", "url": "https://…" }; slipway bundle validate --fix does that`
	}
	v.At(n.Start).Add(v.typeRule, pointer, hint, "%s must be %s and is %s",
		last(pointer), want, n.Kind)
}

// hintMeant returns a hint for a value that a field does not allow: the name in the
// specification, or the most similar allowed value.
func (v *validator) hintMeant(word string, allowed []string) string {
	others := map[string]string{
		"macos":      "darwin",
		"mac":        "darwin",
		"osx":        "darwin",
		"windows":    "win32",
		"win":        "win32",
		"win64":      "win32",
		"integer":    "number",
		"int":        "number",
		"float":      "number",
		"bool":       "boolean",
		"text":       "string",
		"folder":     "directory",
		"path":       "file",
		"nodejs":     TypeNode,
		"javascript": TypeNode,
		"typescript": TypeNode,
		"exe":        TypeBinary,
		"executable": TypeBinary,
	}
	if same := others[strings.ToLower(word)]; slices.Contains(allowed, same) {
		return fmt.Sprintf("it is called %q", same)
	}
	if word == TypeUV && slices.Contains(allowed, TypePython) {
		return `set manifest_version to "0.4", which supports servers of type uv`
	}
	return v.near(word, allowed)
}

// text verifies a string: one of a list of words, or a format.
func (v *validator) text(n *tree.Node, s *valueSchema, pointer string) {
	if s.words != nil && !slices.Contains(s.words, n.Text) {
		v.At(n.Start).Add(ruleEnum, pointer, v.hintMeant(n.Text, s.words), "%s is %q and must be %s", last(pointer),
			n.Text, oneOf(s.words))
	}
	if s.format == nil {
		return
	}
	if rule, why := s.format(n.Text); why != "" {
		v.At(n.Start).Add(rule, pointer, "", "%s: %s", last(pointer), why)
	}
}

// object reports unknown, newer and missing members, and checks the others.
func (v *validator) object(n *tree.Node, s *valueSchema, pointer string) {
	for _, m := range membersOf(n) {
		below := pointerTo(pointer, m.Key)
		f := s.field(m.Key)
		at := v.At(m.KeyStart)
		switch {
		case v.anyVersion && (below == "/manifest_version" || below == "/dxt_version"):
		case s.fields == nil && len(m.Key) > maxFreeName:
			at.Add(v.typeRule, pointer, "", "%s has a name of %d bytes, more than %d", last(pointer),
				len(m.Key), maxFreeName)
		case s.fields == nil:
			v.value(m.Value, s.elem, below)
		case f != nil && f.since <= v.version:
			v.value(m.Value, f.schema, below)
		case f != nil:
			at.Add(ruleTooNew, below, fmt.Sprintf("set manifest_version to %q", f.since),
				"%q is known from version %s on, and this is %s", m.Key, f.since, v.version)
		case s.inexact && m.Value.Is(tree.String):
			at.Add(ruleReference, below, v.near(m.Key, s.names(v.version)),
				"the reference CLI refuses %q, which the specification allows", m.Key)
		case v.translation:
			at.Add(v.typeRule, below, v.near(m.Key, s.names("")),
				"%q cannot be translated", m.Key)
		default:
			known := s.names(v.version)
			hint := v.near(m.Key, known)
			if renamed := renamedField(m.Key); slices.Contains(known, renamed) {
				hint = fmt.Sprintf("did you mean %q?", renamed)
			}
			at.Add(ruleUnknown, below, hint, "unknown field %q", m.Key)
		}
	}
	// Now the fields that the object should have.
	for _, f := range s.fields {
		if !f.required || n.Member(f.name) != nil {
			continue
		}
		below := pointerTo(pointer, f.name)
		if why := v.excuse(below); why != "" {
			v.At(n.Start).Add(ruleReference, below, "", "%q is missing, which %s; the reference CLI refuses that",
				f.name, why)
			continue
		}
		v.At(n.Start).Add(ruleRequired, below, "", "%q is missing", f.name)
	}
}

// excuse returns why a missing required field is only a warning, or "".
func (v *validator) excuse(pointer string) string {
	switch {
	case pointer == "/localization/resources":
		return "means " + strconv.Quote(DefaultResources)
	case pointer == "/localization/default_locale":
		return "means " + strconv.Quote(DefaultLocale)
	case pointer == "/server/mcp_config" && textOf(v.root.Get("server", "type")) == TypeUV:
		return "is left to the host for servers of type uv"
	}
	return ""
}

// renamedField returns the name of a field that other formats, or earlier drafts, call
// name; "" if there is none.
func renamedField(name string) string {
	return map[string]string{
		"minimum":         "min",
		"maximum":         "max",
		"dxtVersion":      "manifest_version",
		"manifestVersion": "manifest_version",
		"dxt_version":     "manifest_version",
		"secret":          "sensitive",
		"password":        "sensitive",
		"label":           "title",
		"settings":        "user_config",
		"config":          "user_config",
		"configuration":   "user_config",
		"main":            "entry_point",
		"entryPoint":      "entry_point",
	}[name]
}

// pointerTo appends a name to a JSON pointer.
func pointerTo(pointer, name string) string {
	return pointer + "/" + jsonscan.EscapeToken(name)
}

// last returns the name of the value at pointer in messages.
func last(pointer string) string {
	if pointer == "" {
		return "the manifest"
	}
	token := jsonscan.UnescapeToken(pointer[strings.LastIndexByte(pointer, '/')+1:])
	if _, err := strconv.Atoi(token); err == nil {
		return "item " + token
	}
	return strconv.Quote(token)
}

// oneOf joins words as in: "a", "b" or "c".
func oneOf(words []string) string {
	all := ""
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			all += " or "
		case i > 0:
			all += ", "
		}
		all += strconv.Quote(w)
	}
	return all
}
