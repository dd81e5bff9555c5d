package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// TestIdleSessionMemory guards what a replica keeps for an idle session because of the cluster.
func TestIdleSessionMemory(t *testing.T) {
	const sessions, most = 10_000, 160
	o := newOwner(t, cluster.NewMemory())
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = fmt.Sprint("session ", i)
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for _, id := range ids {
		s := o.newSession(id)
		if err := s.lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.adopted(1, 1)
		s.unlock()
		o.all.add(s)
	}
	each := (heap() - before) / sessions
	t.Logf("%d bytes for a session", each)
	if each > most {
		t.Errorf("%d bytes for a session, want at most %d", each, most)
	}
	runtime.KeepAlive(o)
	runtime.KeepAlive(ids)
}

// TestClaimAge guards records of what is used although the clock of the machine is set: the engine deletes a record
// that is not written again.
func TestClaimAge(t *testing.T) {
	const long = time.Hour
	var c ownedClaim
	c.adopted(1, 1)
	if c.sinceWritten() > time.Minute || c.usedSinceWritten(time.Now().Add(-long)) {
		t.Errorf("just written, %v ago", c.sinceWritten())
	}
	c.written = time.Now().Add(-long).UnixNano() // an hour ago, or the clock was set forward
	if c.sinceWritten() < long || !c.usedSinceWritten(time.Now().Add(-long/2)) {
		t.Errorf("written %v ago, want an hour", c.sinceWritten())
	}
	c.written = time.Now().Add(long).UnixNano() // the clock was set back
	if c.sinceWritten() < long || !c.usedSinceWritten(time.Now()) {
		t.Errorf("written %v ago by a clock that was set back, want long", c.sinceWritten())
	}
}

// TestClaimLock guards the lock of a record: one holds it at a time, all that wait get it, and a request that
// was cancelled does not wait.
func TestClaimLock(t *testing.T) {
	var c ownedClaim
	held, most := 0, 0
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if err := c.lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				held++
				most = max(most, held)
				runtime.Gosched()
				held--
				c.unlock()
			}
		})
	}
	group.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at the same time, want 1", most)
	}
	if err := c.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("lock of a cancelled request = %v, want canceled", err)
	}
	c.unlock()
}
