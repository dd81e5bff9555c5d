package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// requestContext is the context of a request: it ends when the client or the server cancels the
// request, when its time is up, or when its Source method has returned. Its channel and
// timer are created on first use.
type requestContext struct {
	parent  context.Context
	waiting *requestSet   // of the server; contains the request while its channel is in use
	began   time.Time     // when the message was read; zero if that is not needed
	timeout time.Duration // after which the request ends; 0 for none
	// valid is HTTPOptions.Revalidate, for a request that waits.
	valid func(context.Context) bool
	// detached means that the end of the parent does not cancel the request: up to
	// 2025-11-25, a disconnect is not a cancellation.
	detached bool
	// finished means that the answer is being sent, so no more notifications may be; guarded
	// by mu.
	finished bool
	// logging is the catalog's Logging.
	logging bool
	// entered means that the gate has admitted the request, which has not left it yet.
	entered bool

	mu      sync.Mutex
	done    chan struct{}
	err     error
	because *mcp.Error // the answer to a request cancelled by the server
	after   []*afterFunc
	unlink  func() bool // stops waiting for the end of parent
	timer   *time.Timer // of the deadline
}

// deadline returns when the request ends, or zero.
func (f *requestContext) deadline() time.Time {
	if f.timeout == 0 {
		return time.Time{}
	}
	return f.began.Add(f.timeout)
}

// Deadline implements context.Context.
func (f *requestContext) Deadline() (time.Time, bool) {
	own := f.deadline()
	if !f.detached {
		given, ok := f.parent.Deadline()
		if ok && (own.IsZero() || given.Before(own)) {
			return given, true
		}
	}
	return own, !own.IsZero()
}

// Done implements context.Context. The channel is created on first use.
func (f *requestContext) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doneLocked()
}

// doneLocked returns the channel, and starts waiting for the end on first use. mu is
// held.
func (f *requestContext) doneLocked() chan struct{} {
	if f.done != nil {
		return f.done
	}
	f.done = make(chan struct{})
	if err := f.endedLocked(); err != nil {
		f.err = err // prevents a second close of the channel
		close(f.done)
		return f.done
	}
	f.waiting.add(f)
	if !f.detached {
		f.unlink = context.AfterFunc(f.parent, func() { f.end(f.parent.Err()) })
	}
	if f.timeout > 0 {
		f.timer = time.AfterFunc(time.Until(f.deadline()), func() {
			f.end(context.DeadlineExceeded)
		})
	}
	return f.done
}

// Err implements context.Context.
func (f *requestContext) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.endedLocked()
}

// endedLocked returns why the context has ended, or nil. It also notices a deadline for
// which no timer runs. mu is held.
func (f *requestContext) endedLocked() error {
	switch {
	case f.err != nil:
		return f.err
	case f.finished:
		return context.Canceled
	}
	if f.timeout > 0 && !time.Now().Before(f.deadline()) {
		return context.DeadlineExceeded
	}
	if !f.detached {
		return f.parent.Err()
	}
	return nil
}

// afterFunc is a function to call at the end of the context; requestContext.mu guards it.
type afterFunc struct {
	f  func() // nil once it is stopped or called
	at int    // index in requestContext.after
}

// AfterFunc lets package context derive contexts without a goroutine each.
func (f *requestContext) AfterFunc(do func()) (stop func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.endedLocked() != nil {
		go do()
		return func() bool { return false }
	}
	f.doneLocked()
	a := &afterFunc{do, len(f.after)}
	f.after = append(f.after, a)
	return func() bool { return f.stopAfter(a) }
}

// stopAfter forgets a function, and reports whether it was neither stopped nor called before. A long request may have
// a derived context for each of its own requests.
func (f *requestContext) stopAfter(a *afterFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.f == nil {
		return false
	}
	a.f = nil
	end := len(f.after) - 1
	last := f.after[end]
	f.after[a.at] = last
	last.at = a.at
	f.after[end] = nil
	f.after = f.after[:end]
	return true
}

// cancel ends the request because its client no longer wants the answer.
func (f *requestContext) cancel() { f.end(context.Canceled) }

// cancelBecause ends the request on the server's initiative. Its client, which may still
// be waiting, gets e as the answer.
func (f *requestContext) cancelBecause(e *mcp.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && !f.finished {
		f.because = e
	}
	f.endLockedWith(context.Canceled)
}

// end ends the context with an error. Calls after the first have no effect.
func (f *requestContext) end(reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLockedWith(reason)
}

func (f *requestContext) endLockedWith(reason error) {
	if f.err != nil || f.finished {
		return
	}
	f.err = reason
	f.releaseLocked()
}

// releaseLocked notifies everything that waits for the end of the context.
func (f *requestContext) releaseLocked() {
	if f.done == nil {
		return
	}
	close(f.done)
	f.waiting.remove(f)
	if f.unlink != nil {
		f.unlink()
	}
	if f.timer != nil {
		f.timer.Stop()
	}
	for _, a := range f.after {
		go a.f()
		a.f = nil
	}
	f.after = nil
}

// requestSet is a set of requests that can be cancelled together.
type requestSet struct {
	registry[*requestContext, *requestContext]
	// watching means that another revalidation is scheduled.
	watching atomic.Bool
}

// add adds a request, which is revalidated from now on if its surface requires it.
func (s *requestSet) add(f *requestContext) {
	s.registry.add(f, f)
	if f.valid != nil {
		s.watch()
	}
}

// cancelAll cancels all requests because the server is shutting down.
func (s *requestSet) cancelAll() {
	for _, f := range s.all() {
		f.cancelBecause(errEnding)
	}
}
