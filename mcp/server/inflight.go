package server

import (
	"context"
	"math"
	"sync/atomic"
)

// inflight counts requests or messages. It allows waiting until the count is zero while
// new requests may still start, which sync.WaitGroup does not.
type inflight struct {
	n    atomic.Int64                  // negative once closed
	idle atomic.Pointer[chan struct{}] // closed, and set to nil, at zero; nil if there are no waiters
}

// begin counts one more, and reports whether it may start: not after close.
func (f *inflight) begin() bool { return f.n.Add(1) > 0 }

// close prevents new starts if the count is zero, and reports whether it is.
func (f *inflight) close() bool {
	return f.n.CompareAndSwap(0, math.MinInt32)
}

// end counts one less, and wakes the waiters when none is left.
func (f *inflight) end() {
	if f.n.Add(-1) > 0 || f.idle.Load() == nil {
		return
	}
	if idle := f.idle.Swap(nil); idle != nil {
		close(*idle)
	}
}

// wait returns nil when nothing is in flight, or ctx's error.
func (f *inflight) wait(ctx context.Context) error {
	for {
		idle := f.signal()
		// From here on, the call of end that reaches zero closes idle.
		if f.n.Load() == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// signal returns a channel that is closed when the count next reaches zero.
func (f *inflight) signal() <-chan struct{} {
	for {
		if idle := f.idle.Load(); idle != nil {
			return *idle
		}
		idle := make(chan struct{})
		if f.idle.CompareAndSwap(nil, &idle) {
			return idle
		}
	}
}
