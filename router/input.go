package router

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// input decodes the arguments of one tool or prompt, or the variables of one template.
type input struct {
	// feature names the tool or prompt in errors, and node decodes the arguments.
	feature string
	node    *node
	names   []string // of the arguments
	strict  bool
	// check words the errors that the plan detects.
	check *schema.Schema
	// hand is the schema that the author wrote, or nil.
	hand *schema.Schema
	// defaults are the defaults of a hand-written schema, which the type does not have.
	defaults []defaultMember
}

// defaultMember is a default from a hand-written schema.
type defaultMember struct{ name, member string }

// isStruct is the requirement on the arguments of a prompt.
func isStruct(n *node) bool { return n.kind == kindStruct }

// isStructOrTexts is the requirement on the variables of a template, all of which are strings.
func isStructOrTexts(n *node) bool {
	return isStruct(n) || n.kind == kindMap && n.elem.kind == kindString
}

// newInput compiles an input type and returns its schema, or nil after a mistake. must is
// the requirement that accepts checks, as in "input must be a struct".
func (f *feature) newInput(
	t reflect.Type,
	must string,
	accepts func(*node) bool,
) (*input, json.RawMessage) {
	c := newCompiler(false)
	c.lenient = f.inputSchema != nil
	in := &input{
		feature: f.name,
		strict:  f.strict && !c.lenient,
		node:    c.node(t),
	}
	top := pointee(in.node)
	f.addFaults("", c.faults)
	if len(c.faults) > 0 {
		return nil, nil
	}
	if !accepts(top) {
		f.fault("the %s, not %v", must, t)
		return nil, nil
	}
	if isStruct(top) {
		for i := range top.object.fields {
			in.names = append(in.names, top.object.fields[i].name)
		}
	}
	text := c.schema(in.node, f.strict)
	var err error
	if in.check, err = schema.Compile(text); err != nil {
		f.fault("the input schema: %v", err)
		return nil, nil
	}
	return in, text
}

// toolInput compiles the input type of a tool and returns its schema, or nil after a
// mistake.
func (f *feature) toolInput(t reflect.Type) (*input, json.RawMessage) {
	in, text := f.newInput(t, "input must be a struct, or a map with string keys", func(n *node) bool {
		return isStruct(n) || n.kind == kindMap || f.inputSchema != nil || n.custom != nil
	})
	if in == nil || f.inputSchema == nil {
		return in, text
	}
	text, err := in.useSchema(*f.inputSchema)
	if err != nil {
		f.fault("Schema: %v", err)
	}
	return in, text
}

// textInput compiles an input type that is decoded from strings, or returns nil after a
// mistake.
func (f *feature) textInput(t reflect.Type, must string, accepts func(*node) bool) *input {
	in, _ := f.newInput(t, must, accepts)
	if in != nil && isStruct(pointee(in.node)) {
		f.addFaults("", checkTexts(pointee(in.node).object))
	}
	return in
}

// useSchema compiles a hand-written schema, and rejects some that are valid but never
// intended.
func (in *input) useSchema(text string) (json.RawMessage, error) {
	raw, s, err := compileSchema(text)
	if err != nil {
		return nil, err
	}
	in.hand = s
	var top struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, err
	}
	if top.Type != "object" {
		return nil, fmt.Errorf(`"type" must be "object"`)
	}
	for _, name := range top.Required {
		if top.Properties[name] == nil {
			return nil, fmt.Errorf("the required %q is not among the properties", name)
		}
	}
	for name, property := range top.Properties {
		if value := jsonscan.Member(property, "default"); value != nil {
			in.defaults = append(in.defaults, defaultMember{
				name:   name,
				member: fmt.Sprintf("%s:%s", quoteJSON(name), value),
			})
		}
	}
	return raw, nil
}

// compileSchema compacts and compiles a schema.
func compileSchema(text string) (json.RawMessage, *schema.Schema, error) {
	if err := jsonscan.Valid([]byte(text)); err != nil {
		return nil, nil, err
	}
	raw := jsonscan.AppendCompact(nil, []byte(text))
	if name := jsonscan.Duplicate(raw); name != nil {
		return nil, nil, fmt.Errorf("duplicate %q", name)
	}
	s, err := schema.Compile(raw)
	return raw, s, err
}

// decode fills v. An error states what a model must change.
func (in *input) decode(ctx context.Context, arguments json.RawMessage, v reflect.Value) error {
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	unknown, err := in.fill(arguments, v)
	if err != nil {
		return fmt.Errorf("invalid arguments for %s: %w", in.feature, err)
	}
	if len(unknown) > 0 && in.hand == nil {
		in.warn(ctx, unknown)
	}
	return nil
}

// fill is decode without the name of the feature. It returns the paths of ignored members.
func (in *input) fill(arguments json.RawMessage, v reflect.Value) (unknown []string, err error) {
	if in.hand != nil {
		arguments = in.withDefaults(arguments)
		if err := in.hand.Validate(arguments); err != nil {
			return nil, err
		}
	}
	d := newDecoder(arguments, in.strict)
	defer d.free()
	if err := d.decode(in.node, v); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return d.unknown, d.explain(in.check)
}

// withDefaults adds the defaults of a hand-written schema.
func (in *input) withDefaults(arguments json.RawMessage) json.RawMessage {
	if !jsonscan.IsObject(arguments) || jsonscan.Valid(arguments) != nil {
		return arguments
	}
	var added []string
	for _, d := range in.defaults {
		if jsonscan.Member(arguments, d.name) == nil {
			added = append(added, d.member)
		}
	}
	if len(added) == 0 {
		return arguments
	}
	text := strings.TrimSpace(string(arguments))
	members := strings.TrimSpace(text[1 : len(text)-1])
	if members != "" {
		added = slices.Insert(added, 0, members)
	}
	return json.RawMessage("{" + strings.Join(added, ",") + "}")
}

// warn logs ignored arguments to the client.
func (in *input) warn(ctx context.Context, unknown []string) {
	r := mcp.RequestFrom(ctx)
	if r == nil {
		return
	}
	texts := make([]string, len(unknown))
	for i, name := range unknown {
		texts[i] = fmt.Sprintf("%s: unknown argument, ignored", name)
		if near := nearest.DidYouMean(name, in.names); near != "" {
			texts[i] += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	r.Log(mcp.LogWarning, in.feature, strings.Join(texts, "; "))
}
