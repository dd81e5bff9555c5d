package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/order"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp"
)

// parameter is a property of a tool's inputSchema, or of the form of an elicitation.
type parameter struct {
	// name is the key on the command line.
	name     string
	required bool
	types    []string // JSON Schema types; empty if the schema has none
	choices  []string // the members of enum, as typed on the command line
	// members are the choices as the schema has them, and items describes those of a list; nil
	// if the schema does not.
	members []json.RawMessage
	items   *parameter
}

// parametersOf returns the properties of an input schema: first the required ones, in the
// order of the required list, then the others in the order of the text. An invalid schema
// has none.
func parametersOf(schema []byte) []parameter {
	var object struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &object) != nil || object.Properties == nil {
		return nil
	}
	var list []parameter
	dec := json.NewDecoder(bytes.NewReader(object.Properties))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		var s propertySchema
		if err := dec.Decode(&s); err != nil {
			return nil
		}
		key, _ := name.(string)
		p := s.parameter(key)
		p.required = slices.Contains(object.Required, key)
		list = append(list, *p)
	}
	order.StableBy(list, func(a, b parameter) int {
		return rank(object.Required, a.name) - rank(object.Required, b.name)
	})
	return list
}

// rank returns the place of a name among the required ones; all others follow them.
func rank(required []string, name string) int {
	if i := slices.Index(required, name); i >= 0 {
		return i
	}
	return len(required)
}

// propertySchema is the part of a schema that determines types. A property may also be
// true or false, which does not restrict its type.
type propertySchema struct {
	// Type is a string or a list of strings.
	Type  json.RawMessage   `json:"type"`
	Enum  []json.RawMessage `json:"enum"`
	Const json.RawMessage   `json:"const"`
	AnyOf []propertySchema  `json:"anyOf"`
	OneOf []propertySchema  `json:"oneOf"`
	Items json.RawMessage   `json:"items"`
}

// parameter returns a property with this schema.
func (s *propertySchema) parameter(name string) *parameter {
	p := &parameter{
		name:    name,
		types:   s.types(),
		members: s.members(),
	}
	for _, m := range p.members {
		p.choices = append(p.choices, typed(m))
	}
	var items propertySchema
	if jsonscan.IsObject(s.Items) && json.Unmarshal(s.Items, &items) == nil {
		p.items = items.parameter(name)
	}
	return p
}

// UnmarshalJSON leaves the schema empty for true and false, which are schemas without
// members.
func (s *propertySchema) UnmarshalJSON(text []byte) error {
	type plain propertySchema
	if text[0] != '{' {
		return nil
	}
	return json.Unmarshal(text, (*plain)(s))
}

// types returns the JSON types that the schema accepts, including those of its alternatives.
// It is empty if the schema does not restrict them.
func (s *propertySchema) types() (types []string) {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(s.Type, &types) == nil && len(types) > 0 {
		return types
	}
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		types = append(types, branch.types()...)
	}
	return types
}

// members returns the values of enum and const, including those of alternatives that are
// all constants.
func (s *propertySchema) members() (members []json.RawMessage) {
	members = s.Enum
	if s.Const != nil {
		members = append(members, s.Const)
	}
	if members != nil {
		return members
	}
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		if branch.Const == nil {
			return nil
		}
		members = append(members, branch.Const)
	}
	return members
}

// typed returns a JSON value as typed on the command line.
func typed(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// toolArguments builds the arguments object of a call from --json-args and each
// key=value, converted to the types of the tool's inputSchema.
func toolArguments(
	tool *mcp.Tool,
	pairs []string,
	object json.RawMessage,
) (json.RawMessage, error) {
	if len(pairs) == 0 {
		return object, nil
	}
	merged := make(map[string]json.RawMessage)
	if object != nil {
		if err := json.Unmarshal(object, &merged); err != nil {
			return nil, usage("", "--json-args: %v", err)
		}
	}
	parameters := parametersOf(tool.InputSchema)
	if len(pairs) == 1 && !strings.Contains(pairs[0], "=") {
		if key, ok := onlyRequired(parameters); ok {
			if isArguments(pairs[0], parameters) {
				return nil, usage("pass all arguments as one object with --json-args "+shell.ShellWord(pairs[0]),
					"argument %s: it is a JSON object with the names of arguments", key)
			}
			pairs = []string{key + "=" + pairs[0]}
		}
	}
	given, bad := valuesByKey(pairs)
	if bad != "" {
		return nil, usage(argumentsHint(tool), "argument %q is not key=value", bad)
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value, err := argument(parameters, key, given[key])
		if err != nil {
			return nil, usage(argumentsHint(tool), "argument %s: %v", key, err)
		}
		merged[key] = value
	}
	return mcp.Marshal(merged)
}

// isArguments reports whether text is a JSON object whose members are all arguments of a tool, rather
// than the value of one.
func isArguments(text string, parameters []parameter) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || len(members) == 0 {
		return false
	}
	for name := range members {
		if !slices.ContainsFunc(parameters, func(p parameter) bool { return p.name == name }) {
			return false
		}
	}
	return true
}

// valuesByKey returns the values of pairs KEY=VALUE, and the first pair that is none.
func valuesByKey(pairs []string) (given map[string][]string, bad string) {
	given = make(map[string][]string)
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, pair
		}
		given[key] = append(given[key], value)
	}
	return given, ""
}

// onlyRequired returns the only argument that a tool requires, whose value may be typed
// without the name. It never applies to lists and objects.
func onlyRequired(parameters []parameter) (name string, ok bool) {
	for _, p := range parameters {
		if !p.required {
			continue
		}
		if name != "" ||
			slices.Contains(p.types, "array") ||
			slices.Contains(p.types, "object") {
			return "", false
		}
		name = p.name
	}
	return name, name != ""
}

// argumentsHint shows how a tool is called: its name and the arguments of its schema.
func argumentsHint(tool *mcp.Tool) string {
	return tool.Name + signature(tool.InputSchema, maxArguments)
}

// argument converts the values for one key to a JSON value. Only a list may have several.
func argument(parameters []parameter, key string, values []string) (json.RawMessage, error) {
	p := parameter{name: key}
	if i := slices.IndexFunc(parameters, func(p parameter) bool {
		return p.name == key
	}); i >= 0 {
		p = parameters[i]
	}
	list := slices.Contains(p.types, "array")
	if list &&
		(len(values) > 1 || !json.Valid([]byte(values[0])) || values[0][0] != '[') {
		return p.listOf(values)
	}
	if len(values) > 1 {
		return nil, fmt.Errorf("given %d times", len(values))
	}
	return p.value(values[0])
}

// listOf returns an array of the given values, converted to the type of its items.
func (p *parameter) listOf(values []string) (json.RawMessage, error) {
	items := p.items
	if items == nil {
		items = &parameter{}
	}
	members := make([][]byte, 0, len(values))
	for _, v := range values {
		member, err := items.value(v)
		if err != nil {
			return nil, err
		}
		members = append(members, member)
	}
	return slices.Concat([]byte{'['}, bytes.Join(members, []byte{','}), []byte{']'}), nil
}

// untyped converts a value without a declared type: to JSON if valid, otherwise to a
// string.
func untyped(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	return quoted(value)
}

// quoted returns a value as a JSON string.
func quoted(value string) json.RawMessage {
	text, err := mcp.Marshal(value)
	if err != nil {
		return json.RawMessage(`""`) // a string can always be encoded
	}
	return text
}

// value converts a typed value to the first of the parameter's types that it fits. A
// number keeps its digits.
func (p *parameter) value(typed string) (json.RawMessage, error) {
	if len(p.types) == 0 {
		if i := slices.Index(p.choices, typed); i >= 0 {
			return p.members[i], nil
		}
		return untyped(typed), nil
	}
	for _, t := range p.types {
		if t != "string" && fits(t, typed) {
			return json.RawMessage(strings.TrimSpace(typed)), nil
		}
	}
	if slices.Contains(p.types, "string") {
		return quoted(typed), nil
	}
	want := strings.Join(p.types, " or ")
	if len(p.choices) > 0 {
		want += ", one of " + strings.Join(p.choices, ", ")
	}
	return nil, fmt.Errorf("%q is not of type %s", typed, want)
}

// fits reports whether the text is a JSON value of the type.
func fits(schemaType, text string) bool {
	if !json.Valid([]byte(text)) {
		return false
	}
	text = strings.TrimSpace(text)
	switch c := text[0]; schemaType {
	case "null", "boolean":
		return text == "null" && schemaType == "null" ||
			(text == "true" || text == "false") && schemaType == "boolean"
	case "object":
		return c == '{'
	case "array":
		return c == '['
	case "integer":
		return (c == '-' || '0' <= c && c <= '9') &&
			!strings.ContainsAny(text, ".eE")
	case "number":
		return c == '-' || '0' <= c && c <= '9'
	}
	return false
}

// jsonObject returns the object in the value of a flag such as --json-args, or in stdin if
// that is "-".
func jsonObject(flag, value string, stdin io.Reader) (json.RawMessage, error) {
	text := []byte(value)
	switch value {
	case "":
		return nil, nil
	case "-":
		var err error
		if text, err = io.ReadAll(stdin); err != nil {
			return nil, badInput("", "%s: read stdin: %v", flag, err)
		}
	}
	text = bytes.TrimSpace(text)
	if !json.Valid(text) || text[0] != '{' {
		return nil, usage(fmt.Sprintf(`for example %s '{"code":404}'`, flag), "%s: not a JSON object", flag)
	}
	return text, nil
}

// stringArguments parses the key=value arguments of a prompt.
func stringArguments(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	arguments := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("", "argument %q is not key=value", pair)
		}
		if _, ok := arguments[key]; ok {
			return nil, usage("", "duplicate argument %s", key)
		}
		arguments[key] = value
	}
	return arguments, nil
}
