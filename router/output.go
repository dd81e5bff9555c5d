package router

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// output turns the return values of one tool into results.
type output struct {
	// tool names the tool in errors.
	tool string
	// form makes the result from what the tool's function returned. It is chosen once, by
	// the type, so that no call inspects types.
	form func(o *output, v reflect.Value) (*mcp.CallToolResult, error)
	// node encodes structured content; nil if the function returns none.
	node  *node
	check *schema.Schema // nil if there is no output schema
}

// Texter is an output with its own text for models; programs still read the structured
// content.
type Texter interface{ Text() string }

// The return types of tools that are not encoded by a plan.
var (
	typeVoid       = reflect.TypeFor[Void]()
	typeContent    = reflect.TypeFor[mcp.Content]()
	typeContents   = reflect.TypeFor[[]mcp.Content]()
	typeToolResult = reflect.TypeFor[*mcp.CallToolResult]()
	typeResult     = reflect.TypeFor[mcp.CallToolResult]()
	typeEmpty      = reflect.TypeFor[struct{}]()
)

// toolOutput compiles the output type of a tool and returns its schema, or nil.
func (f *feature) toolOutput(t reflect.Type) (*output, json.RawMessage) {
	o := &output{tool: f.name}
	text := ""
	switch {
	case t == typeVoid, t == typeEmpty:
		o.form = func(*output, reflect.Value) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		}
	case t == typeResult:
		o.form = func(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
			return fromAny(o, v.Addr())
		}
	case t == typeContent, t == typeContents, t == typeToolResult, t.Kind() == reflect.Interface &&
		t.NumMethod() == 0:
		o.form = fromAny
	case isPlainText(t):
		o.form = fromText
	default:
		o.form = fromValue
		c := newCompiler(true)
		o.node = c.node(t)
		f.addFaults("the output: ", c.faults)
		if len(c.faults) > 0 {
			return nil, nil
		}
		text = string(c.schema(pointee(o.node), false))
	}
	if f.outputSchema != nil {
		text = *f.outputSchema
	} else if text == "" {
		return o, nil
	}
	raw, check, err := compileSchema(text)
	if err != nil {
		f.fault("the output schema: %v", err)
	}
	o.check = check
	return o, raw
}

// outputNode compiles a type for encoding.
func (f *feature) outputNode(t reflect.Type) *node {
	c := newCompiler(true)
	n := c.node(t)
	f.addFaults("the output: ", c.faults)
	return n
}

// isPlainText reports whether values of t are strings without their own JSON form.
func isPlainText(t reflect.Type) bool {
	return t.Kind() == reflect.String && !implements(t, typeMarshaler) &&
		!implements(t, typeTextMarshaler)
}

// pointee returns the plan of what a pointer, or a pointer to one, points to.
func pointee(n *node) *node {
	for n.kind == kindPointer {
		n = n.elem
	}
	return n
}

// result turns the return value of a tool's function into the result.
func (o *output) result(v reflect.Value) (*mcp.CallToolResult, error) {
	return o.form(o, v)
}

// textResult returns a result with one text and no structured content.
func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}
}

// fromText is a form for strings. With a hand-written schema, the string is also the structured
// content.
func fromText(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	if o.check == nil {
		return textResult(v.String()), nil
	}
	return o.structured(textResult(v.String()), quoteJSON(v.String()))
}

// fromAny turns a value whose type is known only now into the result.
func fromAny(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	switch value := v.Interface().(type) {
	case nil:
		return o.structured(&mcp.CallToolResult{}, nil)
	case string:
		return fromText(o, reflect.ValueOf(value))
	case mcp.Content:
		return o.structured(&mcp.CallToolResult{Content: []mcp.Content{value}}, nil)
	case []mcp.Content:
		return o.structured(&mcp.CallToolResult{Content: value}, nil)
	case *mcp.CallToolResult:
		switch {
		case value == nil:
			return nil, o.noResult()
		case value.IsError || value.Raw != nil:
			return value, nil
		}
		return o.structured(value, value.StructuredContent)
	}
	encoded, err := mcp.Marshal(v.Interface())
	if err != nil {
		return nil, o.bad(errors.New(plainJSON(err)))
	}
	return o.structured(o.texted(v.Elem(), encoded), encoded)
}

// fromValue is a form for values with a schema. The JSON is the structured content and, unless
// the value is a [Texter], also the text. A nil pointer is an error, since null would violate
// the schema.
func fromValue(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, o.noResult()
	}
	encoded, err := o.node.append(make([]byte, 0, 256), v)
	if err != nil {
		return nil, o.bad(err)
	}
	return o.structured(o.texted(v, encoded), encoded)
}

// texted returns a result with the text that models read.
func (o *output) texted(v reflect.Value, encoded []byte) *mcp.CallToolResult {
	if t, ok := methods(v).(Texter); ok {
		return textResult(t.Text())
	}
	return textResult(string(encoded))
}

// structured adds the structured content, after checking it against the output schema.
func (o *output) structured(r *mcp.CallToolResult, value json.RawMessage) (*mcp.CallToolResult, error) {
	if o.check != nil {
		if value == nil {
			return nil, o.bad(errors.New("there is no structured content"))
		}
		if err := o.check.Validate(value); err != nil {
			return nil, o.bad(err)
		}
	}
	if value != nil && r.StructuredContent == nil {
		r.StructuredContent = value
	}
	return r, nil
}

// noResult is the error for a nil result without an error.
func (o *output) noResult() error {
	return mcp.Errorf(mcp.CodeToolBadOutput, "tool %q returned no result", o.tool)
}

// bad returns the error for a result that the tool's own schema rejects. The client sees it;
// the mistake is the author's.
func (o *output) bad(err error) error {
	return mcp.Errorf(mcp.CodeToolBadOutput,
		"the answer of tool %q violates its output schema: %v", o.tool, err)
}
