package serve

import (
	"context"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// startup waits for a Source that is served before it is open.
type startup struct {
	done chan struct{}      // closed when the wait is over
	err  error              // why serving must stop, or nil; valid once done is closed
	stop context.CancelFunc // cancels the wait
}

// awaitStartup starts waiting for src if it is [Pending]. The returned context ends with
// ctx, and when the Source cannot be opened, or a pattern of the tool scopes or an endpoint
// names nothing of it. show is called with the opened Source. The caller must call close.
func (o *Options) awaitStartup(
	ctx context.Context,
	src mcp.Source,
	show func(mcp.Source),
) (context.Context, *startup) {
	p := &startup{done: make(chan struct{})}
	outer := ctx
	ctx, p.stop = context.WithCancel(outer)
	pending, ok := src.(Pending)
	if !ok {
		close(p.done)
		return ctx, p
	}
	go func() {
		opened, err := pending.Opened(ctx)
		if err == nil {
			err = o.proveToolScopes(ctx, src)
		}
		if err == nil {
			err = o.proveNames(ctx, src)
		}
		if err == nil {
			show(opened)
			if o.Observer.Opened != nil {
				o.Observer.Opened(opened)
			}
			close(p.done)
			return
		}
		// Otherwise the server stops for another reason. A Source whose opening ends with the same
		// context may notice it before ctx does.
		if ctx.Err() == nil && outer.Err() == nil {
			p.err = err
		}
		close(p.done) // before ctx ends, because failure is called then
		p.stop()
	}()
	return ctx, p
}

// failure returns why serving must stop, or nil.
func (p *startup) failure() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// wait waits for the outcome, for at most timeout, and returns why serving must stop, or
// nil.
func (p *startup) wait(ctx context.Context, timeout time.Duration) error {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
	case <-ctx.Done():
	}
	return p.failure()
}

// close cancels the wait and returns once it has ended.
func (p *startup) close() {
	p.stop()
	<-p.done
}
