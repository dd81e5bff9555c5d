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

// checkCompleters verifies that each completer has a function and completes one of names,
// and that none is repeated.
func (s *settings) checkCompleters(noun string, names []string) {
	for i, c := range s.completers {
		switch {
		case c.suggest == nil:
			s.fault("Complete(%q): the function is nil", c.argument)
		case !slices.Contains(names, c.argument):
			s.fault("Complete(%q): no such %s (has %s)", c.argument, noun, listNames(names))
		case slices.ContainsFunc(s.completers[:i], func(o Completer) bool { return o.argument == c.argument }):
			s.fault("Complete(%q) is given twice", c.argument)
		}
	}
}

func listNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// addEnums adds completers for fields with an enum.
func (s *settings) addEnums(n *node) {
	n = pointee(n)
	if n.kind != kindStruct {
		return
	}
	for i := range n.object.fields {
		f := &n.object.fields[i]
		field := pointee(f.node)
		if field.rules == nil || field.rules.enum == nil || findCompleter(s.completers, f.name) != nil {
			continue
		}
		var values []string
		for _, raw := range field.rules.enum {
			values = append(values, plainText(raw))
		}
		s.completers = append(s.completers, Complete(f.name, func(_ context.Context, typed string) ([]string, error) {
			return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, typed) }), nil
		}))
	}
}

func findCompleter(all []Completer, argument string) *Completer {
	for i := range all {
		if all[i].argument == argument {
			return &all[i]
		}
	}
	return nil
}

// complete calls a completer and cuts its result to maxValues.
func complete(ctx context.Context, all []Completer, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
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
	all100 := min(len(result.Values), maxValues)
	more := len(result.Values) > maxValues
	if result.Total == nil {
		total := len(result.Values)
		result.Total = &total
	}
	if result.HasMore == nil || more {
		more = more || *result.Total > all100
		result.HasMore = &more
	}
	result.Values = result.Values[:all100]
	return &mcp.CompleteResult{Completion: result}, nil
}
