package router

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/slipway-mcp/slipway/apps"
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
	f := newTool(caller(), name, description, opts)
	f.in, f.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	if fn == nil {
		f.fault("the function is nil")
	}
	f.bind = func(in *input, out *output) toolFunc {
		return func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			value := new(In)
			if err := in.decode(ctx, arguments, reflect.ValueOf(value).Elem()); err != nil {
				return nil, err
			}
			result, err := fn(ctx, *value)
			if err != nil {
				return nil, err
			}
			return out.result(reflect.ValueOf(&result).Elem())
		}
	}
	return f
}

// ToolOption is an option of [Tool].
type ToolOption interface{ toTool(*toolFeature) }

// AnnotationsTitle is a display name that only the annotations of a tool carry, where
// clients from before 2025-06-18 look for it: an option of [Tool]. [Title] sets both.
type AnnotationsTitle string

// Hint helps clients decide how to use a tool: an option of [Tool]. Without hints, a tool
// is assumed to write, to be destructive and not idempotent, and to interact with an open
// world.
type Hint uint8

// The hints.
const (
	ReadOnly       Hint = iota + 1 // changes nothing; implies NonDestructive
	NonDestructive                 // only adds
	Idempotent                     // repeating a call with the same arguments has no further effect
	ClosedWorld                    // interacts only with a known set of entities
)

// Unknown selects how unknown arguments are handled, [Strict] or [Lenient]: an option of
// [Tool] and [Prompt]. A hand-written schema overrides it.
type Unknown uint8

const (
	// Strict rejects unknown arguments and suggests the nearest name, so that a misspelt
	// optional argument is not lost. The schema states this as well (additionalProperties is
	// false). This is the default.
	Strict Unknown = iota + 1
	// Lenient ignores unknown arguments and logs them to the client.
	Lenient
)

// InputSchema is a hand-written JSON Schema (2020-12): an option of [Tool], usually with
// a map or [json.RawMessage] as In. It replaces the schema generated from In, and
// arguments are checked against nothing else. Defaults of top-level properties are filled
// in.
type InputSchema string

// Schema returns the option [InputSchema].
func Schema(text string) InputSchema { return InputSchema(text) }

// OutputSchema is a JSON Schema for the structured content, which replaces the
// one generated from Out: an option of [Tool].
type OutputSchema string

// TaskSupport declares whether a tool runs as a task in 2025-11-25: "forbidden",
// "optional" or "required". It is an option of [Tool].
type TaskSupport string

type toolFunc func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

type toolFeature struct {
	settings
	name         string
	opts         []ToolOption
	in, out      reflect.Type
	bind         func(*input, *output) toolFunc
	hints        mcp.ToolAnnotations
	strict       bool
	inputSchema  *InputSchema
	outputSchema *OutputSchema
	taskSupport  TaskSupport
	ui           *uiLink
	uiMeta       *apps.ToolUI
}

// tool is a registered tool.
type tool struct {
	definition mcp.Tool
	call       toolFunc
}

func newTool(at place, name, description string, opts []ToolOption) *toolFeature {
	f := &toolFeature{name: name, opts: opts}
	f.place, f.kind, f.label, f.description = at, KindTool, name, description
	return f
}

func (f *toolFeature) settled() *settings { return &f.settings }

func (f *toolFeature) register(b *builder) {
	own := *f // options must not accumulate when a feature is added twice
	own.faults = append([]error(nil), f.faults...)
	own.label = b.prefix + f.name
	own.compile(b)
}

func (f *toolFeature) compile(b *builder) {
	f.checkName(f.label)
	f.strict = b.strict()
	for _, o := range f.opts {
		if o == nil {
			f.fault("an option is nil")
			continue
		}
		o.toTool(f)
	}
	in, inSchema := f.input()
	out, outSchema := f.output()
	annotations := f.hints
	if annotations.Title == "" {
		annotations.Title = f.title
	}
	e := &entry{Item: Item{Kind: KindTool, Name: f.label}}
	f.linkUI(e, b)
	e.tool = &tool{definition: mcp.Tool{
		Name: f.label, Title: f.title, Description: f.description,
		InputSchema: inSchema, OutputSchema: outSchema,
		Annotations: &annotations, Icons: f.icons, Meta: f.encodedMeta(),
		Execution: f.execution(),
	}}
	if f.uiMeta != nil {
		if err := f.uiMeta.Describe(&e.tool.definition); err != nil {
			f.fault("UI: %v", err)
		}
	}
	if len(f.faults) == 0 {
		e.tool.call = f.bind(in, out)
	}
	b.add(&f.settings, e)
}

func (f *toolFeature) execution() json.RawMessage {
	switch f.taskSupport {
	case "":
		return nil
	case "forbidden", "optional", "required":
		return json.RawMessage(`{"taskSupport":"` + string(f.taskSupport) + `"}`)
	}
	f.fault(`TaskSupport must be "forbidden", "optional" or "required", not %q`, string(f.taskSupport))
	return nil
}

func (f *toolFeature) input() (*input, json.RawMessage) {
	in, text, faults := newInput(f.label, f.in, f.strict, f.inputSchema)
	for _, fault := range faults {
		f.fault("%s", fault)
	}
	return in, text
}

func (f *toolFeature) output() (*output, json.RawMessage) {
	out, text, faults := newOutput(f.label, f.out, f.outputSchema)
	for _, fault := range faults {
		f.fault("%s", fault)
	}
	return out, text
}

func (t Title) toTool(f *toolFeature)            { f.title = string(t) }
func (t AnnotationsTitle) toTool(f *toolFeature) { f.hints.Title = string(t) }
func (i Icon) toTool(f *toolFeature) {
	f.icons = append(f.icons[:len(f.icons):len(f.icons)], mcp.Icon(i))
}
func (m Meta) toTool(f *toolFeature)        { f.meta = append(f.meta[:len(f.meta):len(f.meta)], m) }
func (u Unknown) toTool(f *toolFeature)     { f.strict = u != Lenient }
func (s InputSchema) toTool(f *toolFeature) { f.inputSchema = &s }
func (s OutputSchema) toTool(f *toolFeature) {
	f.outputSchema = &s
}
func (t TaskSupport) toTool(f *toolFeature) { f.taskSupport = t }

func (h Hint) toTool(f *toolFeature) {
	no := false
	switch h {
	case ReadOnly:
		f.hints.ReadOnlyHint, f.hints.DestructiveHint = true, &no
	case NonDestructive:
		f.hints.DestructiveHint = &no
	case Idempotent:
		f.hints.IdempotentHint = true
	case ClosedWorld:
		f.hints.OpenWorldHint = &no
	default:
		f.fault("unknown hint %d", h)
	}
}
