package router

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// input decodes the arguments of one tool or prompt.
type input struct {
	feature string
	node    *node
	names   []string // of the arguments
	strict  bool
	// check words the errors that the plan detects.
	check *schema.Schema
	// hand is the schema that the author wrote, or nil.
	hand     *schema.Schema
	defaults []defaultMember
}

// defaultMember is a default from a hand-written schema.
type defaultMember struct{ name, member string }

// newInput compiles the input type of a feature and returns its schema.
func newInput(feature string, t reflect.Type, strict bool, hand *InputSchema) (*input, json.RawMessage, []string) {
	in := &input{feature: feature, strict: strict}
	c := newCompiler(false)
	c.lenient = hand != nil
	in.node = c.node(t)
	at := in.node
	for at.kind == kindPointer {
		at = at.elem
	}
	switch {
	case len(c.faults) > 0:
		return nil, nil, c.faults
	case at.kind == kindStruct:
		for i := range at.object.fields {
			in.names = append(in.names, at.object.fields[i].name)
		}
	case at.kind == kindMap, hand != nil, at.custom != nil:
	default:
		return nil, nil, []string{fmt.Sprintf("the input must be a struct, or a map with string keys, not %v", t)}
	}
	text := c.schema(in.node, strict)
	var err error
	if in.check, err = schema.Compile(text); err != nil {
		return nil, nil, []string{fmt.Sprintf("the input schema: %v", err)}
	}
	if hand == nil {
		return in, text, nil
	}
	text, err = in.byHand(string(*hand))
	if err != nil {
		return nil, nil, []string{fmt.Sprintf("Schema: %v", err)}
	}
	return in, text, nil
}

// byHand compiles a hand-written schema, and rejects some that are valid but never
// intended.
func (in *input) byHand(text string) (json.RawMessage, error) {
	raw, s, err := compileByHand(text)
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
		if _, ok := top.Properties[name]; !ok {
			return nil, fmt.Errorf("the required %q is not among the properties", name)
		}
	}
	for name, property := range top.Properties {
		var p struct {
			Default json.RawMessage `json:"default"`
		}
		if json.Unmarshal(property, &p) == nil && p.Default != nil {
			in.defaults = append(in.defaults, defaultMember{name, string(quoteJSON(name)) + ":" + string(p.Default)})
		}
	}
	return raw, nil
}

// compileByHand compacts and compiles a schema.
func compileByHand(text string) (json.RawMessage, *schema.Schema, error) {
	if err := jsonscan.Valid([]byte(text)); err != nil {
		return nil, nil, err
	}
	raw := jsonscan.AppendCompact(nil, []byte(text))
	if _, err := distinctNames(raw, 0, 0); err != nil {
		return nil, nil, err
	}
	s, err := schema.Compile(raw)
	return raw, s, err
}

// decode fills v, or returns an [*mcp.Error] that states what a model must change.
func (in *input) decode(ctx context.Context, arguments json.RawMessage, v reflect.Value) error {
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	if in.hand != nil {
		arguments = in.withDefaults(arguments)
		if err := in.hand.Validate(arguments); err != nil {
			return in.invalid(err)
		}
	}
	d := newDecoder(arguments, in.strict && in.hand == nil)
	defer d.free()
	if err := d.decode(in.node, v); err != nil {
		return in.invalid(fmt.Errorf("not valid JSON: %w", err))
	}
	if err := d.explain(in.check); err != nil {
		return in.invalid(err)
	}
	if len(d.unknown) > 0 && in.hand == nil {
		in.warn(ctx, d.unknown)
	}
	return nil
}

func (in *input) invalid(err error) error {
	return mcp.InvalidArguments(fmt.Sprintf("invalid arguments for %s: %v", in.feature, err))
}

// withDefaults adds the defaults of a hand-written schema.
func (in *input) withDefaults(arguments json.RawMessage) json.RawMessage {
	if len(in.defaults) == 0 || jsonscan.Valid(arguments) != nil {
		return arguments
	}
	given := mcp.CallToolParams{Arguments: arguments}
	text := strings.TrimSpace(string(arguments))
	if !strings.HasPrefix(text, "{") {
		return arguments
	}
	members := strings.TrimSpace(text[1 : len(text)-1])
	for _, d := range in.defaults {
		if given.Argument(d.name) != nil {
			continue
		}
		if members != "" {
			members += ","
		}
		members += d.member
	}
	return json.RawMessage("{" + members + "}")
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
