package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Named is a Source with its name, which prefixes its tools and prompts when they collide
// and appears in error messages.
type Named struct {
	// Name must be unique within a union.
	Name   string
	Source mcp.Source
}

// UnionOptions configure [Union]. The zero value and nil are the defaults.
type UnionOptions struct {
	// Server is the serverInfo that clients see. If its Name is empty, the names and the
	// versions of the parts are joined with "+".
	Server mcp.Implementation
	// Prefix selects the tools and prompts that are prefixed with the name of their
	// source. The default is [PrefixOnCollision].
	Prefix Prefix
	// Absent names the sources that belong to the union but offer nothing yet, for
	// [mcp.Catalog.Sources].
	Absent []string
	// KeepLast makes the union keep and log its previous catalog when parts change so that
	// names collide. By default, Catalog returns the collision as an error.
	KeepLast bool
	// Logger logs collisions, and URIs that several sources offer; nil disables logging.
	// It runs while the catalog is built and must not call the union.
	Logger *slog.Logger
}

// Prefix selects the names that are prefixed with the name of their source.
type Prefix string

const (
	// PrefixOnCollision prefixes names that several sources use.
	PrefixOnCollision Prefix = ""
	// PrefixAlways prefixes all names, so that none changes when a source joins.
	PrefixAlways Prefix = "always"
	// PrefixNever leaves all names unchanged. A name that several sources use is then an
	// error.
	PrefixNever Prefix = "never"
)

// Union joins sources into one. A single source is returned as is, unless its names get a
// prefix.
//
// Tools and prompts: a name that several parts use becomes part_name for each of them;
// opts.Prefix extends that to all names, or to none. Except under [PrefixNever], names
// are limited to 64 characters: longer ones are cut and end with a hash of the full name.
// A name that is the same as the prefixed one of another part gets a prefix, too, and two
// prefixed names that are the same end with hashes, so no part can take a name from another.
// Under [PrefixNever], the error for a shared name has both owners: from Union, or, when a
// part changes later, from Catalog or in the log.
//
// Resources:
//
//   - A URI that a single part lists, or describes with a template, stays the same and is
//     read from that part.
//   - Any other claimed URI is prefixed with the part's name and "+"
//     ("notes+file:///a.md"), after "ui://" if it begins that way. The plain URI is
//     refused with an error that lists the prefixed forms, so that no part can answer for
//     a URI of another. Under [PrefixNever], a shared URI is an error, like a shared
//     name.
//   - Links to resources in a part's definitions and results always lead to that part.
//   - A URI that no part claims is tried on each part in order until one has it.
//
// The names must be distinct. ctx is used only during the call, to fetch the catalogs of
// the parts. The returned Source implements io.Closer, which closes the parts that can be
// closed, [mcp.Extender], which tries the parts in order, and [mcp.Watcher] if a part
// does. A part whose Catalog fails makes the union's fail.
//
// The joined catalog is cached until a part returns a different one, so fetching it costs
// one call per part.
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
	u := &union{
		parts:   append([]Named(nil), parts...),
		labels:  new(labels),
		notices: make([]workBudget, len(parts)),
	}
	if opts != nil {
		u.opts = *opts
	}
	if u.opts.Logger == nil {
		u.opts.Logger = slog.New(slog.DiscardHandler)
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

// union is a Source that joins others. Its state is the last joined catalog, which also routes
// calls back to the parts.
type union struct {
	// parts are the sources, in the order of the catalog.
	parts  []Named
	opts   UnionOptions
	labels *labels
	// notices are the budgets of the parts for the URIs that they report as changed.
	notices []workBudget

	// last is the joined catalog of the parts' last catalogs. Catalogs are compared by
	// identity, so an unchanged union costs no merge.
	last    atomic.Pointer[merged]
	merging sync.Mutex      // held while last is replaced; guards joined
	joined  recent[*merged] // of other callers
}

var (
	_ mcp.Source     = (*union)(nil)
	_ mcp.Extender   = (*union)(nil)
	_ mcp.Subscriber = (*union)(nil)
	_ io.Closer      = (*union)(nil)
	_ mcp.Watcher    = watchedUnion{}
)

// merged returns the joined catalog of the parts' current catalogs.
func (u *union) merged(ctx context.Context) (*merged, error) {
	last := u.last.Load()
	fresh, err := u.fetchCatalogs(ctx, last)
	if err != nil || fresh == nil {
		return last, err
	}
	u.merging.Lock()
	defer u.merging.Unlock()
	if last = u.last.Load(); last.builtFrom(fresh) {
		return last, nil
	}
	known, ok := u.joined.find(func(m *merged) bool {
		return m.builtFrom(fresh)
	})
	if ok {
		u.last.Store(known)
		return known, nil
	}
	m, err := u.merge(fresh)
	// The previous catalog may be that of another caller.
	mayKeep := last != nil && u.opts.KeepLast && !perCaller(last.parts) && !perCaller(fresh)
	if err != nil && !mayKeep {
		return nil, err
	}
	if err != nil {
		u.opts.Logger.Error("sources collide, keeping their previous catalog", "error", err)
		kept := *last
		kept.parts = fresh // checked as well
		m = &kept
	}
	u.joined.add(m, m.catalog.Size())
	u.last.Store(m)
	return m, nil
}

// perCaller reports whether one of the catalogs is for one caller alone.
func perCaller(parts []*mcp.Catalog) bool {
	return slices.ContainsFunc(parts, func(c *mcp.Catalog) bool { return c.PerCaller })
}

// fetchCatalogs returns the parts' catalogs, or nil if last was built from them.
func (u *union) fetchCatalogs(ctx context.Context, last *merged) (fresh []*mcp.Catalog, err error) {
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
		return nil, unknownItem(m.catalog.WithheldTools, params.Name,
			mcp.CodeToolDenied, mcp.UnknownTool(params.Name))
	}
	if err := checkOrigin(params, u.parts[own.part].Name, own.name); err != nil {
		return nil, err
	}
	if own.name != params.Name {
		params = &mcp.CallToolParams{
			Name:      own.name,
			Arguments: params.Arguments,
			Origins:   params.Origins,
			Index:     params.Index,
		}
	}
	result, err := u.selectPart(ctx, own.part).CallTool(ctx, params)
	if err == nil && m.joinsResources {
		result, err = m.linkCall(own.part, result)
	}
	return result, err
}

// ReadResource implements [mcp.Source].
func (u *union) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	m, err := u.merged(ctx)
	if err != nil {
		return nil, err
	}
	left := maxMatching
	where, o, owners := m.find(params.URI, &left)
	if only, restricted := outermost(params.Sources); restricted {
		part := slices.IndexFunc(u.parts, func(p Named) bool { return p.Name == only })
		if part < 0 {
			return nil, mcp.ResourceNotFound(params.URI, "its server is not available")
		}
		if where != toOne || o.part != part {
			o = ownName{part, params.URI}
		}
		return u.readFrom(ctx, m, o, params, &left)
	}
	switch where {
	case toOne:
		return u.readFrom(ctx, m, o, params, &left)
	case toSeveral:
		return nil, u.ambiguous(m, params.URI, owners)
	case toAbsent:
		return nil, mcp.ResourceNotFound(params.URI, "its server is not available")
	}
	var miss error
	for i := range m.parts {
		if !m.offersResources(i) {
			continue // without the union, clients would not read from it either
		}
		result, err := u.readFrom(ctx, m, ownName{i, params.URI}, params, &left)
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

// readFrom reads the resource that a part calls o.name. left is the remaining work budget of the
// request.
func (u *union) readFrom(
	ctx context.Context, m *merged, o ownName, params *mcp.ReadResourceParams, left *int,
) (*mcp.ReadResourceResult, error) {
	if !m.offersResources(o.part) {
		return nil, mcp.ResourceNotFound(params.URI, "")
	}
	asked := params.URI
	if o.name != asked || params.Sources != nil {
		params = &mcp.ReadResourceParams{
			URI:     o.name,
			Sources: inner(params.Sources),
		}
	}
	result, err := u.selectPart(ctx, o.part).ReadResource(ctx, params)
	if err == nil && m.joinsResources {
		result, err = m.linkRead(o, asked, result, left)
	}
	return result, err
}

// hasCode reports whether err is or wraps an [mcp.Error] with the code.
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
		return nil, unknownItem(m.catalog.WithheldPrompts, params.Name,
			mcp.CodeInvalidParams, mcp.UnknownPrompt(params.Name))
	}
	if own.name != params.Name {
		params = &mcp.GetPromptParams{
			Name:      own.name,
			Arguments: params.Arguments,
		}
	}
	result, err := u.selectPart(ctx, own.part).GetPrompt(ctx, params)
	if err == nil && m.joinsResources {
		result, err = m.linkPrompt(own.part, result)
	}
	return result, err
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
	return u.selectPart(ctx, part).Complete(ctx, params)
}

// selectPart returns the part that serves the request in ctx, and records that.
func (u *union) selectPart(ctx context.Context, part int) mcp.Source {
	mcp.RequestFrom(ctx).ServedBy(&u.parts[part].Name)
	return u.parts[part].Source
}

// unknownItem returns the error for a name that is not in a catalog: unknown or, if the item
// is refused, one with the reason.
func unknownItem(reasons map[string]string, name string, code mcp.Code, unknown *mcp.Error) error {
	if why, ok := reasons[name]; ok {
		return &mcp.Error{
			Code:    code,
			Message: why,
		}
	}
	return unknown
}

// Subscribe implements [mcp.Subscriber]. A URI that no part claims is tried on each part
// with Subscribe, until one accepts it. If all of them refuse, it still succeeds if some
// part has no Subscribe, as the resource may belong to that one.
func (u *union) Subscribe(ctx context.Context, uri string) error {
	m, err := u.merged(ctx)
	if err != nil {
		return err
	}
	left := maxMatching
	switch where, o, owners := m.find(uri, &left); where {
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
	asked := 0
	for _, p := range u.parts {
		x, ok := p.Source.(mcp.Subscriber)
		if !ok {
			continue
		}
		asked++
		err := x.Subscribe(ctx, uri)
		if err == nil {
			return nil
		}
		refused = err
	}
	if asked < len(u.parts) {
		return nil
	}
	return refused
}

// ServeMethod implements [mcp.Extender]. It tries each part that has custom methods, in
// order, until one knows the method.
func (u *union) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
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

// watchedUnion is a union with a part that can change. Only this type has Watch, so that
// a union of immutable sources does not claim to report changes.
type watchedUnion struct{ *union }

// Watch implements [mcp.Watcher].
func (u watchedUnion) Watch(changed func(mcp.Change)) (stop func()) {
	var stops []func()
	for i, p := range u.parts {
		if w, ok := mcp.AsWatcher(p.Source); ok {
			stops = append(stops, w.Watch(func(c mcp.Change) {
				u.last.Load().notify(i, c, &u.notices[i], changed)
			}))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// notify passes on a change of a part, under the URIs by which clients read the part's
// resource. It never reports a URI that belongs to another part. work is the part's budget.
func (m *merged) notify(part int, c mcp.Change, work *workBudget, changed func(mcp.Change)) {
	own := c.URI
	if own == "" {
		changed(c)
		return
	}
	var where route
	var o ownName
	work.use(func(left *int) { where, o, _ = m.find(own, left) })
	if where == toNone || where == toOne && o.part == part && o.name == own {
		changed(c)
		c = mcp.Change{}
	}
	if m.labels.of != nil {
		c.URI = m.labels.qualify(part, own)
		changed(c)
	}
}

// notifyOf is notify for a change that the part itself does not report.
func (u *union) notifyOf(source string, c mcp.Change, changed func(mcp.Change)) {
	for i, p := range u.parts {
		if p.Name == source {
			u.last.Load().notify(i, c, &u.notices[i], changed)
		}
	}
}
