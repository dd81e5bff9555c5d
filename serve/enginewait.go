package serve

import (
	"context"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// engineTime is how long a request may wait for the engine at one replica, however many questions remain without an
// answer. A client whose replica reaches the engine gets an answer within three seconds.
const engineTime = 2500 * time.Millisecond

// engineWait is how long a request has waited for the engine. Other waits, such as those for a process that stops, do
// not count. It belongs to the goroutine of the request. With a nil engineWait, each question has its own limit alone.
type engineWait struct{ waited time.Duration }

// ask returns a context for one or more questions to the engine, which ends after most, or when the request has waited
// for engineTime. done must be called before the next ask.
func (e *engineWait) ask(ctx context.Context, most time.Duration) (limited context.Context, done func()) {
	if e == nil {
		return context.WithTimeout(ctx, most)
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, min(most, engineTime-e.waited))
	return limited, func() {
		cancel()
		e.waited += time.Since(began)
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
