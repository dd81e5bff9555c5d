package open

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// Pauses between attempts to open a source: the first and the longest.
const (
	firstReopen = time.Second
	maxReopen   = 30 * time.Second
)

// Later is [Open] for one of several sources that are served together. A source that does
// not open within [DefinitionsOptions].StartWait offers nothing until it does, so that the
// others can be served. Requests for lists wait for it until patience has passed.
//
// A failure within StartWait is returned, as by Open. A later failure is retried, with
// pauses that grow to 30 seconds, and reported to trouble, if not nil, each time. Close
// the source in any case; the end of ctx also ends the opening. opts and opts.Definitions
// must not be nil.
func Later(
	ctx context.Context, arg string, opts *Options, patience time.Duration, trouble func(error),
) (mcp.Source, error) {
	if !MayTakeLong(arg) {
		joined, definitions := *opts, *opts.Definitions
		definitions.joined, joined.Definitions = true, &definitions
		return Open(ctx, arg, &joined)
	}
	if trouble == nil {
		trouble = func(error) {}
	}
	p := newPending(Name(arg), func(ctx context.Context) (mcp.Source, error) { return Open(ctx, arg, opts) })
	p.failed = trouble
	p.starting.joined = true
	p.starting.begin(patience)
	return p.await(ctx, opts.Definitions.StartWait)
}

// Await calls open for a source that is served alone, and returns its result if that
// arrives within wait; 0 means 300 milliseconds. Otherwise it returns a [*Pending], which
// is served as name while open continues. ctx bounds only the opening.
func Await(
	ctx context.Context, name string, wait time.Duration, open func(context.Context) (mcp.Source, error),
) (mcp.Source, error) {
	p := newPending(name, open)
	p.starting.alone = true
	p.starting.begin(0)
	return p.await(ctx, wait)
}

// MayTakeLong reports whether opening a source involves more than local files: starting a
// server, or waiting for one to respond. Definitions have their own wait, see
// [DefinitionsOptions.Background].
func MayTakeLong(arg string) bool {
	arg = normalize(arg)
	if strings.HasPrefix(arg, commandPrefix) || strings.Contains(arg, "://") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && isBundle(arg, info)
}

// Hold pauses the timer of the [Await] that called open with ctx until release is called,
// for use while the user is being asked for input. Without an Await it has no effect.
func Hold(ctx context.Context) (release func()) {
	p, _ := ctx.Value(pendingKey{}).(*Pending)
	if p == nil {
		return func() {}
	}
	p.hold(true)
	return func() { p.hold(false) }
}

type pendingKey struct{}

// Pending is a source that is served while it is being opened. Until then it offers
// nothing, and every request that depends on its catalog waits: lists, calls and
// extension methods. Clients that connect in the meantime see its provisional name, and
// receive list_changed once it is open; later clients see the source itself. It is safe
// for concurrent use.
type Pending struct {
	*compose.Swap
	name     string
	open     func(context.Context) (mcp.Source, error)
	failed   func(error) // reports a failure that is retried, or nil
	starting startup

	stop   context.CancelFunc
	work   sync.WaitGroup
	holds  chan bool               // from Hold
	over   chan struct{}           // closed when the source is open, or has failed for good
	result atomic.Pointer[outcome] // stored before over is closed

	mu         sync.Mutex // guards what follows
	background bool       // await has returned
}

// outcome is the result of opening a source.
type outcome struct {
	source mcp.Source
	err    error
}

var (
	_ mcp.Source = (*Pending)(nil)
	_ io.Closer  = (*Pending)(nil)
)

func newPending(name string, open func(context.Context) (mcp.Source, error)) *Pending {
	return &Pending{
		Swap: compose.NewSwap(&nobody{catalog: mcp.Catalog{
			Server:  mcp.Implementation{Name: name, Version: "0"},
			Sources: []mcp.JoinedSource{{Name: name, Unknown: true}},
		}}),
		name: name, open: open, holds: make(chan bool, 8), over: make(chan struct{}),
	}
}

// await starts opening the source, and returns the source or its error if either arrives
// within the grace period; otherwise it returns p.
func (p *Pending) await(ctx context.Context, grace time.Duration) (mcp.Source, error) {
	grace = cmp.Or(max(grace, 0), startGrace)
	ctx, p.stop = context.WithCancel(context.WithValue(ctx, pendingKey{}, p))
	first := make(chan outcome, 1)
	p.work.Go(func() { p.run(ctx, first) })
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

// hold never blocks: holds has no reader once await has returned.
func (p *Pending) hold(asking bool) {
	select {
	case p.holds <- asking:
	default:
	}
}

// run opens the source, with retries if it is one of several. The outcome of the first
// attempt goes to first if await is still waiting.
func (p *Pending) run(ctx context.Context, first chan<- outcome) {
	for pause := firstReopen; ; pause = min(2*pause, maxReopen) {
		src, err := p.open(ctx)
		if err != nil {
			src = nil // avoids a typed nil
		}
		if p.isFirst(first, outcome{src, err}) {
			return
		}
		switch {
		case err == nil:
			p.Set(ctx, src)
			p.end(outcome{source: src})
			return
		case ctx.Err() != nil, p.failed == nil:
			p.end(outcome{err: err})
			return
		}
		p.starting.end()
		p.failed(err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			p.end(outcome{err: ctx.Err()})
			return
		}
	}
}

// isFirst sends o to await if that is still waiting, and reports whether it did.
func (p *Pending) isFirst(first chan<- outcome, o outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.background {
		return false
	}
	first <- o
	return true
}

func (p *Pending) end(o outcome) {
	p.result.Store(&o)
	close(p.over)
	p.starting.end()
}

// Opened waits until the source is open, and returns it or the reason it cannot be
// opened. If ctx ends first, it returns the error of ctx. The source is closed with p.
func (p *Pending) Opened(ctx context.Context) (mcp.Source, error) {
	select {
	case <-p.over:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o := p.result.Load()
	return o.source, o.err
}

// Catalog implements [mcp.Source].
func (p *Pending) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	if p.starting.alone && p.result.Load() != nil && introduces(mcp.RequestFrom(ctx)) {
		return p.load(ctx) // the original catalog, without the capabilities declared for earlier sessions
	}
	return p.starting.catalog(ctx, nil, p.load)
}

func (p *Pending) load(ctx context.Context) (*mcp.Catalog, error) {
	if o := p.result.Load(); o != nil && o.err != nil {
		return nil, mcp.Errorf(mcp.CodeToolUnavailable, "server %q cannot be started", p.name)
	}
	return p.Swap.Catalog(ctx)
}

// Close ends the opening, or closes the opened source.
func (p *Pending) Close() error {
	p.stop()
	p.starting.end()
	p.work.Wait()
	if o := p.result.Load(); o != nil {
		if c, ok := o.source.(io.Closer); ok {
			return c.Close()
		}
	}
	return nil
}
