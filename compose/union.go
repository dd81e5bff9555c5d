package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Named is a Source and the name under which it is known: the one that goes in
// front of its tools and prompts when they collide, and into error messages.
type Named struct {
	Name   string
	Source mcp.Source
}

// UnionOptions configure [Union]. The zero value and nil are the defaults.
type UnionOptions struct {
	// Server is the serverInfo that clients see. If its Name is empty, name and
	// version are those of the parts, joined with "+".
	Server mcp.Implementation
	// Prefix says which tools and prompts get the name of their source in front.
	// The default is [PrefixOnCollision].
	Prefix Prefix
	// Absent are the names of sources that belong to the union but offer nothing
	// yet, for [mcp.Catalog.Sources].
	Absent []string
	// Shared is called for URIs that several sources offer, once per catalog and group
	// of sources. Nil ignores them. It is called while the catalog is made and must
	// not call the union.
	Shared func(Shared)
	// Collision, if not nil, is told when parts change so that two of them collide,
	// once per catalog in which that is so; the union then offers what it did before.
	// If it is nil, the collision is the error of Catalog. It must not call the union.
	Collision func(error)
}

// Prefix says when a name gets that of its source in front.
type Prefix string

const (
	// PrefixOnCollision is for names that several sources have.
	PrefixOnCollision Prefix = ""
	// PrefixAlways is for all names, so that none changes when a source joins.
	PrefixAlways Prefix = "always"
	// PrefixNever leaves names as they are. A name that several sources have is
	// then an error.
	PrefixNever Prefix = "never"
)

// Union joins sources into one. A single source is returned as it is, unless its
// names get a prefix.
//
// A tool or a prompt that several parts offer under one name is shown by each of
// them as part_name; opts.Prefix makes that so for all, or for none. Unless it is
// none, names are cut to 64 characters, with a hash of the whole if longer. If a
// name made that way is taken as well, that is an error which names both owners:
// here, or when a part changes later, from Catalog or to opts.Collision.
//
// A URI that one part alone lists, or describes with a template, is shown as it is
// and read from that part. Otherwise each part's has the part's name and "+" in
// front ("notes+file:///a.md"), behind "ui://" if it begins so; the URI itself is
// refused with an error that names these. So no part can answer for a URI that
// another one claims. Links to resources in definitions and results of a part always
// lead to that part. A URI that no part claims is looked for in each part in order
// until one has it. Under [PrefixNever] a shared URI is an error as a shared name is.
//
// The names must be distinct. ctx is used for asking the parts what they offer,
// and ends with the call. The Source returned implements io.Closer, which closes
// the parts that can be closed, [mcp.Extender], which asks the parts in order, and
// [mcp.Watcher] if a part does. A part whose Catalog fails makes the union's fail.
//
// The joined catalog is kept until a part returns another, so asking for it
// costs one call per part.
func Union(ctx context.Context, parts []Named, opts *UnionOptions) (mcp.Source, error) {
	if len(parts) == 0 {
		return nil, errors.New("union: no sources")
	}
	seen := make(map[string]bool, len(parts))
	watched := false
	for _, p := range parts {
		if p.Name == "" || seen[p.Name] {
			return nil, fmt.Errorf("union: names must be distinct and not empty, got %q", p.Name)
		}
		seen[p.Name] = true
		_, watches := mcp.AsWatcher(p.Source)
		watched = watched || watches
	}
	if len(parts) == 1 && (opts == nil || opts.Prefix != PrefixAlways) {
		return parts[0].Source, nil
	}
	u := &union{parts: append([]Named(nil), parts...), labels: new(labels)}
	if opts != nil {
		u.opts = *opts
	}
	if u.opts.Prefix != PrefixNever {
		var err error
		if u.labels, err = labelsOf(u.parts, u.opts.Absent); err != nil {
			return nil, err
		}
	}
	if _, err := u.merged(ctx); err != nil {
		return nil, err
	}
	if watched {
		return watchedUnion{u}, nil
	}
	return u, nil
}

type union struct {
	parts  []Named
	opts   UnionOptions
	labels *labels

	last    atomic.Pointer[merged]
	merging sync.Mutex // held while last is replaced
}

var (
	_ mcp.Source     = (*union)(nil)
	_ mcp.Extender   = (*union)(nil)
	_ mcp.Subscriber = (*union)(nil)
	_ io.Closer      = (*union)(nil)
	_ mcp.Watcher    = watchedUnion{}
)

// merged returns the joined catalog of what the parts offer now.
func (u *union) merged(ctx context.Context) (*merged, error) {
	last := u.last.Load()
	fresh, err := u.ask(ctx, last)
	if err != nil || fresh == nil {
		return last, err
	}
	u.merging.Lock()
	defer u.merging.Unlock()
	if last = u.last.Load(); last.madeOf(fresh) {
		return last, nil
	}
	m, err := u.merge(fresh)
	if err != nil && (last == nil || u.opts.Collision == nil) {
		return nil, err
	}
	if err != nil {
		u.opts.Collision(err)
		kept := *last
		kept.parts = fresh // judged, too
		m = &kept
	}
	u.last.Store(m)
	return m, nil
}

// ask returns the parts' catalogs, or nil if they are those that last is made of.
func (u *union) ask(ctx context.Context, last *merged) (fresh []*mcp.Catalog, err error) {
	for i, p := range u.parts {
		cat, err := p.Source.Catalog(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if fresh == nil && last != nil && last.parts[i] == cat {
			continue
		}
		if fresh == nil {
			fresh = make([]*mcp.Catalog, 0, len(u.parts))
			if i > 0 {
				fresh = append(fresh, last.parts[:i]...)
			}
		}
		fresh = append(fresh, cat)
	}
	return fresh, nil
}

// Catalog implements [mcp.Source].
func (u *union) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	m, err := u.merged(ctx)
	if err != nil {
		return nil, err
	}
	return m.catalog, nil
}

// CallTool implements [mcp.Source].
func (u *union) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	m, err := u.merged(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := m.tools[params.Name]
	if !ok {
		return nil, unknownTool(m.catalog, params.Name)
	}
	if err := stillFrom(params, u.parts[own.part].Name, own.name); err != nil {
		return nil, err
	}
	if own.name != params.Name {
		params = &mcp.CallToolParams{Name: own.name, Arguments: params.Arguments, Origins: params.Origins}
	}
	result, err := u.serving(ctx, own.part).CallTool(ctx, params)
	if err != nil {
		return result, err
	}
	return m.linkCall(own.part, result)
}

// ReadResource implements [mcp.Source].
func (u *union) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	m, err := u.merged(ctx)
	if err != nil {
		return nil, err
	}
	switch where, o, owners := m.find(params.URI); where {
	case toOne:
		return u.readFrom(ctx, m, o, params)
	case toSeveral:
		return nil, u.ambiguous(m, params.URI, owners)
	case toAbsent:
		return nil, mcp.ResourceNotFound(params.URI, "its server is not available")
	}
	var miss error
	for i := range m.parts {
		if !m.offersResources(i) {
			continue // on its own it would not be asked either
		}
		result, err := u.readFrom(ctx, m, own{i, params.URI}, params)
		if !hasCode(err, mcp.CodeResourceNotFound) {
			return result, err
		}
		if miss == nil {
			miss = err
		}
	}
	if miss == nil {
		return nil, mcp.ResourceNotFound(params.URI, "")
	}
	return nil, miss
}

// readFrom reads what a part calls o.name.
func (u *union) readFrom(
	ctx context.Context, m *merged, o own, params *mcp.ReadResourceParams,
) (*mcp.ReadResourceResult, error) {
	if !m.offersResources(o.part) {
		return nil, mcp.ResourceNotFound(params.URI, "")
	}
	asked := params.URI
	if o.name != asked {
		params = &mcp.ReadResourceParams{URI: o.name}
	}
	result, err := u.serving(ctx, o.part).ReadResource(ctx, params)
	if err != nil {
		return result, err
	}
	return m.linkRead(o, asked, result)
}

func hasCode(err error, code mcp.Code) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == code
}

// GetPrompt implements [mcp.Source].
func (u *union) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	m, err := u.merged(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := m.prompts[params.Name]
	if !ok {
		return nil, unknownPrompt(m.catalog, params.Name)
	}
	if own.name != params.Name {
		params = &mcp.GetPromptParams{Name: own.name, Arguments: params.Arguments}
	}
	result, err := u.serving(ctx, own.part).GetPrompt(ctx, params)
	if err != nil {
		return result, err
	}
	return m.linkPrompt(own.part, result)
}

// Complete implements [mcp.Source].
func (u *union) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	m, err := u.merged(ctx)
	if err != nil {
		return nil, err
	}
	part, params, err := m.completer(params)
	if err != nil {
		return nil, err
	}
	if !m.parts[part].Completions {
		return &mcp.CompleteResult{}, nil
	}
	return u.serving(ctx, part).Complete(ctx, params)
}

// serving returns the part that serves the request under ctx, and has that noted.
func (u *union) serving(ctx context.Context, part int) mcp.Source {
	mcp.RequestFrom(ctx).ServedBy(&u.parts[part].Name)
	return u.parts[part].Source
}

// unknownTool and unknownPrompt are the errors for what a catalog does not offer.
func unknownTool(cat *mcp.Catalog, name string) error {
	if why, ok := cat.WithheldTools[name]; ok {
		return denied(mcp.CodeToolDenied, why)
	}
	return mcp.UnknownTool(name)
}

func unknownPrompt(cat *mcp.Catalog, name string) error {
	if why, ok := cat.WithheldPrompts[name]; ok {
		return denied(mcp.CodeInvalidParams, why)
	}
	return mcp.UnknownPrompt(name)
}

// Subscribe implements [mcp.Subscriber]. For a URI that no part claims, the parts
// that have to be told are, until one knows the resource; if none does, it may be one
// of a part that needs not be.
func (u *union) Subscribe(ctx context.Context, uri string) error {
	m, err := u.merged(ctx)
	if err != nil {
		return err
	}
	switch where, o, owners := m.find(uri); where {
	case toOne:
		if x, ok := u.parts[o.part].Source.(mcp.Subscriber); ok {
			return x.Subscribe(ctx, o.name)
		}
		return nil
	case toSeveral:
		return u.ambiguous(m, uri, owners)
	case toAbsent:
		return mcp.ResourceNotFound(uri, "its server is not available")
	}
	var refused error
	told := 0
	for _, p := range u.parts {
		x, ok := p.Source.(mcp.Subscriber)
		if !ok {
			continue
		}
		told++
		err := x.Subscribe(ctx, uri)
		if err == nil {
			return nil
		}
		refused = err
	}
	if told < len(u.parts) {
		return nil
	}
	return refused
}

// ServeMethod implements [mcp.Extender]: each part that has methods of its own is
// asked in order until one knows the method.
func (u *union) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	for _, p := range u.parts {
		x, ok := p.Source.(mcp.Extender)
		if !ok {
			continue
		}
		result, err := x.ServeMethod(ctx, method, params)
		if !hasCode(err, mcp.CodeMethodNotFound) {
			return result, err
		}
	}
	return nil, mcp.MethodNotFound(method)
}

// Close closes the parts that can be closed.
func (u *union) Close() error {
	var errs []error
	for _, p := range u.parts {
		if c, ok := p.Source.(io.Closer); ok {
			if err := c.Close(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// watchedUnion is a union of which a part can change. Only it has the method
// Watch, so that a union of sources that never change does not promise to tell.
type watchedUnion struct{ *union }

// Watch implements [mcp.Watcher].
func (u watchedUnion) Watch(changed func(mcp.Change)) (stop func()) {
	var stops []func()
	for i, p := range u.parts {
		if w, ok := mcp.AsWatcher(p.Source); ok {
			stops = append(stops, w.Watch(func(c mcp.Change) { u.last.Load().tell(i, c, changed) }))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// tell passes on a change of a part, under the URIs by which clients read the
// resource there. A URI that belongs to another part is not among them.
func (m *merged) tell(part int, c mcp.Change, changed func(mcp.Change)) {
	own := c.URI
	if own == "" {
		changed(c)
		return
	}
	where, o, _ := m.find(own)
	if where == toNone || where == toOne && o.part == part && o.name == own {
		changed(c)
		c = mcp.Change{}
	}
	if m.labels.of != nil {
		c.URI = m.labels.qualify(part, own)
		changed(c)
	}
}

// tellOf is tell for a change that a part does not know of itself.
func (u *union) tellOf(source string, c mcp.Change, changed func(mcp.Change)) {
	for i, p := range u.parts {
		if p.Name == source {
			u.last.Load().tell(i, c, changed)
		}
	}
}
