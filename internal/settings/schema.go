package settings

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// SchemaURL is where editors find the schema.
const SchemaURL = "https://raw.githubusercontent.com/slipway-mcp/slipway/main/docs/reference/slipway.schema.json"

// pattern is the syntax of the values of a kind, for the schema and for [Table.Parse].
type pattern struct {
	// re is what a value must match, and want describes that.
	re   func() *regexp.Regexp // nil for no pattern
	want string
}

var patterns = [Map + 1]pattern{
	Int:      {lazyregexp.New(`^[0-9]{1,9}$`), "a whole number, 0 or more"},
	Number:   {lazyregexp.New(`^[0-9]{1,9}(\.[0-9]{1,9})?$`), "a number, 0 or more"},
	Size:     {lazyregexp.New(`^[1-9][0-9]{0,12} ?([KMG](iB|B)?)?$`), "a size such as 512KiB or 64MiB"},
	Duration: {lazyregexp.New(`^(0|([0-9]{1,9}(\.[0-9]{1,9})?(ms|us|ns|h|m|s))+)$`), "a time such as 10s or 5m"},
}

//go:embed definitions.schema.json
var definitionsSchema []byte

// object is a JSON object with its members in order.
type object struct{ members []member }

type member struct {
	// name is the name of a member, whose order is kept.
	name  string
	value any
}

func (o *object) set(name string, value any) { o.members = append(o.members, member{name, value}) }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// Schema returns the JSON schema of the file. It is draft-07, the draft that YAML language
// servers support best.
func (t *Table) Schema() ([]byte, error) {
	var definitions struct {
		Properties  json.RawMessage `json:"properties"`
		Definitions json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(definitionsSchema, &definitions); err != nil {
		return nil, err
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(definitions.Properties, &own); err != nil {
		return nil, err
	}
	var serve object
	for _, g := range t.Groups {
		var group object
		for _, s := range t.Of(g.Key) {
			group.set(s.Key, s.schema())
		}
		serve.set(g.Key, closed(g.About, group))
	}
	var properties object
	properties.set("sources", sourcesSchema())
	properties.set("serve", closed("Settings of slipway serve. A flag and an environment variable take precedence.",
		serve))
	for _, name := range []string{"specVersion", "servers", "secrets", "bindings", "tools"} {
		properties.set(name, own[name])
	}
	properties.set("$schema", describe("string", "The address of this schema, for editors."))
	var root object
	root.set("$schema", "http://json-schema.org/draft-07/schema#")
	root.set("$id", SchemaURL)
	root.set("title", "Configuration of slipway serve, and definitions of MCP servers")
	root.set("type", "object")
	root.set("properties", properties)
	root.set("anyOf", []any{required("sources"), required("servers")})
	root.set("definitions", definitions.Definitions)
	return json.MarshalIndent(root, "", "  ")
}

func required(name string) any { return map[string]any{"required": []string{name}} }

func describe(kind any, text string) *object {
	o := &object{}
	o.set("type", kind)
	if text != "" {
		o.set("description", text)
	}
	return o
}

// closed returns the schema of an object with these members only.
func closed(about string, properties object) *object {
	o := describe("object", about)
	o.set("properties", properties)
	o.set("additionalProperties", false)
	return o
}

// sourcesSchema returns the schema of the member sources.
func sourcesSchema() *object {
	var properties object
	source := describe("string", "A path, relative to this file, or a URL; see slipway help sources.")
	source.set("minLength", 1)
	properties.set("source", source)
	command := describe("array", "A program and its arguments: a server over stdin and stdout.")
	command.set("items", map[string]any{"type": "string"})
	command.set("minItems", 1)
	properties.set("command", command)
	name := describe("string", "The name of the source in prefixes, patterns and messages.")
	name.set("pattern", "^[a-z0-9_-]{1,64}$")
	properties.set("name", name)
	one := closed("", properties)
	one.set("oneOf", []any{required("source"), required("command")})
	text := describe("string", "")
	text.set("minLength", 1)
	list := describe("array", "What is served, as one server: like the SOURCE arguments of slipway serve.")
	list.set("items", map[string]any{"anyOf": []any{text, one}})
	list.set("maxItems", maxSources)
	return list
}

// schema returns the schema of a setting.
func (s *Setting) schema() *object {
	about := s.Description() + "."
	if s.Flag != "" {
		about += " Flag: --" + s.Flag + "."
	}
	o := &object{}
	texts := map[string]any{"type": "string"}
	pattern := ""
	if re := patterns[s.Kind].re; re != nil {
		pattern = re().String()
	}
	switch s.Kind {
	case Bool:
		o = describe("boolean", about)
	case Int:
		o = describe("integer", about)
		o.set("minimum", 0)
	case Number:
		o = describe("number", about)
		o.set("minimum", 0)
	case Size:
		o = describe([]string{"string", "integer"}, about)
		o.set("pattern", pattern)
		o.set("minimum", 1)
	case Duration:
		o = describe([]string{"string", "integer"}, about)
		o.set("pattern", pattern)
		o.set("maximum", 0)
		o.set("minimum", 0)
	case Choice:
		o = describe("string", about)
		o.set("enum", s.Words)
	case Address:
		o = describe([]string{"string", "integer"}, about)
		o.set("minimum", 0)
		o.set("maximum", 65535)
	case List:
		o = describe([]string{"array", "string"}, about)
		o.set("items", texts)
	case Groups:
		o = describe("object", about)
		o.set("additionalProperties",
			map[string]any{"type": []string{"array", "string"}, "items": texts})
		o.set("propertyNames", map[string]any{"pattern": "^[^=]+$"})
	case Map:
		o = describe("object", about)
		o.set("additionalProperties",
			map[string]any{"type": []string{"string", "number", "boolean"}})
		o.set("propertyNames", map[string]any{"pattern": "^[^=]+$"})
	default:
		o = describe("string", about)
	}
	if value := s.defaultJSON(); value != nil {
		o.set("default", value)
	}
	return o
}

// Description returns the usage as a sentence about the member of the file, without a full
// stop: what a negative flag disables, the member enables.
func (s *Setting) Description() string {
	text := strings.ReplaceAll(s.Usage, "`", "")
	rest, ok := strings.CutPrefix(text, "disable ")
	if ok && s.Inverted {
		text = "serve " + rest
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// defaultJSON returns the default as a JSON value, or nil.
func (s *Setting) defaultJSON() any {
	switch s.Kind {
	case Bool:
		return (s.Default == "true") != s.Inverted
	case Int, Number:
		if n, err := strconv.ParseFloat(s.Default, 64); err == nil {
			return n
		}
		return nil
	case List, Groups, Map:
		return nil
	}
	if s.Default == "" {
		return nil
	}
	return s.Default
}
