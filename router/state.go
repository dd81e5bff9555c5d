package router

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// state is everything that a router offers between two changes. It is immutable, except
// for the cache in views.
type state struct {
	// r is the Router it belongs to.
	r *Router
	// entries are all items in the order of the lists; the maps find one by its name.
	entries   []*entry
	tools     map[string]*entry
	prompts   map[string]*entry
	resources map[string]*entry // by URI
	templates []*entry
	filtered  bool // some entry has a filter
	// all is the catalog without filters; views has what is left of it for clients that
	// may not use everything.
	all   *mcp.Catalog
	views views
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
	s.views.catalogs = make(map[string]*mcp.Catalog)
	s.views.max = cmp.Or(max(r.options.MaxViews, 0), 64)
	var faults []error
	named := make(map[Item]*entry)
	for i, e := range entries {
		s.filtered = s.filtered || len(e.filters) > 0
		key := Item{
			Kind: e.Kind,
			Name: e.Name,
		}
		if e.Kind == KindTemplate {
			key.Kind = KindResource // the two share a namespace
		}
		if other := named[key]; other != nil {
			faults = append(faults, e.fault("is already the name of a %s at %s",
				other.Kind, other.place))
			continue
		}
		named[key] = e
		if err := s.index(e, i < known); err != nil {
			faults = append(faults, err)
		}
	}
	for _, e := range entries {
		if e.app != "" && s.resources[e.app] == nil {
			faults = append(faults, e.fault("UI: the app %q is not registered", e.app))
		}
	}
	s.all = s.catalog(func(int) bool { return true })
	return s, faults
}

// entry is one item in a state of the router, where it is read-only.
type entry struct {
	Item
	place
	// filters decide for each request whether the client may see the feature; all must
	// agree.
	filters []func(context.Context, Item) bool
	list    func(*mcp.Catalog) // adds the definition
	app     string             // URI of the app that a tool is linked to
	isApp   bool

	// completers suggest values for names, the arguments of a prompt or variables of a
	// template.
	completers []Completer
	names      []string // of the arguments or variables

	// Depending on the kind.
	call   callFunc
	prompt func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error)
	read   readFunc
	parsed *uritemplate.Template
}

// visible reports whether all filters allow ctx to see the entry.
func (e *entry) visible(ctx context.Context) bool {
	for _, f := range e.filters {
		if !f(ctx, e.Item) {
			return false
		}
	}
	return true
}

// fault returns a mistake of the author, with the place of the feature.
func (e *entry) fault(format string, args ...any) error {
	return &mistake{e.place, fmt.Sprintf("%s %q: %s", e.Kind, e.Name,
		fmt.Sprintf(format, args...))}
}

// index adds an entry to the maps. known reports that the templates have already been
// compared, as when another feature is removed.
func (s *state) index(e *entry, known bool) error {
	switch e.Kind {
	case KindTool:
		s.tools[e.Name] = e
	case KindPrompt:
		s.prompts[e.Name] = e
	case KindResource:
		if other := s.resources[e.URI]; other != nil {
			return e.fault("the URI %q is already that of %q at %s", e.URI,
				other.Name, other.place)
		}
		s.resources[e.URI] = e
	case KindTemplate:
		for _, other := range s.templates {
			if known {
				break
			}
			if uri, both := uritemplate.Overlap(e.parsed, other.parsed); both {
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
	mask := make([]byte, len(s.entries)) // 1 for a visible entry
	for i, e := range s.entries {
		if e.visible(ctx) {
			mask[i] = 1
		}
	}
	if !bytes.Contains(mask, []byte{0}) {
		return s.all
	}
	return s.views.get(mask, func() *mcp.Catalog {
		return s.catalog(func(i int) bool { return mask[i] == 1 })
	})
}

// catalog builds the catalog of the entries for whose index shown returns true.
func (s *state) catalog(shown func(int) bool) *mcp.Catalog {
	o := &s.r.options
	c := &mcp.Catalog{
		Server:       s.r.server,
		Instructions: o.Instructions,
		PageSize:     o.PageSize,
		Cache:        o.Cache,
		Tasks:        o.Tasks,
		Logging:      !o.NoLogging,
		Stateless:    o.Stateless,
		Extensions:   o.Extensions,
	}
	c.Cache.Public = c.Cache.Public && !s.filtered
	hasApps := false
	for i, e := range s.entries {
		if shown(i) {
			e.list(c)
			c.Completions = c.Completions || len(e.completers) > 0
			hasApps = hasApps || e.isApp
		}
	}
	c.Subscribe = len(c.Resources)+len(c.Templates) > 0
	if hasApps {
		// Checked by Options.
		if extensions, err := apps.Extensions(c.Extensions); err == nil {
			c.Extensions = extensions
		}
	}
	return c
}

// views caches the catalogs of callers who see different items. Callers who see the same
// items share a catalog, so its lists are encoded once.
type views struct {
	// mu guards the fields below. max is how many catalogs are kept.
	mu       sync.Mutex
	max      int
	catalogs map[string]*mcp.Catalog // by mask
	masks    []string                // oldest first
}

// get returns the catalog for a mask of visible items.
func (v *views) get(mask []byte, build func() *mcp.Catalog) *mcp.Catalog {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.catalogs[string(mask)]; ok {
		return c
	}
	if len(v.masks) >= v.max {
		delete(v.catalogs, v.masks[0])
		v.masks = v.masks[1:]
	}
	c := build()
	v.catalogs[string(mask)] = c
	v.masks = append(v.masks, string(mask))
	return c
}

// changeOf returns the notification for added or removed entries.
func changeOf(entries []*entry) (c mcp.Change) {
	for _, e := range entries {
		c.Tools = c.Tools || e.Kind == KindTool
		c.Prompts = c.Prompts || e.Kind == KindPrompt
		c.Resources = c.Resources || e.Kind == KindResource || e.Kind == KindTemplate
	}
	return c
}
