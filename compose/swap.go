package compose

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Swap is a Source that delegates to another Source, which can be replaced while clients
// use it. A call runs to completion on the source that was current when it began.
//
// It implements [mcp.Watcher], [mcp.Extender] and [mcp.Subscriber], as far as the current
// source does. It is safe for concurrent use. It adds one atomic load per call.
type Swap struct {
	// current is read by every call without a lock.
	current atomic.Pointer[watchedSource]
	setting sync.Mutex // held while current is replaced

	watchers mcp.Watchers
}

// watchedSource is a source while it is current.
type watchedSource struct {
	source mcp.Source
	stop   func() // stops watching source
}

var (
	_ mcp.Source     = (*Swap)(nil)
	_ mcp.Watcher    = (*Swap)(nil)
	_ mcp.Extender   = (*Swap)(nil)
	_ mcp.Subscriber = (*Swap)(nil)
)

// NewSwap returns a Swap that delegates to src.
func NewSwap(src mcp.Source) *Swap {
	s := &Swap{}
	s.current.Store(s.watchSource(src))
	return s
}

// watchSource forwards the changes of src to the watchers of s until stop is called.
func (s *Swap) watchSource(src mcp.Source) *watchedSource {
	at := &watchedSource{
		source: src,
		stop:   func() {},
	}
	if w, ok := mcp.AsWatcher(src); ok {
		at.stop = w.Watch(s.Tell)
	}
	return at
}

// Set makes next the current source, and notifies watchers if its catalog differs. Calls
// in flight finish on the previous source, which is not closed: use [Retirable] to find
// out when they have ended. ctx is used to fetch both catalogs.
func (s *Swap) Set(ctx context.Context, next mcp.Source) {
	s.setting.Lock()
	defer s.setting.Unlock()
	old := s.current.Load()
	fresh := s.watchSource(next)
	same := haveSameCatalog(ctx, old.source, next)
	s.current.Store(fresh)
	old.stop()
	if !same {
		s.Tell(mcp.Change{
			Tools:     true,
			Resources: true,
			Prompts:   true,
		})
	}
}

// haveSameCatalog reports whether clients see no difference, so that a replacement needs
// no notification.
func haveSameCatalog(ctx context.Context, a, b mcp.Source) bool {
	before, err := a.Catalog(ctx)
	if err != nil {
		return false
	}
	after, err := b.Catalog(ctx)
	return err == nil && (before == after || before.Version() == after.Version())
}

// Tell notifies watchers of a change that the current source does not report, such as a
// resource that may differ since Set.
func (s *Swap) Tell(c mcp.Change) { s.watchers.Tell(c) }

// TellOf is Tell for a change of one source of the current [Union], with URIs in the
// source's own spelling. If the current source is not a union, it is the same as Tell.
func (s *Swap) TellOf(source string, c mcp.Change) {
	switch joined := s.current.Load().source.(type) {
	case *union:
		joined.notifyOf(source, c, s.Tell)
	case watchedUnion:
		joined.notifyOf(source, c, s.Tell)
	default:
		s.Tell(c)
	}
}

// Watch implements [mcp.Watcher].
func (s *Swap) Watch(changed func(mcp.Change)) (stop func()) {
	return s.watchers.Watch(changed)
}

// retry runs a call on the current source. A call that hits a source that has just been
// retired is retried on its replacement.
func retry[P, R any](
	ctx context.Context,
	s *Swap,
	params P,
	call func(mcp.Source, context.Context, P) (R, error),
) (R, error) {
	for {
		at := s.current.Load()
		result, err := call(at.source, ctx, params)
		if err == nil || !errors.Is(err, ErrRetired) || s.current.Load() == at {
			return result, err
		}
	}
}

// Catalog implements [mcp.Source].
func (s *Swap) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return s.current.Load().source.Catalog(ctx)
}

// CallTool implements [mcp.Source].
func (s *Swap) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return retry(ctx, s, params, mcp.Source.CallTool)
}

// ReadResource implements [mcp.Source].
func (s *Swap) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return retry(ctx, s, params, mcp.Source.ReadResource)
}

// GetPrompt implements [mcp.Source].
func (s *Swap) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return retry(ctx, s, params, mcp.Source.GetPrompt)
}

// Complete implements [mcp.Source].
func (s *Swap) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return retry(ctx, s, params, mcp.Source.Complete)
}

// ServeMethod implements [mcp.Extender].
func (s *Swap) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	return retry(ctx, s, extension{method, params}, serveMethod)
}

// Subscribe implements [mcp.Subscriber].
func (s *Swap) Subscribe(ctx context.Context, uri string) error {
	_, err := retry(ctx, s, uri, subscribe)
	return err
}

// extension is a call of a custom method.
type extension struct {
	// method is the name of the method, and params are its parameters, not decoded.
	method string
	params json.RawMessage
}

// serveMethod calls a custom method, if src has any.
func serveMethod(src mcp.Source, ctx context.Context, x extension) (*mcp.MethodResult, error) {
	if extender, ok := src.(mcp.Extender); ok {
		return extender.ServeMethod(ctx, x.method, x.params)
	}
	return nil, mcp.MethodNotFound(x.method)
}

// subscribe subscribes to a resource, if src needs a call for that.
func subscribe(src mcp.Source, ctx context.Context, uri string) (none struct{}, err error) {
	if s, ok := src.(mcp.Subscriber); ok {
		err = s.Subscribe(ctx, uri)
	}
	return none, err
}

// ErrRetired is the error of a call to a retired [Retirable]. A [Swap] retries such a
// call on the current source.
var ErrRetired error = &mcp.Error{
	Code:    mcp.CodeToolUnavailable,
	Message: "the server is no longer offered",
}

// Retirable is a Source that can be taken out of use without interrupting calls. It
// counts them, at two atomic additions each.
type Retirable struct {
	mcp.Source
	// calls counts the calls in progress, and has retired added once no more may begin.
	// One number holds both, since a call that ends must see how many others there were
	// and whether any may follow at the same moment. The call that leaves nothing but
	// retired closes idle.
	calls  atomic.Int64
	retire sync.Once
	close  sync.Once
	idle   chan struct{}
}

// retired is far below any number of calls.
const retired = math.MinInt64

var (
	_ mcp.Source     = (*Retirable)(nil)
	_ mcp.Watcher    = (*Retirable)(nil)
	_ mcp.Extender   = (*Retirable)(nil)
	_ mcp.Subscriber = (*Retirable)(nil)
)

// NewRetirable wraps src in a Retirable.
func NewRetirable(src mcp.Source) *Retirable {
	return &Retirable{
		Source: src,
		idle:   make(chan struct{}),
	}
}

// Retire makes new calls fail with [ErrRetired]. idle is closed when all calls in flight
// have ended.
func (r *Retirable) Retire() (idle <-chan struct{}) {
	r.retire.Do(func() { r.count(retired) })
	return r.idle
}

// enter counts a call, or refuses it.
func (r *Retirable) enter() error {
	if r.count(1) >= 0 {
		return nil
	}
	r.leave()
	return ErrRetired
}

// leave ends a call that enter began. The last one after Retire closes idle.
func (r *Retirable) leave() { r.count(-1) }

// count adds to r.calls and returns the sum.
func (r *Retirable) count(n int64) int64 {
	sum := r.calls.Add(n)
	if sum == retired {
		r.close.Do(func() { close(r.idle) })
	}
	return sum
}

// Changes reports whether the source can change: see [mcp.AsWatcher].
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

// runCounted runs a call unless r is retired, and counts it.
func runCounted[P, R any](
	ctx context.Context,
	r *Retirable,
	params P,
	call func(mcp.Source, context.Context, P) (R, error),
) (result R, err error) {
	if err := r.enter(); err != nil {
		return result, err
	}
	defer r.leave()
	return call(r.Source, ctx, params)
}

// CallTool implements [mcp.Source].
func (r *Retirable) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return runCounted(ctx, r, params, mcp.Source.CallTool)
}

// ReadResource implements [mcp.Source].
func (r *Retirable) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return runCounted(ctx, r, params, mcp.Source.ReadResource)
}

// GetPrompt implements [mcp.Source].
func (r *Retirable) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return runCounted(ctx, r, params, mcp.Source.GetPrompt)
}

// Complete implements [mcp.Source].
func (r *Retirable) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return runCounted(ctx, r, params, mcp.Source.Complete)
}

// ServeMethod implements [mcp.Extender].
func (r *Retirable) ServeMethod(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	if _, ok := r.Source.(mcp.Extender); !ok {
		return nil, mcp.MethodNotFound(method)
	}
	return runCounted(ctx, r, extension{method, params}, serveMethod)
}

// Subscribe implements [mcp.Subscriber].
func (r *Retirable) Subscribe(ctx context.Context, uri string) error {
	if _, ok := r.Source.(mcp.Subscriber); !ok {
		return nil // subscriptions need no call
	}
	_, err := runCounted(ctx, r, uri, subscribe)
	return err
}
