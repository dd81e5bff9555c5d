package compose

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Pinned returns src as a lock allows it to be seen. name is that of the source in
// the lock, origin the digest of how it is started or reached, or empty.
//
// With the policy [Block], what has changed since it was locked, or is new, is left
// out of lists, and refused with the reason when somebody asks for it all the same;
// instructions that have changed are left out; and a source that the lock does not
// know, or that is another than it was, offers nothing, and is not even asked. A
// URI that is not listed can be read if a template allows it that is as it was
// locked; a ui:// resource only if what it yields is what was locked, too. What a
// call yields is not passed on if the tool changed while it was made, as it may
// have been the changed one that did it.
//
// With the policy [Warn] everything is offered, and the guard tells.
//
// Everything is judged when the source offers something else, or when the lock is
// replaced; a request costs one look-up in a map. The Source returned implements
// io.Closer, which closes src, and is an [mcp.Watcher] if src is, or the lock can be
// replaced.
func Pinned(name string, src mcp.Source, g *Guard, origin string) mcp.Source {
	p := &pinned{name: name, src: src, guard: g, origin: origin}
	p.watched, p.watches = mcp.AsWatcher(src)
	return p
}

type pinned struct {
	name, origin string
	src          mcp.Source
	guard        *Guard
	watched      mcp.Watcher
	watches      bool

	last    atomic.Pointer[view]
	judging sync.Mutex // held while last is replaced
}

var (
	_ mcp.Source     = (*pinned)(nil)
	_ mcp.Watcher    = (*pinned)(nil)
	_ mcp.Extender   = (*pinned)(nil)
	_ mcp.Subscriber = (*pinned)(nil)
	_ io.Closer      = (*pinned)(nil)
)

// view returns what may be seen of what the source offers now.
func (p *pinned) view(ctx context.Context) (*view, error) {
	last, lock := p.last.Load(), p.guard.Lock()
	if last != nil && last.lock == lock && last.of == nil {
		return last, nil // the source is not asked
	}
	var cat *mcp.Catalog
	if last == nil || last.lock != lock {
		if v := p.sealed(lock); v != nil {
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
	p.judging.Lock()
	defer p.judging.Unlock()
	if last = p.last.Load(); last != nil && last.of == cat && last.lock == lock {
		return last, nil
	}
	v := p.judge(lock, cat)
	p.last.Store(v)
	return v, nil
}

// held returns what a source is held to: what the lock has, or, where the lock has
// one now that is started or reached otherwise, what it was held to before. That one
// takes its place when it is there. Nil means that the lock does not know it.
func (p *pinned) held(lock *Lock) (*LockedSource, *Drift) {
	d := p.guard.stranger(lock, p.name, p.origin)
	if last := p.last.Load(); d != nil && d.Item.Kind == Origin && last != nil && last.admitted {
		return last.locked, nil
	}
	return lock.Sources[p.name], d
}

// sealed returns the view of a source that must not be asked, or nil.
func (p *pinned) sealed(lock *Lock) *view {
	_, d := p.held(lock)
	if d == nil {
		return nil
	}
	p.guard.tell(*d)
	if p.guard.opts.Policy == Warn {
		return nil
	}
	p.judging.Lock()
	defer p.judging.Unlock()
	if last := p.last.Load(); last != nil && last.lock == lock && last.of == nil {
		return last
	}
	v := &view{lock: lock, stranger: d, catalog: nothingOf(p.name)}
	p.last.Store(v)
	return v
}

// nothingOf is the catalog of a source of which nothing is to be seen.
func nothingOf(name string) *mcp.Catalog {
	return &mcp.Catalog{Server: mcp.Implementation{Name: name, Version: "0"}}
}

// Catalog implements [mcp.Source].
func (p *pinned) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	v, err := p.view(ctx)
	if err != nil {
		return nil, err
	}
	return v.catalog, nil
}

// checked does something with the source if check allows it, and returns what that
// yields if check still does behind it.
func checked[T any](ctx context.Context, p *pinned, check func(*view) error, do func() (T, error)) (T, error) {
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
	if now, viewErr := p.view(ctx); viewErr == nil && now != v && !now.open {
		if refusal := check(now); isRefusal(refusal) {
			return none, refusal
		}
	}
	return result, err
}

// CallTool implements [mcp.Source].
func (p *pinned) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return checked(ctx, p, func(v *view) error { return v.tool(params.Name) },
		func() (*mcp.CallToolResult, error) { return p.src.CallTool(ctx, params) })
}

// ReadResource implements [mcp.Source].
func (p *pinned) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	result, err := checked(ctx, p, func(v *view) error { return v.resource(params.URI) },
		func() (*mcp.ReadResourceResult, error) { return p.src.ReadResource(ctx, params) })
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

// contents compares what a UI resource yields with what was locked.
func (p *pinned) contents(locked *LockedSource, uri string, result *mcp.ReadResourceResult) error {
	d := Drift{Source: p.name, Item: Item{UI, uri}, Is: &Pin{}}
	if locked != nil {
		if was, ok := locked.Items[d.Item]; ok {
			d.Was = &was
		}
	}
	contents, err := contentsOf(result)
	if err == nil {
		d.Is.Digest, err = Digest(UI, contents)
	}
	if err == nil && d.Was != nil && d.Was.Digest == d.Is.Digest {
		return nil
	}
	p.guard.tell(d)
	if p.guard.opts.Policy == Warn {
		return nil
	}
	return &mcp.Error{Code: mcp.CodeResourceDenied, Message: refusal(d)}
}

// GetPrompt implements [mcp.Source].
func (p *pinned) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return checked(ctx, p, func(v *view) error { return v.prompt(params.Name) },
		func() (*mcp.GetPromptResult, error) { return p.src.GetPrompt(ctx, params) })
}

// Complete implements [mcp.Source].
func (p *pinned) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return checked(ctx, p, func(v *view) error {
		if params.Prompt != "" {
			return v.prompt(params.Prompt)
		}
		return v.template(params.URITemplate)
	}, func() (*mcp.CompleteResult, error) { return p.src.Complete(ctx, params) })
}

// Subscribe implements [mcp.Subscriber].
func (p *pinned) Subscribe(ctx context.Context, uri string) error {
	_, err := checked(ctx, p, func(v *view) error { return v.resource(uri) }, func() (struct{}, error) {
		if s, ok := p.src.(mcp.Subscriber); ok {
			return struct{}{}, s.Subscribe(ctx, uri)
		}
		return struct{}{}, nil
	})
	return err
}

// ServeMethod implements [mcp.Extender].
func (p *pinned) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	return checked(ctx, p, func(v *view) error {
		if v.stranger != nil {
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
func (p *pinned) Changes() bool { return p.watches || p.guard.opts.Replaced }

// Watch implements [mcp.Watcher]. Nobody hears of a resource that cannot be read.
func (p *pinned) Watch(changed func(mcp.Change)) (stop func()) {
	stops := []func(){p.guard.watchers.Watch(changed)}
	if p.watches {
		stops = append(stops, p.watched.Watch(func(c mcp.Change) {
			if v := p.last.Load(); c.URI != "" && v != nil && !v.open && v.resource(c.URI) != nil {
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
func (p *pinned) Close() error {
	if c, ok := p.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// isRefusal reports whether err is that something has changed or is new, and not
// that it is gone.
func isRefusal(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Cause == errDrift
}

var errDrift = errors.New("it is not as it was locked")
