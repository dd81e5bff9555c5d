package serve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// engineTime is how long a request may wait for the engine, at each replica that it reaches: however many questions
// remain without an answer, its client gets one within three seconds.
const engineTime = 2500 * time.Millisecond

// engineWait is how long a request has waited for the engine, in nanoseconds. Other waits, such as those for a process
// that stops, do not count. A nil engineWait, for what is done without a request, bounds nothing.
type engineWait struct{ waited atomic.Int64 }

// ask returns a context for one or more questions to the engine, which ends after most, or when the request has waited
// for engineTime. done must be called afterwards. Only one of them may be in use at a time.
func (e *engineWait) ask(ctx context.Context, most time.Duration) (limited context.Context, done func()) {
	if e == nil {
		return context.WithTimeout(ctx, most)
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, min(most, engineTime-time.Duration(e.waited.Load())))
	return limited, func() {
		cancel()
		e.waited.Add(int64(time.Since(began)))
	}
}

// holder returns the replica with an id, or nil if it cannot be reached. It asks the engine only for one that is not
// known.
func (p *hop) holder(ctx context.Context, id string, e *engineWait) *cluster.Peer {
	if p.replica.Known(id) == nil {
		asks, done := e.ask(ctx, recordTimeout)
		defer done()
		ctx = asks
	}
	return p.replica.Holder(ctx, id)
}
