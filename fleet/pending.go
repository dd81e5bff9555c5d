package fleet

import (
	"cmp"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// Pauses between attempts to open a source: the first and the longest.
const (
	firstReopen = time.Second
	maxReopen   = 30 * time.Second
)

// AwaitOptions configure [Await]. The zero value and nil are the defaults.
type AwaitOptions struct {
	// Wait is how long Await waits for the source; 0 means 300 milliseconds.
	Wait time.Duration
	// Joined means that the source is one of several: requests for lists wait for it until
	// Settle has passed, and other requests do not. A failure after Wait is retried, with
	// pauses that grow to 30 seconds. By default, the source is served alone: requests wait
	// without a limit, and its first failure is final.
	Joined bool
	Settle time.Duration
	// Observe, if not nil, is called with [client.EventUnavailable] for each failure that is
	// retried.
	Observe func(client.Event)
}

// Await calls open and returns its result if that arrives in time. Otherwise it returns a
// [*Pending], which is served as name while open continues. ctx bounds only the opening,
// which Close also ends.
func Await(
	ctx context.Context, name string, open func(context.Context) (mcp.Source, error), opts *AwaitOptions,
) (mcp.Source, error) {
	if opts == nil {
		opts = &AwaitOptions{}
	}
	p := newPending(name, open, opts)
	return p.await(ctx, cmp.Or(max(opts.Wait, 0), startGrace))
}

// Hold pauses the timer of the [Await] that called open with ctx until release is called,
// for use while the user is being asked for input. Without an Await it has no effect.
func Hold(ctx context.Context) (release func()) {
	p, _ := ctx.Value(pendingKey{}).(*Pending)
	if p == nil {
		return func() {}
	}
	p.pauseTimer(true)
	return func() { p.pauseTimer(false) }
}

// pendingKey is the key of a [Pending] in a context.
type pendingKey struct{}

// Pending is a source that is served while it is being opened. Until then it offers
// nothing, and every request that depends on its catalog waits: lists, calls and
// extension methods. Clients that connect in the meantime see its provisional name, and
// receive list_changed once it is open; later clients see the source itself. It is safe
// for concurrent use.
type Pending struct {
	*compose.Swap
	name string
	// open opens the Source in the background.
	open     func(context.Context) (mcp.Source, error)
	opts     *AwaitOptions
	starting startup

	stop   context.CancelFunc
	work   sync.WaitGroup
	holds  chan bool               // from Hold
	done   chan struct{}           // closed when the source is open, or has failed for good
	result atomic.Pointer[outcome] // stored before done is closed

	mu         sync.Mutex // guards what follows
	background bool       // await has returned
}

// outcome is the result of opening a source.
type outcome struct {
	// source is the opened Source, or err why it cannot be opened.
	source mcp.Source
	err    error
}

var (
	_ mcp.Source = (*Pending)(nil)
	_ io.Closer  = (*Pending)(nil)
)

// newPending returns a Source that offers nothing until open has returned.
func newPending(name string, open func(context.Context) (mcp.Source, error), opts *AwaitOptions) *Pending {
	p := &Pending{
		Swap: compose.NewSwap(&emptySource{catalog: mcp.Catalog{
			Server: mcp.Implementation{
				Name:    name,
				Version: "0",
			},
			Sources: []mcp.JoinedSource{{Name: name, Unknown: true}},
		}}),
		name:  name,
		open:  open,
		opts:  opts,
		holds: make(chan bool, 8),
		done:  make(chan struct{}),
	}
	p.starting.joined = opts.Joined
	p.starting.alone = !opts.Joined
	p.starting.beginPhase(opts.Settle)
	return p
}

// await starts opening the source, and returns the source or its error if either arrives
// within the grace period; otherwise it returns p.
func (p *Pending) await(ctx context.Context, grace time.Duration) (mcp.Source, error) {
	ctx, p.stop = context.WithCancel(context.WithValue(ctx, pendingKey{}, p))
	first := make(chan outcome, 1)
	p.work.Go(func() { p.keepOpening(ctx, first) })
	clock := time.NewTimer(grace)
	defer clock.Stop()
	for waiting := true; waiting; {
		select {
		case o := <-first:
			p.stop()
			p.work.Wait()
			return o.source, o.err
		case asking := <-p.holds:
			if clock.Stop(); !asking {
				clock.Reset(grace)
			}
		case <-clock.C:
			waiting = false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.background = true
	select {
	case o := <-first: // arrived just now
		p.stop()
		return o.source, o.err
	default:
	}
	return p, nil
}

// pauseTimer never blocks: holds has no reader once await has returned.
func (p *Pending) pauseTimer(asking bool) {
	select {
	case p.holds <- asking:
	default:
	}
}

// keepOpening opens the source, with retries if it is one of several. The outcome of the first
// attempt goes to first if await is still waiting.
func (p *Pending) keepOpening(ctx context.Context, first chan<- outcome) {
	for pause := firstReopen; ; pause = min(2*pause, maxReopen) {
		src, err := p.open(ctx)
		if err != nil {
			src = nil // avoids a typed nil
		}
		if p.deliverFirst(first, outcome{src, err}) {
			return
		}
		switch {
		case err == nil:
			p.Set(ctx, src)
			p.finish(outcome{source: src})
			return
		case ctx.Err() != nil, !p.opts.Joined:
			p.finish(outcome{err: err})
			return
		}
		p.starting.endPhase()
		if p.opts.Observe != nil {
			p.opts.Observe(client.Event{
				Name: p.name,
				What: client.EventUnavailable,
				Err:  err,
			})
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			p.finish(outcome{err: ctx.Err()})
			return
		}
	}
}

// deliverFirst sends o to await if that is still waiting, and reports whether it did.
func (p *Pending) deliverFirst(first chan<- outcome, o outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.background {
		return false
	}
	first <- o
	return true
}

func (p *Pending) finish(o outcome) {
	p.result.Store(&o)
	close(p.done)
	p.starting.endPhase()
}

// Opened waits until the source is open, and returns it or the reason it cannot be
// opened. If ctx ends first, it returns the error of ctx. The source is closed with p.
func (p *Pending) Opened(ctx context.Context) (mcp.Source, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o := p.result.Load()
	return o.source, o.err
}

// Catalog implements [mcp.Source].
func (p *Pending) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	switch mcp.RequestFrom(ctx).Method() {
	case "initialize", "server/discover":
		if p.starting.alone && p.result.Load() != nil {
			// The original catalog, without the capabilities declared for earlier sessions.
			return p.load(ctx)
		}
	}
	return p.starting.catalog(ctx, nil, p.load)
}

// load returns the current catalog, or an error if the Source failed for good.
func (p *Pending) load(ctx context.Context) (*mcp.Catalog, error) {
	o := p.result.Load()
	if o != nil && o.err != nil {
		return nil, mcp.Errorf(mcp.CodeToolUnavailable,
			"server %q cannot be started", p.name)
	}
	return p.Swap.Catalog(ctx)
}

// Close ends the opening, or closes the opened source.
func (p *Pending) Close() error {
	p.stop()
	p.starting.endPhase()
	p.work.Wait()
	if o := p.result.Load(); o != nil {
		if c, ok := o.source.(io.Closer); ok {
			return c.Close()
		}
	}
	return nil
}
