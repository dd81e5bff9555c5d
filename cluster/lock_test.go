package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
)

// TestLock guards that one replica at a time has a lock.
func TestLock(t *testing.T) {
	t.Parallel()
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			var held, most, taken atomic.Int64
			var all sync.WaitGroup
			var last *cluster.Replica
			for range 3 {
				r, err := cluster.Join(t.Context(), e, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Leave(context.Background()) })
				last = r
				for range 2 {
					all.Go(func() {
						for range 3 {
							unlock, ok, err := r.Lock(t.Context(), "a", true)
							if err != nil || !ok {
								t.Errorf("Lock = %v, %v, want that it waits", ok, err)
								return
							}
							most.Store(max(most.Load(), held.Add(1)))
							taken.Add(1)
							time.Sleep(5 * time.Millisecond)
							held.Add(-1)
							unlock()
						}
					})
				}
			}
			all.Wait()
			if most.Load() != 1 || taken.Load() != 18 {
				t.Errorf("%d had the lock at once, and it was taken %d times, want 1 and 18", most.Load(), taken.Load())
			}
			unlock, ok, err := last.Lock(t.Context(), "a", false)
			if err != nil || !ok {
				t.Fatalf("Lock = %v, %v, want the lock", ok, err)
			}
			if _, ok, err := last.Lock(t.Context(), "a", false); ok || err != nil {
				t.Errorf("a second Lock = %v, %v, want that it is not available", ok, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, ok, err := last.Lock(ctx, "a", true); ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Lock with a deadline = %v, %v, want the deadline", ok, err)
			}
			unlock()
		})
	}
}

// lossy is an engine that loses the answer to the next write of a lock, if lose is set, and answers nothing while
// Cut is.
type lossy struct {
	cutengine.Engine

	lose atomic.Bool
}

func (l *lossy) answer(key string, revision uint64, err error) (uint64, error) {
	if err == nil && strings.HasPrefix(key, "lock/") && l.lose.CompareAndSwap(true, false) {
		return 0, errors.New("the answer was lost")
	}
	return revision, err
}

func (l *lossy) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	revision, err := l.Engine.Create(ctx, key, value, ttl)
	return l.answer(key, revision, err)
}

func (l *lossy) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	revision, err := l.Engine.Update(ctx, key, value, revision, ttl)
	return l.answer(key, revision, err)
}

// TestLockAfterLostAnswer guards a lock of which the engine has lost an answer: its holder keeps it, and frees it.
func TestLockAfterLostAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		taking bool          // the answer to the acquisition is lost, instead of one to a renewal
		held   time.Duration // how long the lock is held
	}{
		"taken":   {taking: true, held: time.Minute},
		"renewed": {held: time.Minute},
		"freed":   {held: 5 * time.Second}, // just after the lost renewal
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &lossy{Engine: cutengine.Engine{Engine: cluster.NewMemory()}}
				holder, other := joinUnconnected(t, e), joinUnconnected(t, e.Engine.Engine)
				e.lose.Store(test.taking)
				unlock, ok, err := holder.Lock(t.Context(), "a", false)
				if err != nil || !ok {
					t.Fatalf("Lock = %v, %v, want the lock", ok, err)
				}
				e.lose.Store(true)
				time.Sleep(test.held)
				if e.lose.Load() {
					t.Error("no answer was lost")
				}
				if _, ok, err := other.Lock(t.Context(), "a", false); ok || err != nil {
					t.Errorf("another Lock = %v, %v, want that it is not available", ok, err)
				}
				unlock()
				unlock, ok, err = other.Lock(t.Context(), "a", false)
				if err != nil || !ok {
					t.Fatalf("Lock after unlock = %v, %v, want the lock", ok, err)
				}
				unlock()
			})
		})
	}
}

// TestLockLost guards a holder that was cut off for longer than the lease of its lock: it takes the lock again if that
// is free, and does not touch that of another holder.
func TestLockLost(t *testing.T) {
	for _, taken := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := &lossy{Engine: cutengine.Engine{Engine: cluster.NewMemory()}}
			holder, other := joinUnconnected(t, e), joinUnconnected(t, e.Engine.Engine)
			unlock, ok, err := holder.Lock(t.Context(), "a", false)
			if err != nil || !ok {
				t.Fatalf("Lock = %v, %v, want the lock", ok, err)
			}
			e.Cut.Store(true)
			time.Sleep(20 * time.Second)
			if taken {
				if unlock, ok, err := other.Lock(t.Context(), "a", false); err != nil || !ok {
					t.Fatalf("Lock of another replica = %v, %v, want the lock", ok, err)
				} else {
					defer unlock()
				}
			}
			e.Cut.Store(false)
			time.Sleep(10 * time.Second)
			for range 2 {
				if _, ok, err := other.Lock(t.Context(), "a", false); ok || err != nil {
					t.Errorf("taken by another: %v: Lock = %v, %v, want that it is not available", taken, ok, err)
				}
				if !taken {
					break
				}
				unlock() // of the lock that was lost
			}
			if !taken {
				unlock()
			}
		})
	}
}
