package router

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/slipway-mcp/slipway/mcp"
)

// Tool returns a tool that runs fn. In is a struct whose fields are the arguments (for
// its tags see the package documentation), a map with string keys, or [Void] for none.
// Out is the result:
//
//   - string: a block of text
//   - [Void]: nothing
//   - a struct, map, slice or any other JSON value: structured content with an output
//     schema. Models read the result of its method Text() string, if it has one, or the
//     JSON
//   - [mcp.Content] or a slice of it: these blocks
//   - [*mcp.CallToolResult]: the complete result
//   - any: one of these, determined when the tool has run
//
// An error of fn becomes a result with isError and the error's text, so that a model can
// react; an [*mcp.Error] becomes a JSON-RPC error.
func Tool[In, Out any](
	name, description string,
	fn func(ctx context.Context, in In) (Out, error),
	opts ...ToolOption,
) Feature {
	f := newFeature(caller(), KindTool, name, opts)
	f.description = description
	f.faultIf(fn == nil, "the function is nil")
	f.compile = func(f *feature, b *builder) {
		in, inSchema := f.toolInput(reflect.TypeFor[In]())
		out, outSchema := f.toolOutput(reflect.TypeFor[Out]())
		f.compileTool(b, inSchema, outSchema, func(
			ctx context.Context, arguments json.RawMessage,
		) (*mcp.CallToolResult, error) {
			value := new(In)
			if err := in.decode(ctx, arguments, reflect.ValueOf(value).Elem()); err != nil {
				return nil, mcp.InvalidArguments(err.Error())
			}
			result, err := fn(ctx, *value)
			if err != nil {
				return nil, err
			}
			return out.result(reflect.ValueOf(&result).Elem())
		})
	}
	return f
}

// callFunc is the function of a tool, after conversion to untyped arguments.
type callFunc func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

// compileTool registers a tool with its schemas.
func (f *feature) compileTool(b *builder, inSchema, outSchema json.RawMessage, call callFunc) {
	f.checkName()
	annotations := f.hints
	if annotations.Title == "" {
		annotations.Title = f.title
	}
	tool := mcp.Tool{
		Name:         f.name,
		Title:        f.title,
		Description:  f.description,
		InputSchema:  inSchema,
		OutputSchema: outSchema,
		Annotations:  &annotations,
		Icons:        f.icons,
		Meta:         f.encodedMeta(),
		Execution:    f.execution(),
	}
	e := &entry{
		Item: Item{
			Kind: KindTool,
			Name: f.name,
		},
		call: call,
	}
	f.linkUI(e, &tool, b)
	e.list = func(c *mcp.Catalog) { c.Tools = append(c.Tools, tool) }
	b.add(f, e)
}

// execution returns the member that 2025-11-25 clients read before they start a task.
func (f *feature) execution() json.RawMessage {
	switch f.taskSupport {
	case "":
		return nil
	case "forbidden", "optional", "required":
		return fmt.Appendf(nil, `{"taskSupport":%q}`, f.taskSupport)
	}
	f.fault(`TaskSupport must be "forbidden", "optional" or "required", not %q`, string(f.taskSupport))
	return nil
}
