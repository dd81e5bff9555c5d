package router

import (
	"context"
	"fmt"
	"reflect"

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
	f := newFeature(caller(), KindPrompt, name, opts)
	f.description = description
	f.faultIf(fn == nil, "the function is nil")
	f.compile = func(f *feature, b *builder) {
		in := f.textInput(reflect.TypeFor[In](), "input must be a struct", isStruct)
		f.compilePrompt(b, in, reflect.TypeFor[Out](), func(ctx context.Context, arguments map[string]string) (any, error) {
			value := new(In)
			err := in.decode(ctx, in.objectOf(arguments), reflect.ValueOf(value).Elem())
			if err != nil {
				return nil, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
			}
			return fn(ctx, *value)
		})
	}
	return f
}

// promptFunc is the function of a prompt, after conversion to untyped parameters.
type promptFunc func(ctx context.Context, arguments map[string]string) (any, error)

// compilePrompt registers a prompt. in is nil if its function has no arguments.
func (f *feature) compilePrompt(b *builder, in *input, out reflect.Type, run promptFunc) {
	f.checkName()
	switch out {
	case reflect.TypeFor[Messages](), reflect.TypeFor[[]mcp.PromptMessage](), reflect.TypeFor[*mcp.GetPromptResult](),
		reflect.TypeFor[string]():
	default:
		f.fault("the output must be Messages, []mcp.PromptMessage, *mcp.GetPromptResult or string, not %v", out)
	}
	prompt := mcp.Prompt{
		Name:        f.name,
		Title:       f.title,
		Description: f.description,
		Icons:       f.icons,
		Meta:        f.encodedMeta(),
	}
	e := &entry{Item: Item{
		Kind: KindPrompt,
		Name: f.name,
	}}
	if in != nil {
		prompt.Arguments = in.promptArguments()
		f.compileCompletion(e, in, "argument", in.names)
		if b.routerOptions().RequireCompletion {
			f.requireCompletion(in.names)
		}
	}
	e.list = func(c *mcp.Catalog) { c.Prompts = append(c.Prompts, prompt) }
	e.prompt = func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
		result, err := run(ctx, arguments)
		if err != nil {
			return nil, err
		}
		return promptResult(&prompt, result)
	}
	b.add(f, e)
}

// requireCompletion adds a fault for each argument without completion.
func (f *feature) requireCompletion(names []string) {
	for _, name := range names {
		if findCompleter(f.completers, name) == nil {
			f.fault("the argument %q has no Complete, which RequireCompletion asks for", name)
		}
	}
}

// promptArguments describes the fields of a struct as arguments of a prompt.
func (in *input) promptArguments() []mcp.PromptArgument {
	fields := pointee(in.node).object.fields
	arguments := make([]mcp.PromptArgument, len(fields))
	for i, field := range fields {
		arguments[i] = mcp.PromptArgument{
			Name:        field.name,
			Title:       field.docs.title,
			Description: field.docs.text,
			Required:    field.required,
		}
	}
	return arguments
}

// promptResult turns the return value of a prompt's function into the result.
func promptResult(prompt *mcp.Prompt, value any) (*mcp.GetPromptResult, error) {
	result := &mcp.GetPromptResult{Description: prompt.Description}
	switch value := value.(type) {
	case string:
		result.Messages = User(value)
	case Messages:
		result.Messages = value
	case []mcp.PromptMessage:
		result.Messages = value
	case *mcp.GetPromptResult:
		if value == nil {
			return nil, fmt.Errorf("prompt %q returned no result", prompt.Name)
		}
		result = value
	}
	for i, m := range result.Messages {
		switch m.Role {
		case mcp.RoleUser, mcp.RoleAssistant, mcp.RoleSystem:
		default:
			return nil, fmt.Errorf("prompt %q: messages[%d] has the role %q, want user, assistant or system",
				prompt.Name, i, m.Role)
		}
	}
	return result, nil
}
