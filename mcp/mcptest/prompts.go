package mcptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// checkUnknownPrompt: a prompt that is not listed is an error with CodeInvalidParams.
func checkUnknownPrompt(s *suite) {
	cat := s.catalog()
	names := unknownNames()
	for _, p := range sample(cat.Prompts, 3) {
		names = append(names, strings.ToUpper(p.Name), p.Name+" ")
	}
	for _, name := range names {
		if cat.Prompt(name) != nil {
			continue
		}
		if out := s.getPrompt(context.Background(), name, nil); out.ok {
			s.wantCode("GetPrompt of the unknown prompt "+short(name), out.err, mcp.CodeInvalidParams)
		}
	}
}

// checkPromptArguments: GetPrompt returns, whatever the arguments are.
func checkPromptArguments(s *suite) {
	for _, p := range sample(s.catalog().Prompts, s.opts.MaxEntries) {
		filled := make(map[string]string)
		for _, a := range p.Arguments {
			filled[a.Name] = "../../etc/passwd \x00 {{.}} %s \u2028"
		}
		for _, args := range []map[string]string{nil, {}, {"mcptest-unknown": "x"}, filled} {
			s.getPrompt(context.Background(), p.Name, args)
		}
	}
}

// checkPrompts: the examples have the expected answers.
func checkPrompts(s *suite) {
	for _, p := range s.opts.Prompts {
		out := s.getPrompt(context.Background(), p.Name, p.Args)
		if out.ok {
			s.checkExample(fmt.Sprintf("GetPrompt(%s, %v)", short(p.Name), p.Args), out.err != nil, p.WantError,
				text(s, out), p.Want)
		}
	}
}

// checkCompletions: a source that announces completions answers for each of its arguments
// and variables; one that does not returns no suggestions.
func checkCompletions(s *suite) {
	cat := s.catalog()
	for _, p := range s.completable(cat) {
		out := s.complete(context.Background(), p)
		switch {
		case !out.ok:
		case cat.Completions && out.err != nil:
			s.Errorf("Complete(%+v) = %v, want a result, possibly without values", p, out.err)
		case !cat.Completions && len(s.completion(out).Values) > 0:
			s.Errorf("Complete(%+v) suggests values, but the catalog says that there are none", p)
		}
	}
	for _, p := range []mcp.CompleteParams{
		{
			Prompt:   "mcptest-unknown",
			Argument: "a",
		}, {
			URITemplate: "mcptest://{unknown}",
			Argument:    "unknown",
		}, {},
	} {
		out := s.complete(context.Background(), p)
		var e *mcp.Error
		switch {
		case !out.ok:
		case out.err != nil && (!errors.As(out.err, &e) || e.Code != mcp.CodeInvalidParams):
			s.Errorf("Complete(%+v) = %v, want code %d or no values", p, out.err, mcp.CodeInvalidParams)
		case len(s.completion(out).Values) > 0:
			s.Errorf("Complete(%+v) suggests values for what does not exist", p)
		}
	}
	for _, c := range s.opts.Completions {
		out := s.complete(context.Background(), c.Params)
		for _, want := range c.Want {
			if out.ok && !slices.Contains(s.completion(out).Values, want) {
				s.Errorf("Complete(%+v) = %s, want %q in it", c.Params, text(s, out), want)
			}
		}
	}
}

// completable returns everything that can be completed, with and without some input.
func (s *suite) completable(cat *mcp.Catalog) []mcp.CompleteParams {
	var all []mcp.CompleteParams
	add := func(p mcp.CompleteParams) {
		all = append(all, p)
		p.Value = "\x00%"
		if p.Prompt != "" {
			p.Arguments = map[string]string{"mcptest": "x"}
		}
		all = append(all, p)
	}
	for _, p := range sample(cat.Prompts, s.opts.MaxEntries) {
		for _, a := range p.Arguments {
			add(mcp.CompleteParams{
				Prompt:   p.Name,
				Argument: a.Name,
			})
		}
	}
	for _, t := range sample(cat.Templates, s.opts.MaxEntries) {
		names, _ := variables(t.URITemplate)
		for _, name := range names {
			add(mcp.CompleteParams{
				URITemplate: t.URITemplate,
				Argument:    name,
			})
		}
	}
	return all
}
