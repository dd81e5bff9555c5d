package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// failingEngine is an engine that stores nothing while it fails.
type failingEngine struct {
	cluster.Engine

	fails atomic.Bool
}

var errFails = errors.New("the engine fails")

func (f *failingEngine) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if f.fails.Load() {
		return 0, errFails
	}
	return f.Engine.Update(ctx, key, value, revision, ttl)
}

// TestRetireAgain guards a replica that leaves while the engine fails: it keeps what it has, and hands it over once the
// others know.
func TestRetireAgain(t *testing.T) {
	e := &failingEngine{Engine: cluster.NewMemory()}
	p := newOwner(t, e).homes(&noProcesses{}).hop
	e.fails.Store(true)
	p.retire()
	time.Sleep(noticeRetirement / 2)
	if p.retiring.Load() {
		t.Error("a replica hands over that could not tell the others that it leaves")
	}
	e.fails.Store(false)
	for deadline := time.Now().Add(10 * time.Second); !p.retiring.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the replica did not try again")
		}
	}
	p.running.Wait()
}
