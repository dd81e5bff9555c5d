package compose

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Swap is a Source that shows another, in whose place a third can be put while
// clients use it. A call goes to what is shown when it begins, and ends there.
//
// It implements [mcp.Watcher], [mcp.Extender] and [mcp.Subscriber], as far as what
// it shows does. It is safe for concurrent use. A call costs one atomic load more
// than without.
type Swap struct {
	current atomic.Pointer[shown]
	setting sync.Mutex // held while current is replaced

	watchers mcp.Watchers
}

type shown struct {
	source mcp.Source
	stop   func() // ends watching it
}

var (
	_ mcp.Source     = (*Swap)(nil)
	_ mcp.Watcher    = (*Swap)(nil)
	_ mcp.Extender   = (*Swap)(nil)
	_ mcp.Subscriber = (*Swap)(nil)
)

// NewSwap returns a Swap that shows src.
func NewSwap(src mcp.Source) *Swap {
	s := &Swap{}
	s.current.Store(s.watching(src))
	return s
}

func (s *Swap) watching(src mcp.Source) *shown {
	at := &shown{source: src, stop: func() {}}
	if w, ok := mcp.AsWatcher(src); ok {
		at.stop = w.Watch(s.Tell)
	}
	return at
}

// Set shows next from now on, and tells who watches if it offers something else.
// Calls that have begun go on in what was shown before, which is not closed:
// [Retirable] says when they have ended. ctx is for asking what both offer.
func (s *Swap) Set(ctx context.Context, next mcp.Source) {
	s.setting.Lock()
	defer s.setting.Unlock()
	old, fresh := s.current.Load(), s.watching(next)
	same := sameOffer(ctx, old.source, next)
	s.current.Store(fresh)
	old.stop()
	if !same {
		s.Tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
	}
}

func sameOffer(ctx context.Context, a, b mcp.Source) bool {
	before, err := a.Catalog(ctx)
	if err != nil {
		return false
	}
	after, err := b.Catalog(ctx)
	return err == nil && (before == after || before.Version() == after.Version())
}

// Tell tells who watches of a change that the Source shown does not know of, such
// as that a resource may be another since Set.
func (s *Swap) Tell(c mcp.Change) { s.watchers.Tell(c) }

// TellOf is Tell for a change of one source of the [Union] that is shown, in the
// URIs of that source. Without a union it is Tell.
func (s *Swap) TellOf(source string, c mcp.Change) {
	switch joined := s.current.Load().source.(type) {
	case *union:
		joined.tellOf(source, c, s.Tell)
	case watchedUnion:
		joined.tellOf(source, c, s.Tell)
	default:
		s.Tell(c)
	}
}

// Watch implements [mcp.Watcher].
func (s *Swap) Watch(changed func(mcp.Change)) (stop func()) { return s.watchers.Watch(changed) }

// again reports whether a call came to at just when it was retired, so that it
// belongs to what took its place.
func (s *Swap) again(at *shown, err error) bool {
	return err != nil && errors.Is(err, ErrRetired) && s.current.Load() != at
}

// Catalog implements [mcp.Source].
func (s *Swap) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return s.current.Load().source.Catalog(ctx)
}

// CallTool implements [mcp.Source].
func (s *Swap) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	for {
		at := s.current.Load()
		result, err := at.source.CallTool(ctx, params)
		if !s.again(at, err) {
			return result, err
		}
	}
}

// ReadResource implements [mcp.Source].
func (s *Swap) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	for {
		at := s.current.Load()
		result, err := at.source.ReadResource(ctx, params)
		if !s.again(at, err) {
			return result, err
		}
	}
}

// GetPrompt implements [mcp.Source].
func (s *Swap) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	for {
		at := s.current.Load()
		result, err := at.source.GetPrompt(ctx, params)
		if !s.again(at, err) {
			return result, err
		}
	}
}

// Complete implements [mcp.Source].
func (s *Swap) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	for {
		at := s.current.Load()
		result, err := at.source.Complete(ctx, params)
		if !s.again(at, err) {
			return result, err
		}
	}
}

// ServeMethod implements [mcp.Extender].
func (s *Swap) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	for {
		at := s.current.Load()
		x, ok := at.source.(mcp.Extender)
		if !ok {
			return nil, mcp.MethodNotFound(method)
		}
		result, err := x.ServeMethod(ctx, method, params)
		if !s.again(at, err) {
			return result, err
		}
	}
}

// Subscribe implements [mcp.Subscriber].
func (s *Swap) Subscribe(ctx context.Context, uri string) error {
	for {
		at := s.current.Load()
		x, ok := at.source.(mcp.Subscriber)
		if !ok {
			return nil // it need not be told
		}
		if err := x.Subscribe(ctx, uri); !s.again(at, err) {
			return err
		}
	}
}

// ErrRetired is the error of a call to a [Retirable] that has been retired. A
// [Swap] repeats such a call.
var ErrRetired error = &mcp.Error{Code: mcp.CodeToolUnavailable, Message: "the server is not offered any more"}

// Retirable is a Source that can be taken out of use without cutting calls off. It
// counts them: two atomic additions for each.
type Retirable struct {
	mcp.Source
	calls   atomic.Int64
	retired atomic.Bool
	once    sync.Once
	idle    chan struct{}
}

var (
	_ mcp.Source     = (*Retirable)(nil)
	_ mcp.Watcher    = (*Retirable)(nil)
	_ mcp.Extender   = (*Retirable)(nil)
	_ mcp.Subscriber = (*Retirable)(nil)
)

// NewRetirable returns src as one that can be retired.
func NewRetirable(src mcp.Source) *Retirable {
	return &Retirable{Source: src, idle: make(chan struct{})}
}

// Retire makes calls fail with [ErrRetired] from now on. idle is closed when those
// that had begun have ended.
func (r *Retirable) Retire() (idle <-chan struct{}) {
	r.retired.Store(true)
	if r.calls.Load() == 0 {
		r.once.Do(func() { close(r.idle) })
	}
	return r.idle
}

// enter counts a call, or refuses it. Whoever retires the source after that finds
// it counted.
func (r *Retirable) enter() error {
	r.calls.Add(1)
	if !r.retired.Load() {
		return nil
	}
	r.leave()
	return ErrRetired
}

func (r *Retirable) leave() {
	if r.calls.Add(-1) == 0 && r.retired.Load() {
		r.once.Do(func() { close(r.idle) })
	}
}

// Changes says whether there is anything to watch, for [mcp.AsWatcher].
func (r *Retirable) Changes() bool {
	_, ok := mcp.AsWatcher(r.Source)
	return ok
}

// Watch implements [mcp.Watcher].
func (r *Retirable) Watch(changed func(mcp.Change)) (stop func()) {
	if w, ok := mcp.AsWatcher(r.Source); ok {
		return w.Watch(changed)
	}
	return func() {}
}

// CallTool implements [mcp.Source].
func (r *Retirable) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.Source.CallTool(ctx, params)
}

// ReadResource implements [mcp.Source].
func (r *Retirable) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.Source.ReadResource(ctx, params)
}

// GetPrompt implements [mcp.Source].
func (r *Retirable) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.Source.GetPrompt(ctx, params)
}

// Complete implements [mcp.Source].
func (r *Retirable) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.Source.Complete(ctx, params)
}

// ServeMethod implements [mcp.Extender].
func (r *Retirable) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	x, ok := r.Source.(mcp.Extender)
	if !ok {
		return nil, mcp.MethodNotFound(method)
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	return x.ServeMethod(ctx, method, params)
}

// Subscribe implements [mcp.Subscriber].
func (r *Retirable) Subscribe(ctx context.Context, uri string) error {
	x, ok := r.Source.(mcp.Subscriber)
	if !ok {
		return mcp.ResourceNotFound(uri, "")
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	return x.Subscribe(ctx, uri)
}
