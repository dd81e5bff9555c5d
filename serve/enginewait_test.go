package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// slowSearch is an engine that takes long to list members, and notes until when it is asked for a record and its
// owner, "gone".
type slowSearch struct {
	cluster.Engine

	slow      atomic.Bool
	key       string
	mu        sync.Mutex
	deadlines []time.Time
}

func (e *slowSearch) List(ctx context.Context, group string) ([]cluster.Record, error) {
	if e.slow.Load() {
		time.Sleep(800 * time.Millisecond)
	}
	return e.Engine.List(ctx, group)
}

func (e *slowSearch) Get(ctx context.Context, key string) (cluster.Record, error) {
	asked := e.slow.Load() && (key == e.key || strings.HasSuffix(key, "/gone"))
	if deadline, ok := ctx.Deadline(); ok && asked {
		e.mu.Lock()
		e.deadlines = append(e.deadlines, deadline)
		e.mu.Unlock()
	}
	return e.Engine.Get(ctx, key)
}

// check verifies that the last question ends when the request has waited for engineTime. The first one, for the
// record, ends after recordTimeout.
func (e *slowSearch) check(t *testing.T) {
	t.Helper()
	e.slow.Store(false)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.deadlines) < 2 {
		t.Fatalf("the engine was asked %d times, want for the record and its owner", len(e.deadlines))
	}
	first, last := e.deadlines[0], slices.MaxFunc(e.deadlines, time.Time.Compare)
	if later := last.Sub(first); later > engineTime-recordTimeout+200*time.Millisecond {
		t.Errorf("the last question may take %v longer than the first, want %v", later, engineTime-recordTimeout)
	}
}

// TestCallerEngineSlow guards a home whose replica is gone while the engine answers late: the search for the replica
// does not postpone when the request is answered that it cannot be placed.
func TestCallerEngineSlow(t *testing.T) {
	e := &slowSearch{Engine: cluster.NewMemory(), key: homeKey("ann")}
	homes := newOwner(t, e).homes(&noProcesses{})
	if _, err := e.Create(t.Context(), e.key, []byte("gone\n"), time.Minute); err != nil {
		t.Fatal(err)
	}
	e.slow.Store(true)
	h, _, err := homes.find(t.Context(), "ann", homeQuery{fresh: true, engine: &engineWait{}})
	if err == nil {
		homes.leave(h)
	}
	e.check(t)
}

// TestSessionEngineSlow is TestCallerEngineSlow for a session.
func TestSessionEngineSlow(t *testing.T) {
	e := &slowSearch{Engine: cluster.NewMemory()}
	s := newOwner(t, e).start(t)
	e.key = s.key()
	record, err := e.Get(t.Context(), e.key)
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := strings.Cut(string(record.Value), "\n")
	if _, err := e.Update(t.Context(), e.key, []byte("gone\n"+state), record.Revision, time.Minute); err != nil {
		t.Fatal(err)
	}
	p := newOwner(t, e).placer(s.id, released{})
	e.slow.Store(true)
	p.byRecord(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil))
	e.check(t)
}

// TestEngineWait verifies that a request waits for the engine for engineTime, and that other waits do not count.
func TestEngineWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wait engineWait
		for _, want := range []time.Duration{recordTimeout, recordTimeout, engineTime - 2*recordTimeout, 0} {
			time.Sleep(time.Minute)
			began := time.Now()
			asks, done := wait.ask(t.Context(), recordTimeout)
			<-asks.Done()
			if took := time.Since(began); took != want || !errors.Is(asks.Err(), context.DeadlineExceeded) {
				t.Errorf("a question ended after %v: %v, want %v", took, asks.Err(), want)
			}
			done()
		}
		var none *engineWait
		asks, done := none.ask(t.Context(), time.Minute)
		defer done()
		if deadline, ok := asks.Deadline(); !ok || time.Until(deadline) != time.Minute {
			t.Errorf("without a request, the deadline is %v", deadline)
		}
	})
}
