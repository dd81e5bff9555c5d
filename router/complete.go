package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// maxValues is the largest number of values in one completion.
const maxValues = 100

// CompleteFunc suggests values that begin with the text typed so far.
type CompleteFunc func(ctx context.Context, typed string) ([]string, error)

// Completer is an option of [Prompt] and [Template], returned by [Complete] and
// [CompleteFrom].
type Completer struct {
	// argument is the argument or variable that suggest has suggestions for.
	argument string
	suggest  func(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error)
}

// Complete returns the option that lets fn suggest values for an argument of a prompt or
// a variable of a template. At most 100 values are sent; total and hasMore count the
// rest. An argument with an enum needs no function.
func Complete(argument string, fn CompleteFunc) Completer {
	c := Completer{argument: argument}
	if fn != nil {
		c.suggest = func(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
			values, err := fn(ctx, p.Value)
			return &mcp.Completion{Values: values}, err
		}
	}
	return c
}

// CompleteFrom is [Complete] for a function that needs the values chosen for other
// arguments, or has more values than it returns.
func CompleteFrom(
	argument string,
	fn func(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error),
) Completer {
	return Completer{argument, fn}
}

// compileCompletion adds completers for fields of in with an enum, and verifies that each
// completer has a function and completes one of names, and that none is repeated. noun is
// what names are called in messages; in may be nil.
func (f *feature) compileCompletion(e *entry, in *input, noun string, names []string) {
	if in != nil {
		f.completers = append(f.completers, in.enumCompleters(f.completers)...)
	}
	for i, c := range f.completers {
		switch {
		case c.suggest == nil:
			f.fault("Complete(%q): the function is nil", c.argument)
		case !slices.Contains(names, c.argument):
			f.fault("Complete(%q): no such %s (has %s)", c.argument, noun, listNames(names))
		case findCompleter(f.completers[:i], c.argument) != nil:
			f.fault("duplicate Complete(%q)", c.argument)
		}
	}
	e.completers = f.completers
	e.names = names
}

// listNames returns names for a message.
func listNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// enumCompleters returns completers for the fields with an enum that given does not complete.
func (in *input) enumCompleters(given []Completer) (added []Completer) {
	top := pointee(in.node)
	if top.kind != kindStruct {
		return nil
	}
	for i := range top.object.fields {
		f := &top.object.fields[i]
		enum := pointee(f.node).enum
		if len(enum) == 0 || findCompleter(given, f.name) != nil {
			continue
		}
		added = append(added, Complete(f.name, func(_ context.Context, typed string) ([]string, error) {
			values := []string{}
			for _, raw := range enum {
				if value := plainText(raw); strings.HasPrefix(value, typed) {
					values = append(values, value)
				}
			}
			return values, nil
		}))
	}
	return added
}

// findCompleter returns the completer of an argument, or nil. A prompt has few arguments, so a
// search is faster than a map.
func findCompleter(all []Completer, argument string) *Completer {
	for i := range all {
		if all[i].argument == argument {
			return &all[i]
		}
	}
	return nil
}

// complete calls a completer and cuts its result to maxValues.
func complete(
	ctx context.Context,
	all []Completer,
	p *mcp.CompleteParams,
) (*mcp.CompleteResult, error) {
	c := findCompleter(all, p.Argument)
	if c == nil {
		return &mcp.CompleteResult{}, nil
	}
	found, err := c.suggest(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("complete %q: %w", p.Argument, err)
	}
	if found == nil {
		return &mcp.CompleteResult{}, nil
	}
	result := *found
	count := len(result.Values)
	result.Values = result.Values[:min(count, maxValues)]
	if result.Total == nil {
		result.Total = &count
	}
	if result.HasMore == nil || count > maxValues {
		more := count > maxValues || *result.Total > count
		result.HasMore = &more
	}
	return &mcp.CompleteResult{Completion: result}, nil
}
