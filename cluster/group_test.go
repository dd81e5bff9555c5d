package cluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// TestGroup guards that every replica has the records of a group, and that of several that
// change a record at once one succeeds.
func TestGroup(t *testing.T) {
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			ctx := t.Context()
			var groups []*cluster.Group
			for range 3 {
				r, err := cluster.Join(ctx, e, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Leave(context.Background()) })
				g, err := r.Group(ctx, "things")
				if err != nil {
					t.Fatal(err)
				}
				groups = append(groups, g)
			}
			has := func(value string) func() bool {
				return func() bool {
					for _, g := range groups {
						if r, err := g.Get("a"); err != nil || string(r.Value) != value {
							return false
						}
					}
					return true
				}
			}
			version := groups[2].Version()
			first, err := groups[0].Put(ctx, "a", []byte("1"), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := groups[1].Read(ctx, "a"); err != nil || string(r.Value) != "1" {
				t.Errorf("Read = %q, %v, want the record of the other replica at once", r.Value, err)
			}
			eventually(t, "all replicas to have the record", has("1"))
			if groups[2].Version() == version {
				t.Error("the version is the same after a change")
			}
			var won atomic.Int64
			var all sync.WaitGroup
			for _, g := range groups {
				all.Go(func() {
					switch _, err := g.Put(ctx, "a", []byte("2"), first, 0); {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, cluster.ErrConflict):
						t.Error(err)
					}
				})
			}
			all.Wait()
			if won.Load() != 1 {
				t.Errorf("%d replicas replaced one revision, want 1", won.Load())
			}
			eventually(t, "all replicas to have the new value", has("2"))
			if err := groups[1].Sync(ctx); err != nil {
				t.Error(err)
			}
			r, err := groups[1].Get("a")
			if err != nil {
				t.Fatal(err)
			}
			if err := groups[1].Delete(ctx, "a", first); !errors.Is(err, cluster.ErrConflict) {
				t.Errorf("Delete with an old revision: %v", err)
			}
			if err := groups[1].Delete(ctx, "a", r.Revision); err != nil {
				t.Error(err)
			}
			eventually(t, "the record to disappear everywhere", func() bool {
				for _, g := range groups {
					if _, err := g.Get("a"); !errors.Is(err, cluster.ErrNotFound) {
						return false
					}
				}
				return true
			})
		})
	}
}

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
