package mcp

import (
	"context"
	"sync/atomic"
)

// inflight counts requests, and lets others wait until there are none while
// more may still begin, which sync.WaitGroup does not allow.
type inflight struct {
	n    atomic.Int64
	idle atomic.Pointer[chan struct{}] // closed, and taken away, at zero; nil if nobody waits
}

func (f *inflight) begin() { f.n.Add(1) }

func (f *inflight) end() {
	if f.n.Add(-1) > 0 || f.idle.Load() == nil {
		return
	}
	if idle := f.idle.Swap(nil); idle != nil {
		close(*idle)
	}
}

// wait returns when nothing is in flight, or with ctx's error.
func (f *inflight) wait(ctx context.Context) error {
	for {
		idle := f.signal()
		// From here on, whoever brings the count to zero says so.
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
