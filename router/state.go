package router

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// state is everything that a router offers between two changes. It is immutable, except
// for the cache in views.
type state struct {
	r         *Router
	entries   []*entry
	tools     map[string]*entry
	prompts   map[string]*entry
	resources map[string]*entry // by URI
	templates []*entry
	filtered  bool // some entry has a filter
	all       *mcp.Catalog
	views     views
}

// newState indexes entries and reports conflicts between them. The first known entries
// are already known not to conflict with each other.
func (r *Router) newState(entries []*entry, known int) (*state, []error) {
	s := &state{
		r:         r,
		entries:   entries,
		tools:     make(map[string]*entry),
		prompts:   make(map[string]*entry),
		resources: make(map[string]*entry),
	}
	s.views.max = r.options.MaxViews
	if s.views.max <= 0 {
		s.views.max = 64
	}
	var faults []error
	named := make(map[Item]*entry)
	for i, e := range entries {
		s.filtered = s.filtered || len(e.filters) > 0
		key := Item{Kind: e.Kind, Name: e.Name}
		if e.Kind == KindTemplate {
			key.Kind = KindResource // the two share a namespace
		}
		if other := named[key]; other != nil {
			faults = append(faults, e.fault("is already the name of a %s at %s", other.Kind, other.place))
			continue
		}
		named[key] = e
		if err := s.index(e, i < known); err != nil {
			faults = append(faults, err)
		}
	}
	for _, e := range entries {
		for _, d := range e.deps {
			if s.resources[d.uri] == nil {
				faults = append(faults, e.fault("%s", d.reason))
			}
		}
	}
	s.all = s.catalog(func(*entry) bool { return true })
	return s, faults
}

func (e *entry) fault(format string, args ...any) error {
	return &mistake{e.place, fmt.Sprintf("%s %q: %s", e.Kind, e.Name, fmt.Sprintf(format, args...))}
}

func (s *state) index(e *entry, known bool) error {
	switch e.Kind {
	case KindTool:
		s.tools[e.Name] = e
	case KindPrompt:
		s.prompts[e.Name] = e
	case KindResource:
		if other := s.resources[e.URI]; other != nil {
			return e.fault("the URI %q is already that of %q at %s", e.URI, other.Name, other.place)
		}
		s.resources[e.URI] = e
	case KindTemplate:
		for _, other := range s.templates {
			if known {
				break
			}
			if uri, both := uritemplate.Overlap(e.template.parsed, other.template.parsed); both {
				return e.fault("the template %q is ambiguous: it and %q at %s both describe %q", e.URI, other.URI, other.place, uri)
			}
		}
		s.templates = append(s.templates, e)
	}
	return nil
}

// catalogFor returns the items visible to ctx.
func (s *state) catalogFor(ctx context.Context) *mcp.Catalog {
	if !s.filtered {
		return s.all
	}
	mask := make([]byte, (len(s.entries)+7)/8)
	hidden := false
	for i, e := range s.entries {
		if e.visible(ctx) {
			mask[i/8] |= 1 << (i % 8)
		} else {
			hidden = true
		}
	}
	if !hidden {
		return s.all
	}
	return s.views.get(mask, func() *mcp.Catalog {
		i := -1
		return s.catalog(func(*entry) bool {
			i++
			return mask[i/8]>>(i%8)&1 == 1
		})
	})
}

// catalog builds the catalog of the entries for which shown returns true. shown is called
// once per entry, in order.
func (s *state) catalog(shown func(*entry) bool) *mcp.Catalog {
	o := &s.r.options
	c := &mcp.Catalog{
		Server: s.r.server, Instructions: o.Instructions, PageSize: o.PageSize, Cache: o.Cache,
		Tasks: o.Tasks, Logging: !o.NoLogging, Extensions: o.Extensions,
	}
	if s.filtered {
		c.Cache.Public = false
	}
	ui := false
	for _, e := range s.entries {
		if !shown(e) {
			continue
		}
		switch e.Kind {
		case KindTool:
			c.Tools = append(c.Tools, e.tool.definition)
		case KindResource:
			c.Resources = append(c.Resources, e.resource.definition)
			ui = ui || e.resource.app
		case KindTemplate:
			c.Templates = append(c.Templates, e.template.definition)
			c.Completions = c.Completions || len(e.template.completers) > 0
		case KindPrompt:
			c.Prompts = append(c.Prompts, e.prompt.definition)
			c.Completions = c.Completions || len(e.prompt.completers) > 0
		}
	}
	c.Subscribe = len(c.Resources)+len(c.Templates) > 0
	if ui {
		if extensions, err := apps.Extensions(c.Extensions); err == nil { // checked by Options
			c.Extensions = extensions
		}
	}
	return c
}

// changeOf returns the notification for added or removed entries.
func changeOf(entries []*entry) mcp.Change {
	has := func(kinds ...Kind) bool {
		return slices.ContainsFunc(entries, func(e *entry) bool { return slices.Contains(kinds, e.Kind) })
	}
	return mcp.Change{Tools: has(KindTool), Prompts: has(KindPrompt), Resources: has(KindResource, KindTemplate)}
}
