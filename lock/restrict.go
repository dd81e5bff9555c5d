package lock

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Restrict restricts src to the items that a lock allows. name is the source's name in the
// lock; origin is the digest of how it is started or reached, or empty.
//
// Under the policy [Block]:
//
//   - Changed and new items are hidden from lists, and requests for them fail with the
//     reason.
//   - Changed instructions are dropped.
//   - A source that is missing from the lock or has a different origin offers nothing,
//     and is never called.
//   - An unlisted URI can be read if it matches an unchanged template; a ui:// resource
//     only if its contents also match the lock.
//   - The result of a call is discarded if the tool changed during the call, as the
//     changed tool may have produced it.
//
// Under the policy [Warn], everything is offered and the guard reports the differences.
//
// The catalog is compared when it changes and when the lock is replaced; a request costs
// one map lookup. The returned Source implements io.Closer, which closes src. It is an
// [mcp.Watcher] if src is one or the lock can be replaced.
func Restrict(name string, src mcp.Source, g *Guard, origin string) mcp.Source {
	p := &restricted{
		name:   name,
		src:    src,
		guard:  g,
		origin: origin,
	}
	p.watched, p.watches = mcp.AsWatcher(src)
	return p
}

// restricted is a Source that offers only what its lock approves.
type restricted struct {
	// name and origin are those that the lock is searched for; src is the source itself.
	name, origin string
	src          mcp.Source
	guard        *Guard
	// watched is src if it can be watched, which watches reports.
	watched mcp.Watcher
	watches bool

	// last is the restricted catalog for the last catalog of src.
	last    atomic.Pointer[view]
	viewing sync.Mutex // held while last is replaced
}

var (
	_ mcp.Source     = (*restricted)(nil)
	_ mcp.Watcher    = (*restricted)(nil)
	_ mcp.Extender   = (*restricted)(nil)
	_ mcp.Subscriber = (*restricted)(nil)
	_ io.Closer      = (*restricted)(nil)
)

// view returns the current view of the source.
func (p *restricted) view(ctx context.Context) (*view, error) {
	last := p.last.Load()
	lock := p.guard.File()
	if last != nil && last.lock == lock && last.of == nil {
		return last, nil // the source must not be called
	}
	var cat *mcp.Catalog
	if last == nil || last.lock != lock {
		if v := p.closedView(lock); v != nil {
			return v, nil
		}
	}
	cat, err := p.src.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if last != nil && last.of == cat && last.lock == lock {
		return last, nil
	}
	p.viewing.Lock()
	defer p.viewing.Unlock()
	if last = p.last.Load(); last != nil && last.of == cat && last.lock == lock {
		return last, nil
	}
	v := p.compare(lock, cat)
	p.last.Store(v)
	return v, nil
}

// applicableEntry returns the locked source that applies: the one in lock, or, if its origin has
// changed, the one that was admitted before, until the server is replaced. A nil result
// means that the lock does not contain the source.
func (p *restricted) applicableEntry(lock *File) (*Entry, *Drift) {
	d := p.guard.originDrift(lock, p.name, p.origin)
	last := p.last.Load()
	if d != nil && d.Item.Kind == Origin && last != nil && last.admitted {
		return last.locked, nil
	}
	return lock.Sources[p.name], d
}

// closedView returns the view of a source that must not be called, or nil.
func (p *restricted) closedView(lock *File) *view {
	_, d := p.applicableEntry(lock)
	if d == nil {
		return nil
	}
	p.guard.report(*d)
	if p.guard.opts.Policy == Warn {
		return nil
	}
	p.viewing.Lock()
	defer p.viewing.Unlock()
	if last := p.last.Load(); last != nil && last.lock == lock && last.of == nil {
		return last
	}
	v := &view{
		lock:     lock,
		mismatch: d,
		catalog:  emptyCatalog(p.name),
	}
	p.last.Store(v)
	return v
}

// emptyCatalog is what clients see of a source that is refused as a whole or has not run yet. It
// has no instructions, because a refused source could use them to reach the model.
func emptyCatalog(name string) *mcp.Catalog {
	return &mcp.Catalog{Server: mcp.Implementation{
		Name:    name,
		Version: "0",
	}}
}

// Catalog implements [mcp.Source].
func (p *restricted) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	v, err := p.view(ctx)
	if err != nil {
		return nil, err
	}
	return v.catalog, nil
}

// callChecked calls do if check allows it, and returns its result if check still allows it
// afterwards.
func callChecked[T any](
	ctx context.Context,
	p *restricted,
	check func(*view) error,
	do func() (T, error),
) (T, error) {
	var none T
	v, err := p.view(ctx)
	if err != nil {
		return none, err
	}
	if v.open {
		return do()
	}
	if err := check(v); err != nil {
		return none, err
	}
	result, err := do()
	now, viewErr := p.view(ctx)
	if viewErr == nil && now != v && !now.open {
		if refusal := check(now); isRefusal(refusal) {
			return none, refusal
		}
	}
	return result, err
}

// CallTool implements [mcp.Source].
func (p *restricted) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return callChecked(ctx, p, func(v *view) error {
		return v.tool(params.Name)
	},
		func() (*mcp.CallToolResult, error) {
			return p.src.CallTool(ctx, params)
		})
}

// ReadResource implements [mcp.Source].
func (p *restricted) ReadResource(
	ctx context.Context, params *mcp.ReadResourceParams,
) (*mcp.ReadResourceResult, error) {
	result, err := callChecked(ctx, p, func(v *view) error {
		return v.resource(params.URI)
	},
		func() (*mcp.ReadResourceResult, error) {
			return p.src.ReadResource(ctx, params)
		})
	if err != nil || !isUI(params.URI) {
		return result, err
	}
	v, err := p.view(ctx)
	if err == nil {
		err = p.contents(v.locked, params.URI, result)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// contents compares the contents of a UI resource with the lock.
func (p *restricted) contents(locked *Entry, uri string, result *mcp.ReadResourceResult) error {
	item := Item{UI, uri}
	d := Drift{p.name, item, locked.pin(item), &Pin{}}
	contents, err := contentsOf(result)
	if err == nil {
		d.Is.Digest, err = Digest(UI, contents)
	}
	if err == nil && d.isUnchanged() {
		return nil
	}
	p.guard.report(d)
	if p.guard.opts.Policy == Warn {
		return nil
	}
	return &mcp.Error{
		Code:    mcp.CodeResourceDenied,
		Message: refusal(d),
	}
}

// GetPrompt implements [mcp.Source].
func (p *restricted) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return callChecked(ctx, p, func(v *view) error {
		return v.prompt(params.Name)
	},
		func() (*mcp.GetPromptResult, error) {
			return p.src.GetPrompt(ctx, params)
		})
}

// Complete implements [mcp.Source].
func (p *restricted) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return callChecked(ctx, p, func(v *view) error {
		if params.Prompt != "" {
			return v.prompt(params.Prompt)
		}
		return v.template(params.URITemplate)
	}, func() (*mcp.CompleteResult, error) {
		return p.src.Complete(ctx, params)
	})
}

// Subscribe implements [mcp.Subscriber].
func (p *restricted) Subscribe(ctx context.Context, uri string) error {
	_, err := callChecked(ctx, p, func(v *view) error {
		return v.resource(uri)
	}, func() (struct{}, error) {
		if s, ok := p.src.(mcp.Subscriber); ok {
			return struct{}{}, s.Subscribe(ctx, uri)
		}
		return struct{}{}, nil
	})
	return err
}

// ServeMethod implements [mcp.Extender].
func (p *restricted) ServeMethod(
	ctx context.Context, method string, params json.RawMessage,
) (*mcp.MethodResult, error) {
	return callChecked(ctx, p, func(v *view) error {
		if v.mismatch != nil {
			return mcp.MethodNotFound(method)
		}
		return nil
	}, func() (*mcp.MethodResult, error) {
		if x, ok := p.src.(mcp.Extender); ok {
			return x.ServeMethod(ctx, method, params)
		}
		return nil, mcp.MethodNotFound(method)
	})
}

// Changes reports whether the catalog can change: see [mcp.AsWatcher].
func (p *restricted) Changes() bool {
	return p.watches || p.guard.opts.Replaced
}

// Watch implements [mcp.Watcher]. It suppresses changes of resources that cannot be read.
func (p *restricted) Watch(changed func(mcp.Change)) (stop func()) {
	stops := []func(){p.guard.watchers.Watch(changed)}
	if p.watches {
		stops = append(stops, p.watched.Watch(func(c mcp.Change) {
			v := p.last.Load()
			if c.URI != "" && v != nil && !v.open && v.resource(c.URI) != nil {
				c.URI = ""
				if c == (mcp.Change{}) {
					return
				}
			}
			changed(c)
		}))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Close implements io.Closer.
func (p *restricted) Close() error {
	if c, ok := p.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// isRefusal reports whether err means that an item is changed or new, rather than gone.
func isRefusal(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Cause == errDrift
}

// errDrift is the reason for refusing an item whose definition has changed.
var errDrift = errors.New("it no longer matches the lock")
