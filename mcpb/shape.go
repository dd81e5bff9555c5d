package mcpb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// shape describes valid values.
type shape struct {
	kind   kind
	enum   []string                                     // of a string
	format func(s string) (rule check.Rule, why string) // of a string; "" means valid
	fields []field                                      // of an object; nil means any names
	elem   *shape                                       // of an array, or of an object with any names
	others *shape                                       // of object members that fields does not name
	scalar bool                                         // a string, number, boolean or array of strings
	any    bool                                         // any value
}

// field is a member of an object.
type field struct {
	name     string
	shape    *shape
	since    string // the first version that knows the field; "" means all
	required bool
	// excused, if not nil, returns why a missing required field is only a warning.
	excused func(root *jsonNode) (why string)
}

var (
	anyShape    = &shape{any: true}
	textShape   = &shape{kind: kindString}
	boolShape   = &shape{kind: kindBool}
	numberShape = &shape{kind: kindNumber}
	urlShape    = &shape{kind: kindString, format: formatURL}
	textsShape  = &shape{kind: kindArray, elem: textShape}
	envShape    = &shape{kind: kindObject, elem: textShape}

	overrideShape = &shape{kind: kindObject, fields: []field{
		{name: "command", shape: textShape}, {name: "args", shape: textsShape}, {name: "env", shape: envShape},
	}}
	configShape = &shape{kind: kindObject, fields: []field{
		{name: "command", shape: textShape, required: true},
		{name: "args", shape: textsShape}, {name: "env", shape: envShape},
		{name: "platform_overrides", shape: &shape{kind: kindObject, elem: overrideShape}},
	}}
	optionShape = &shape{kind: kindObject, fields: []field{
		{
			name: "type",
			shape: &shape{
				kind: kindString,
				enum: []string{OptionString, OptionNumber, OptionBoolean, OptionDirectory, OptionFile},
			},
			required: true,
		},
		{name: "title", shape: textShape, required: true},
		{name: "description", shape: textShape, required: true},
		{name: "required", shape: boolShape},
		{name: "default", shape: &shape{scalar: true}},
		{name: "multiple", shape: boolShape},
		{name: "sensitive", shape: boolShape},
		{name: "min", shape: numberShape},
		{name: "max", shape: numberShape},
	}}
	iconShape = &shape{kind: kindObject, fields: []field{
		{name: "src", shape: textShape, required: true},
		{name: "size", shape: &shape{kind: kindString, format: formatIconSize}, required: true},
		{name: "theme", shape: &shape{kind: kindString, format: formatTheme}},
	}}
	localizationShape = &shape{kind: kindObject, fields: []field{
		{
			name:     "resources",
			shape:    &shape{kind: kindString, format: formatResources},
			required: true,
			excused:  excuseDefault(DefaultResources),
		},
		{
			name:     "default_locale",
			shape:    &shape{kind: kindString, format: formatLocale},
			required: true,
			excused:  excuseDefault(DefaultLocale),
		},
	}}
	compatibilityShape = &shape{kind: kindObject, others: textShape, fields: []field{
		{name: "claude_desktop", shape: textShape},
		{
			name: "platforms",
			shape: &shape{kind: kindArray,
				elem: &shape{kind: kindString, enum: []string{"darwin", "win32", "linux"}}},
		},
		{
			name: "runtimes",
			shape: &shape{
				kind:   kindObject,
				fields: []field{{name: "python", shape: textShape}, {name: "node", shape: textShape}},
			},
		},
	}}
)

// manifestShape returns the shape of a manifest of one version.
func manifestShape(version string) *shape {
	literal := &shape{kind: kindString, enum: []string{version}}
	types := []string{TypePython, TypeNode, TypeBinary}
	if version >= "0.4" {
		types = append(types, TypeUV)
	}
	server := &shape{kind: kindObject, fields: []field{
		{name: "type", shape: &shape{kind: kindString, enum: types}, required: true},
		{name: "entry_point", shape: textShape, required: true},
		{name: "mcp_config", shape: configShape, required: true, excused: excuseUV},
	}}
	named := func(more ...field) *shape {
		return &shape{kind: kindObject, fields: append([]field{{name: "name", shape: textShape, required: true}}, more...)}
	}
	description := field{name: "description", shape: textShape}
	return &shape{kind: kindObject, fields: []field{
		{name: "$schema", shape: textShape},
		{name: "manifest_version", shape: literal},
		{name: "dxt_version", shape: literal},
		{name: "name", shape: textShape, required: true},
		{name: "display_name", shape: textShape},
		{name: "version", shape: textShape, required: true},
		{name: "description", shape: textShape, required: true},
		{name: "long_description", shape: textShape},
		{
			name:     "author",
			required: true,
			shape: named(field{name: "email", shape: &shape{kind: kindString, format: formatEmail}},
				field{name: "url", shape: urlShape}),
		},
		{
			name: "repository",
			shape: &shape{
				kind: kindObject,
				fields: []field{{name: "type", shape: textShape, required: true},
					{name: "url", shape: urlShape, required: true}},
			},
		},
		{name: "homepage", shape: urlShape},
		{name: "documentation", shape: urlShape},
		{name: "support", shape: urlShape},
		{name: "icon", shape: textShape},
		{name: "icons", since: "0.3", shape: &shape{kind: kindArray, elem: iconShape}},
		{name: "screenshots", shape: textsShape},
		{name: "localization", since: "0.3", shape: localizationShape},
		{name: "server", shape: server, required: true},
		{name: "tools", shape: &shape{kind: kindArray, elem: named(description)}},
		{name: "tools_generated", shape: boolShape},
		{
			name: "prompts",
			shape: &shape{
				kind: kindArray,
				elem: named(description, field{name: "arguments", shape: textsShape}, field{
					name:     "text",
					shape:    textShape,
					required: true,
				}),
			},
		},
		{name: "prompts_generated", shape: boolShape},
		{name: "keywords", shape: textsShape},
		{name: "license", shape: textShape},
		{name: "privacy_policies", since: "0.2", shape: &shape{kind: kindArray, elem: urlShape}},
		{name: "compatibility", shape: compatibilityShape},
		{name: "user_config", shape: &shape{kind: kindObject, elem: optionShape}},
		{name: "_meta", since: "0.3",
			shape: &shape{kind: kindObject, elem: &shape{kind: kindObject, elem: anyShape}}},
	}}
}

func excuseDefault(value string) func(*jsonNode) string {
	return func(*jsonNode) string { return "means " + strconv.Quote(value) }
}

func excuseUV(root *jsonNode) string {
	if root.member("server").member("type").str() == TypeUV {
		return "is left to the host for servers of type uv"
	}
	return ""
}

// judge checks a tree against its shape and reports every difference.
type judge struct {
	*document
	version string
}

func (j *judge) value(n *jsonNode, s *shape, pointer string) {
	switch {
	case s.any:
	case s.scalar:
		j.scalar(n, pointer)
	case n.kind != s.kind:
		j.typed(s.kind.String(), n, pointer)
	case s.kind == kindString:
		j.text(n, s, pointer)
	case s.kind == kindArray:
		for i, item := range n.items {
			j.value(item, s.elem, pointer+"/"+strconv.Itoa(i))
		}
	case s.kind == kindObject:
		j.object(n, s, pointer)
	}
}

func (j *judge) typed(want string, n *jsonNode, pointer string) {
	hint := ""
	switch {
	case n.kind == kindNull:
		hint = "leave the field out"
	case want == "a string" && (n.kind == kindNumber || n.kind == kindBool):
		hint = "write it in quotes"
	case n.kind == kindString && pointer == "/author":
		hint = "write " + authorObject(n.text) + "; slipway bundle validate --fix does that"
	case n.kind == kindString && pointer == "/repository":
		hint = `write { "type": "git", "url": "https://…" }; slipway bundle validate --fix does that`
	}
	j.At(n.at).Add(ruleType, pointer, hint, "%s must be %s and is %s", last(pointer), want, n.kind)
}

// meant returns a hint for a value that a field does not allow: the name in the
// specification, or the most similar allowed value.
func (j *judge) meant(word string, allowed []string) string {
	others := map[string]string{
		"macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "win32", "win": "win32", "win64": "win32",
		"integer": "number", "int": "number", "float": "number", "bool": "boolean", "text": "string",
		"folder": "directory",
		"path":   "file",
		"nodejs": TypeNode, "javascript": TypeNode, "typescript": TypeNode, "exe": TypeBinary,
		"executable": TypeBinary,
	}
	if same := others[strings.ToLower(word)]; slices.Contains(allowed, same) {
		return fmt.Sprintf("it is called %q", same)
	}
	if word == TypeUV && slices.Contains(allowed, TypePython) {
		return `set manifest_version to "0.4", which knows servers of type uv`
	}
	return j.near(word, allowed)
}

func (j *judge) scalar(n *jsonNode, pointer string) {
	switch n.kind {
	case kindNull, kindObject:
		j.typed("a string, a number, a boolean or an array of strings", n, pointer)
	case kindArray:
		for i, item := range n.items {
			j.value(item, textShape, pointer+"/"+strconv.Itoa(i))
		}
	}
}

func (j *judge) text(n *jsonNode, s *shape, pointer string) {
	if s.enum != nil && !slices.Contains(s.enum, n.text) {
		j.At(n.at).Add(ruleEnum, pointer, j.meant(n.text, s.enum), "%s is %q and must be %s", last(pointer), n.text,
			oneOf(s.enum))
	}
	if s.format == nil {
		return
	}
	if rule, why := s.format(n.text); why != "" {
		j.At(n.at).Add(rule, pointer, "", "%s: %s", last(pointer), why)
	}
}

func (j *judge) object(n *jsonNode, s *shape, pointer string) {
	done := map[string]bool{}
	for _, m := range n.each() {
		done[m.name] = true
		below := pointer + "/" + jsonscan.EscapeToken(m.name)
		at := slices.IndexFunc(s.fields, func(f field) bool { return f.name == m.name })
		switch {
		case s.fields == nil:
			j.value(m.value, s.elem, below)
		case at >= 0 && s.fields[at].since <= j.version:
			j.value(m.value, s.fields[at].shape, below)
		case at >= 0:
			j.At(m.at).Add(ruleTooNew, below, fmt.Sprintf("set manifest_version to %q", s.fields[at].since),
				"%q is known from version %s on, and this is %s", m.name, s.fields[at].since, j.version)
		case s.others != nil && m.value.kind == s.others.kind:
			j.At(m.at).Add(ruleReference, below, j.near(m.name, names(s.fields, j.version)),
				"the reference CLI refuses %q, which the specification allows", m.name)
		default:
			j.unknown(m, s.fields, below)
		}
	}
	for _, f := range s.fields {
		if f.required && !done[f.name] {
			j.missing(n, f, pointer)
		}
	}
}

func (j *judge) unknown(m member, fields []field, pointer string) {
	known := names(fields, j.version)
	hint := j.near(m.name, known)
	if renamed := renamedField(m.name); renamed != "" && slices.Contains(known, renamed) {
		hint = fmt.Sprintf("did you mean %q?", renamed)
	}
	j.At(m.at).Add(ruleUnknown, pointer, hint, "no field is called %q here", m.name)
}

func names(fields []field, version string) []string {
	var known []string
	for _, f := range fields {
		if f.since <= version {
			known = append(known, f.name)
		}
	}
	return known
}

// renamedField returns the name of a field that other formats, or earlier drafts, call
// name; "" if there is none.
func renamedField(name string) string {
	switch name {
	case "minimum":
		return "min"
	case "maximum":
		return "max"
	case "dxtVersion", "manifestVersion", "dxt_version":
		return "manifest_version"
	case "secret", "password":
		return "sensitive"
	case "label":
		return "title"
	case "settings", "config", "configuration":
		return "user_config"
	case "main", "entryPoint":
		return "entry_point"
	}
	return ""
}

func (j *judge) missing(n *jsonNode, f field, pointer string) {
	below := pointer + "/" + jsonscan.EscapeToken(f.name)
	if f.excused != nil {
		if why := f.excused(j.root); why != "" {
			j.At(n.at).Add(ruleReference, below, "", "%q is missing, which %s; the reference CLI refuses that",
				f.name, why)
			return
		}
	}
	j.At(n.at).Add(ruleRequired, below, "", "%q is missing", f.name)
}

func didYouMean(name string, names []string) string {
	if near := nearest.DidYouMean(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// last returns the name of the value at pointer in messages.
func last(pointer string) string {
	if pointer == "" {
		return "the manifest"
	}
	token := pointer[strings.LastIndexByte(pointer, '/')+1:]
	token = jsonscan.UnescapeToken(token)
	if _, err := strconv.Atoi(token); err == nil {
		return "item " + token
	}
	return strconv.Quote(token)
}

// oneOf joins words as in: "a", "b" or "c".
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
