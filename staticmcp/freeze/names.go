package freeze

import (
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// UnknownToolError means that an option names a tool that the source does not have.
type UnknownToolError struct {
	// Name is the name in the option.
	Name string
	// Near is the most similar name, or empty.
	Near string
}

// Error implements the error interface. The hint with Near is the caller's.
func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("the source has no tool %q", e.Name)
}

// checkNames checks that all tools named in the options exist. An unknown name is an
// error, because a typo would include or exclude the wrong tools.
func (p *Plan) checkNames() error {
	named := slices.Concat(p.opts.Tools, p.opts.Only, p.opts.Skip, p.opts.Refresh)
	for i := range p.opts.Expand {
		named = append(named, p.opts.Expand[i].Tool, p.opts.Expand[i].From)
	}
	for _, name := range named {
		if p.catalog.Tool(name) == nil {
			return &UnknownToolError{
				Name: name,
				Near: p.nearTool(name),
			}
		}
	}
	warned := make(map[string]bool)
	for _, q := range p.opts.Calls {
		if q.Tool == "" || warned[q.Tool] || p.catalog.Tool(q.Tool) != nil {
			continue
		}
		warned[q.Tool] = true
		hint := ""
		if near := p.nearTool(q.Tool); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		p.reporter().Add(ruleUnknownTool, "", hint,
			"calls of %s are skipped: no such tool", q.Tool)
	}
	return nil
}

// nearTool returns the tool whose name is most similar, or "" if none is.
func (p *Plan) nearTool(name string) string {
	names := make([]string, len(p.catalog.Tools))
	for i := range p.catalog.Tools {
		names[i] = p.catalog.Tools[i].Name
	}
	return nearest.DidYouMean(name, names)
}
