package router

import (
	"context"
	"fmt"
	"reflect"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// Prompt returns a prompt whose messages fn returns. In is a struct whose fields are the
// arguments, or [Void]. Arguments are strings on the wire; fields may also be numbers,
// booleans, times and durations. Out is [Messages], a slice of [mcp.PromptMessage],
// [*mcp.GetPromptResult], or string for one user message.
func Prompt[In, Out any](
	name, description string,
	fn func(ctx context.Context, in In) (Out, error),
	opts ...PromptOption,
) Feature {
	f := &promptFeature{name: name, opts: opts, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	f.place, f.kind, f.label, f.description = caller(), KindPrompt, name, description
	if fn == nil {
		f.fault("the function is nil")
	}
	f.bind = func(p *promptInput) promptFunc {
		return func(ctx context.Context, arguments map[string]string) (any, error) {
			in := new(In)
			if err := p.decode(ctx, arguments, reflect.ValueOf(in).Elem()); err != nil {
				return nil, err
			}
			return fn(ctx, *in)
		}
	}
	return f
}

// PromptOption is an option of [Prompt].
type PromptOption interface{ toPrompt(*promptFeature) }

type promptFunc func(ctx context.Context, arguments map[string]string) (any, error)

type promptFeature struct {
	settings
	name    string
	opts    []PromptOption
	in, out reflect.Type
	bind    func(*promptInput) promptFunc
	strict  bool
}

// prompt is a registered prompt.
type prompt struct {
	definition mcp.Prompt
	get        promptFunc
	completers []Completer
}

func (f *promptFeature) settled() *settings { return &f.settings }

func (f *promptFeature) register(b *builder) {
	own := *f
	own.faults = append([]error(nil), f.faults...)
	own.label = b.prefix + f.name
	own.compile(b)
}

func (f *promptFeature) compile(b *builder) {
	f.checkName(f.label)
	f.strict = b.strict()
	for _, o := range f.opts {
		if o == nil {
			f.fault("an option is nil")
			continue
		}
		o.toPrompt(f)
	}
	switch f.out {
	case reflect.TypeFor[Messages](), reflect.TypeFor[[]mcp.PromptMessage](), reflect.TypeFor[*mcp.GetPromptResult](),
		reflect.TypeFor[string]():
	default:
		f.fault("the output must be Messages, []mcp.PromptMessage, *mcp.GetPromptResult or string, not %v", f.out)
	}
	p, arguments := f.arguments()
	if p != nil {
		f.addEnums(p.node)
		f.checkCompleters("argument", p.names)
		if b.settingsOf().RequireCompletion {
			f.requireCompletion(p.names)
		}
	}
	e := &entry{Item: Item{Kind: KindPrompt, Name: f.label}}
	e.prompt = &prompt{completers: f.completers, definition: mcp.Prompt{
		Name: f.label, Title: f.title, Description: f.description,
		Arguments: arguments, Icons: f.icons, Meta: f.encodedMeta(),
	}}
	if len(f.faults) == 0 {
		e.prompt.get = f.bind(p)
	}
	b.add(&f.settings, e)
}

func (f *promptFeature) requireCompletion(names []string) {
	for _, name := range names {
		if findCompleter(f.completers, name) == nil {
			f.fault("the argument %q has no Complete, which RequireCompletion asks for", name)
		}
	}
}

func (f *promptFeature) arguments() (*promptInput, []mcp.PromptArgument) {
	c := newCompiler(false)
	n := c.node(f.in)
	at := pointee(n)
	switch {
	case len(c.faults) > 0:
		for _, fault := range c.faults {
			f.fault("%s", fault)
		}
		return nil, nil
	case at.kind != kindStruct:
		f.fault("the input must be a struct, not %v", f.in)
		return nil, nil
	}
	for _, fault := range checkTexts(at.object) {
		f.fault("%s", fault)
	}
	p := &promptInput{input{feature: f.label, node: n, strict: f.strict}}
	arguments := make([]mcp.PromptArgument, 0, len(at.object.fields))
	for i := range at.object.fields {
		field := &at.object.fields[i]
		p.names = append(p.names, field.name)
		arguments = append(arguments, mcp.PromptArgument{
			Name: field.name, Title: field.docs.title, Description: field.docs.text, Required: field.required,
		})
	}
	var err error
	if p.check, err = schema.Compile(c.schema(n, f.strict)); err != nil {
		f.fault("the arguments: %v", err)
	}
	return p, arguments
}

// promptInput decodes the arguments of one prompt.
type promptInput struct{ input }

func (p *promptInput) decode(ctx context.Context, arguments map[string]string, v reflect.Value) error {
	err := p.input.decode(ctx, fromTexts(pointee(p.node).object, arguments), v)
	if e, ok := err.(*mcp.Error); ok {
		return mcp.Errorf(e.Code, "%s", e.Message)
	}
	return err
}

// getPrompt runs a prompt and checks its result.
func (p *prompt) getPrompt(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
	out, err := p.get(ctx, arguments)
	if err != nil {
		return nil, err
	}
	result := &mcp.GetPromptResult{Description: p.definition.Description}
	switch out := out.(type) {
	case string:
		result.Messages = User(out)
	case Messages:
		result.Messages = out
	case []mcp.PromptMessage:
		result.Messages = out
	case *mcp.GetPromptResult:
		if out == nil {
			return nil, fmt.Errorf("prompt %q returned no result", p.definition.Name)
		}
		result = out
	}
	for i, m := range result.Messages {
		switch m.Role {
		case mcp.RoleUser, mcp.RoleAssistant, mcp.RoleSystem:
		default:
			return nil, fmt.Errorf("prompt %q: messages[%d] has the role %q, want user, assistant or system",
				p.definition.Name, i, m.Role)
		}
	}
	return result, nil
}

func (t Title) toPrompt(f *promptFeature) { f.title = string(t) }
func (i Icon) toPrompt(f *promptFeature) {
	f.icons = append(f.icons[:len(f.icons):len(f.icons)], mcp.Icon(i))
}
func (m Meta) toPrompt(f *promptFeature)    { f.meta = append(f.meta[:len(f.meta):len(f.meta)], m) }
func (u Unknown) toPrompt(f *promptFeature) { f.strict = u != Lenient }
func (c Completer) toPrompt(f *promptFeature) {
	f.completers = append(f.completers[:len(f.completers):len(f.completers)], c)
}
