package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

const (
	// lateGrace is how long serving waits for a source that may come late, so that the
	// first list that clients see includes an available one.
	lateGrace = 300 * time.Millisecond
	// lateRetry is the first pause between two attempts to open it. It is doubled up to
	// maxLateRetry.
	lateRetry    = 250 * time.Millisecond
	maxLateRetry = 5 * time.Second
)

// lateSource is a source that may be unavailable when serving starts. It is opened in
// the background until it succeeds, and offers nothing until then.
type lateSource struct {
	*compose.Swap
	stop   context.CancelFunc
	done   chan struct{}
	opened mcp.Source // valid when done is closed
	// tried is closed after the first attempt, or when requests stop waiting for it.
	tried chan struct{}
	// awaited means that a warning said that it is not available yet.
	awaited atomic.Bool
}

// openLate starts opening arg. An input that no later attempt can open is an error.
// wrap adapts the opened source. settle limits how long requests wait for the first attempt.
func openLate(ctx context.Context, arg string, settle time.Duration, opts *open.Options, log *slog.Logger,
	wrap func(mcp.Source) mcp.Source) (*lateSource, error) {
	ctx, stop := context.WithCancel(ctx)
	l := &lateSource{
		Swap:  compose.NewSwap(absent{}),
		stop:  stop,
		done:  make(chan struct{}),
		tried: make(chan struct{}),
	}
	endWait := sync.OnceFunc(func() { close(l.tried) })
	time.AfterFunc(settle, endWait)
	first := make(chan error, 1)
	go func() {
		defer close(l.done)
		defer endWait()
		l.open(ctx, arg, opts, log, wrap, first, endWait)
	}()
	grace := time.NewTimer(lateGrace)
	defer grace.Stop()
	select {
	case <-grace.C:
		l.awaited.Store(true)
		log.Warn("fallback not available yet, serving the site alone", "source", open.Argument(arg).Name())
	case err := <-first:
		var opening *open.Error
		switch {
		case err == nil:
		case errors.As(err, &opening) && opening.Kind == open.Remote:
			log.Warn("fallback not available, serving the site alone", "source", open.Argument(arg).Name(), "error", err)
		default:
			l.Close()
			return nil, err
		}
	case <-ctx.Done():
		l.Close()
		return nil, ctx.Err()
	}
	return l, nil
}

// open opens arg, retrying until it succeeds or ctx is done. The outcome of the first
// attempt is sent to first, and ends the wait of requests.
func (l *lateSource) open(ctx context.Context, arg string, opts *open.Options, log *slog.Logger,
	wrap func(mcp.Source) mcp.Source, first chan<- error, endWait func()) {
	var muted atomic.Bool
	opts = withMutedLog(opts, &muted)
	pause := lateRetry
	for attempt := 1; ; attempt++ {
		src, err := open.Open(ctx, arg, opts)
		muted.Store(err != nil) // later attempts fail for the same reason
		if err == nil {
			l.opened = src
			l.Set(ctx, wrap(src))
			if attempt > 1 || l.awaited.Load() {
				log.Info("fallback available", "source", open.Argument(arg).Name(), "attempts", attempt)
			}
		}
		if attempt == 1 {
			first <- err
			endWait()
		}
		if err == nil {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, maxLateRetry)
	}
}

// await waits for the first attempt to open the source, so that a request right after the start gets
// the answer of a source that is about to be available.
func (l *lateSource) await(ctx context.Context) {
	select {
	case <-l.tried:
	case <-ctx.Done():
	}
}

// withMutedLog returns options whose servers log and report nothing while muted is set.
func withMutedLog(opts *open.Options, muted *atomic.Bool) *open.Options {
	if opts.Live == nil || opts.Live.Source == nil || opts.Live.Source.Logger == nil {
		return opts
	}
	o := *opts
	l := *opts.Live
	s := *opts.Live.Source
	s.Logger = slog.New(mutedHandler{s.Logger.Handler(), muted})
	observe := s.Observe
	s.Observe = func(e client.Event) {
		if !muted.Load() {
			observe(e)
		}
	}
	l.Source = &s
	o.Live = &l
	return &o
}

// mutedHandler is a handler that can be muted.
type mutedHandler struct {
	slog.Handler
	muted *atomic.Bool
}

// Enabled implements [slog.Handler].
func (h mutedHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.muted.Load() && h.Handler.Enabled(ctx, level)
}

// Close stops the attempts and closes the source.
func (l *lateSource) Close() error {
	l.stop()
	<-l.done
	if l.opened != nil {
		closeSource(l.opened)
	}
	return nil
}

// absent is what a lateSource offers before it is opened.
type absent struct{ mcp.Unimplemented }

// Catalog returns an error, since what the source offers is not known.
func (absent) Catalog(context.Context) (*mcp.Catalog, error) {
	return nil, mcp.Errorf(mcp.CodeToolUnavailable, "the site has no such answer, and the fallback is not available")
}
