package router

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Router is a [mcp.Source] built from typed Go functions. All methods, including those
// that change it, are safe for concurrent use.
type Router struct {
	// server and options are set by [New] and never change.
	server  mcp.Implementation
	options Options
	// top runs the calls: the router itself, or what Middleware returned for it.
	top mcp.Source
	// current is what the router offers now. Calls read it without a lock and finish on the state
	// they began with.
	current atomic.Pointer[state]

	// changing is held while replacing current.
	changing sync.Mutex
	watchers mcp.Watchers
}

var (
	_ mcp.Source  = (*Router)(nil)
	_ mcp.Watcher = (*Router)(nil)
)

// New returns a router that offers features. All mistakes are reported at once, in an
// error with one line each:
//
//	main.go:24: tool "add": the field "a" has ...
//
// New neither logs nor panics.
func New(name, version string, features ...Feature) (*Router, error) {
	at := caller()
	b := &builder{mayOptions: true}
	b.findOptions(at, features)
	b.filters = filtersOf(features)
	if name == "" {
		b.faults = append(b.faults, &mistake{at, fmt.Sprintf("server %q: the name is empty", name)})
	}
	if version == "" {
		b.faults = append(b.faults, &mistake{at, fmt.Sprintf("server %q: the version is empty", name)})
	}
	b.registerAll(fmt.Sprintf("%s: server %q", at, name), features)
	o := b.routerOptions()
	if len(b.entries)+len(b.faults) == 0 && !o.AllowEmpty {
		b.faults = append(b.faults, &mistake{at,
			fmt.Sprintf("server %q: it has no tool, resource, template or prompt", name)})
	}
	r := &Router{
		options: o,
		server: mcp.Implementation{
			Name:        name,
			Version:     version,
			Title:       o.Title,
			Description: o.Description,
			WebsiteURL:  o.WebsiteURL,
			Icons:       o.Icons,
		},
	}
	s, faults := r.newState(b.entries, 0)
	b.faults = append(b.faults, faults...)
	if err := b.err(); err != nil {
		return nil, err
	}
	r.top = &runner{r: r}
	if o.Middleware != nil {
		if r.top = o.Middleware(r.top); r.top == nil {
			return nil, fmt.Errorf("%s: server %q: Middleware returned nil", at, name)
		}
	}
	r.current.Store(s)
	return r, nil
}

// Add adds features. If any of them has a mistake, Add adds nothing and returns an error
// like that of [New]. Clients are notified that their lists have changed. A [Filter]
// among the features applies only to them.
func (r *Router) Add(features ...Feature) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	o := r.options
	b := &builder{
		options: &o,
		filters: filtersOf(features),
	}
	b.registerAll(fmt.Sprintf("%s: Add", caller()), features)
	old := r.current.Load().entries
	s, faults := r.newState(slices.Concat(old, b.entries), len(old))
	b.faults = append(b.faults, faults...)
	if err := b.err(); err != nil {
		return err
	}
	r.current.Store(s)
	r.watchers.Tell(changeOf(b.entries))
	return nil
}

// Remove removes items by name. If one does not exist, or another item needs it, Remove
// returns an error and removes nothing. Running calls continue. Clients are notified that
// their lists have changed.
func (r *Router) Remove(kind Kind, names ...string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	entries := slices.Clone(r.current.Load().entries)
	var removed []*entry
	for _, name := range names {
		i := slices.IndexFunc(entries, func(e *entry) bool {
			return e.Kind == kind && e.Name == name
		})
		if i < 0 {
			return fmt.Errorf("remove: there is no %s %q", kind, name)
		}
		removed = append(removed, entries[i])
		entries = slices.Delete(entries, i, i+1)
	}
	s, faults := r.newState(entries, len(entries))
	if len(faults) > 0 {
		return fmt.Errorf("remove: %w", faults[0])
	}
	r.current.Store(s)
	r.watchers.Tell(changeOf(removed))
	return nil
}

// Items returns all items, ignoring filters, in the order of the lists.
func (r *Router) Items() []Item {
	entries := r.current.Load().entries
	items := make([]Item, len(entries))
	for i, e := range entries {
		items[i] = e.Item
	}
	return items
}

// Catalog implements [mcp.Source].
func (r *Router) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return r.current.Load().catalogFor(ctx), nil
}

// CallTool implements [mcp.Source].
func (r *Router) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return observe(ctx, r, "tools/call", p.Name, p, mcp.Source.CallTool)
}

// ReadResource implements [mcp.Source].
func (r *Router) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return observe(ctx, r, "resources/read", p.URI, p, mcp.Source.ReadResource)
}

// GetPrompt implements [mcp.Source].
func (r *Router) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return observe(ctx, r, "prompts/get", p.Name, p, mcp.Source.GetPrompt)
}

// Complete implements [mcp.Source].
func (r *Router) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return observe(ctx, r, "completion/complete", p.Prompt+p.URITemplate, p,
		mcp.Source.Complete)
}

// Notify notifies the clients subscribed to a resource that its contents have changed.
func (r *Router) Notify(uri string) {
	r.watchers.Tell(mcp.Change{URI: uri})
}

// Refresh notifies all clients that their lists may have changed, for example because a
// [Filter] now decides differently.
func (r *Router) Refresh() {
	r.watchers.Tell(mcp.Change{
		Tools:     true,
		Resources: true,
		Prompts:   true,
	})
}

// Watch implements [mcp.Watcher].
func (r *Router) Watch(changed func(mcp.Change)) (stop func()) {
	return r.watchers.Watch(changed)
}

// runner is the part of the router that Middleware wraps.
type runner struct{ r *Router }

// Catalog implements [mcp.Source].
func (x *runner) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return x.r.Catalog(ctx)
}

// CallTool implements [mcp.Source].
func (x *runner) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	e := x.r.current.Load().tools[p.Name]
	if e == nil || !e.visible(ctx) {
		return nil, mcp.UnknownTool(p.Name)
	}
	return e.call(ctx, p.Arguments)
}

// ReadResource implements [mcp.Source].
func (x *runner) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	s := x.r.current.Load()
	if e := s.resources[p.URI]; e != nil && e.visible(ctx) {
		return e.read(ctx, p.URI, nil)
	}
	for _, e := range s.templates {
		values, ok := e.parsed.Match(p.URI)
		if ok && e.visible(ctx) {
			return e.read(ctx, p.URI, values)
		}
	}
	return nil, mcp.ResourceNotFound(p.URI, "")
}

// GetPrompt implements [mcp.Source].
func (x *runner) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	e := x.r.current.Load().prompts[p.Name]
	if e == nil || !e.visible(ctx) {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	return e.prompt(ctx, p.Arguments)
}

// Complete implements [mcp.Source].
func (x *runner) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	s := x.r.current.Load()
	var e *entry
	if p.URITemplate == "" {
		if e = s.prompts[p.Prompt]; e == nil || !e.visible(ctx) {
			return nil, mcp.UnknownPrompt(p.Prompt)
		}
	} else {
		i := slices.IndexFunc(s.templates, func(e *entry) bool {
			return e.URI == p.URITemplate && e.visible(ctx)
		})
		if i < 0 {
			return nil, mcp.Errorf(mcp.CodeInvalidParams,
				"unknown resource template %q", p.URITemplate)
		}
		e = s.templates[i]
	}
	if !slices.Contains(e.names, p.Argument) {
		form := "prompt %q has no argument %q (has %s)"
		if e.Kind == KindTemplate {
			form = "resource template %q has no variable %q (has %s)"
		}
		return nil, mcp.Errorf(mcp.CodeInvalidParams, form, p.Prompt+p.URITemplate,
			p.Argument, listNames(e.names))
	}
	return complete(ctx, e.completers, p)
}
