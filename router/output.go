package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// output turns the return values of one tool into results.
type output struct {
	tool  string
	make  func(o *output, v reflect.Value) (*mcp.CallToolResult, error)
	node  *node
	check *schema.Schema // nil if there is no output schema
}

// Texter is an output with its own text for models; programs still read the structured
// content.
type Texter interface{ Text() string }

var (
	typeVoid       = reflect.TypeFor[Void]()
	typeContent    = reflect.TypeFor[mcp.Content]()
	typeContents   = reflect.TypeFor[[]mcp.Content]()
	typeToolResult = reflect.TypeFor[*mcp.CallToolResult]()
	typeResult     = reflect.TypeFor[mcp.CallToolResult]()
	typeEmpty      = reflect.TypeFor[struct{}]()
)

// newOutput compiles the output type of a tool and returns its schema, or nil.
func newOutput(tool string, t reflect.Type, hand *OutputSchema) (*output, json.RawMessage, []string) {
	o := &output{tool: tool}
	var text json.RawMessage
	switch {
	case t == typeVoid, t == typeEmpty:
		o.make = func(*output, reflect.Value) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }
	case t == typeContent:
		o.make = fromContent
	case t == typeContents:
		o.make = fromContents
	case t == typeToolResult:
		o.make = fromResult
	case t == typeResult:
		o.make = func(o *output, v reflect.Value) (*mcp.CallToolResult, error) { return fromResult(o, v.Addr()) }
	case t.Kind() == reflect.String && !implements(t, typeMarshaler) && !implements(t, typeTextMarshaler):
		o.make = fromText
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		o.make = fromAny
	default:
		o.make = fromValue
		c := newCompiler(true)
		o.node = c.node(t)
		if len(c.faults) > 0 {
			return nil, nil, prefixed("the output: ", c.faults)
		}
		text = c.schema(pointee(o.node), false)
	}
	if hand != nil {
		text = json.RawMessage(*hand)
	}
	if text == nil {
		return o, nil, nil
	}
	raw, s, err := compileByHand(string(text))
	if err != nil {
		return nil, nil, []string{fmt.Sprintf("the output schema: %v", err)}
	}
	o.check = s
	return o, raw, nil
}

func prefixed(prefix string, texts []string) []string {
	for i := range texts {
		texts[i] = prefix + texts[i]
	}
	return texts
}

func pointee(n *node) *node {
	for n.kind == kindPointer {
		n = n.elem
	}
	return n
}

// result turns the return value of a tool's function into the result.
func (o *output) result(v reflect.Value) (*mcp.CallToolResult, error) { return o.make(o, v) }

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}
}

func fromText(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	if o.check == nil {
		return textResult(v.String()), nil
	}
	return o.structured(textResult(v.String()), quoteJSON(v.String()))
}

func fromContent(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	return o.structured(&mcp.CallToolResult{Content: []mcp.Content{v.Interface().(mcp.Content)}}, nil)
}

func fromContents(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	return o.structured(&mcp.CallToolResult{Content: v.Interface().([]mcp.Content)}, nil)
}

func fromResult(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	r := v.Interface().(*mcp.CallToolResult)
	if r == nil {
		return nil, o.noResult()
	}
	if r.IsError || r.Raw != nil {
		return r, nil
	}
	return o.structured(r, r.StructuredContent)
}

func fromAny(o *output, v reflect.Value) (*mcp.CallToolResult, error) {
	switch value := v.Interface().(type) {
	case nil:
		return o.structured(&mcp.CallToolResult{}, nil)
	case string:
		return fromText(o, reflect.ValueOf(value))
	case mcp.Content, []mcp.Content:
		if list, ok := value.([]mcp.Content); ok {
			return o.structured(&mcp.CallToolResult{Content: list}, nil)
		}
		return o.structured(&mcp.CallToolResult{Content: []mcp.Content{value.(mcp.Content)}}, nil)
	case *mcp.CallToolResult:
		return fromResult(o, reflect.ValueOf(value))
	}
	encoded, err := mcp.Marshal(v.Interface())
	if err != nil {
		return nil, o.bad(errors.New(plainJSON(err)))
	}
	return o.structured(o.texted(v.Elem(), encoded), encoded)
}

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

func (o *output) bad(err error) error {
	return mcp.Errorf(mcp.CodeToolBadOutput, "the answer of tool %q violates its output schema: %v", o.tool, err)
}
