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

// delayed is an engine whose events arrive late: wait is called before each of them.
type delayed struct {
	cluster.Engine

	wait func(ctx context.Context, e cluster.Event)
}

func (d *delayed) Subscribe(ctx context.Context, topics ...string) (cluster.Subscription, error) {
	sub, err := d.Engine.Subscribe(ctx, topics...)
	return &delayedSubscription{sub, d.wait}, err
}

type delayedSubscription struct {
	cluster.Subscription

	wait func(ctx context.Context, e cluster.Event)
}

func (s *delayedSubscription) Next(ctx context.Context) (cluster.Event, error) {
	e, err := s.Subscription.Next(ctx)
	if err == nil {
		s.wait(ctx, e)
	}
	return e, err
}

// hold waits until held is closed.
func hold(ctx context.Context, held <-chan struct{}) {
	select {
	case <-held:
	case <-ctx.Done():
	}
}

// followThings follows a group of an engine, at a replica that reports rarely.
func followThings(t *testing.T, e cluster.Engine) (*cluster.Replica, *cluster.Group) {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, &cluster.Options{Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	g, err := r.SealedGroup(t.Context(), "things", func(value []byte) string {
		return string(value[:min(len(value), len(cluster.KeyID(nil)))])
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, g
}

// TestLossIsNoDeletion guards logins in an engine that loses its data right after one was stored:
// the marker is missed then and the record is kept, so that the login has not ended.
func TestLossIsNoDeletion(t *testing.T) {
	memory := cluster.NewMemory()
	lose := func() {
		all, err := memory.List(context.Background(), "things")
		if err != nil {
			t.Error(err)
		}
		for _, r := range all {
			if err := memory.Delete(context.Background(), r.Key, r.Revision); err != nil {
				t.Error(err)
			}
		}
	}
	events := make(chan struct{})
	_, g := followThings(t, &delayed{memory, func(ctx context.Context, e cluster.Event) {
		if e.Topic == "things" {
			hold(ctx, events)
		}
	}})
	begin := func() {
		t.Helper()
		if _, err := g.Mark(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"b", "a"} {
			if _, err := g.Put(t.Context(), name, nil, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(how string) {
		t.Helper()
		eventually(t, "the marker to be missed", func() bool {
			_, err := g.Get(cluster.Marker)
			return err != nil
		})
		if _, err := g.Get("a"); err != nil {
			t.Errorf("%s: the record is missing, want that it is kept", how)
		}
	}
	begin()
	events <- struct{}{} // of the marker
	events <- struct{}{} // of b, once that of the marker has been handled
	lose()
	events <- struct{}{} // of a: those of the loss do not arrive
	check("an event")

	begin()
	during := &lossyList{Engine: memory, lose: lose}
	_, g = followThings(t, during)
	during.armed.Store(true)
	if err := g.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	check("a list")
}

// TestLossKeepsRecords guards the newest token of a login, which a replica may have in the group alone
// when it finds that the engine has lost its data: it stays until the next Sync.
func TestLossKeepsRecords(t *testing.T) {
	memory := cluster.NewMemory()
	_, g := followThings(t, memory)
	if _, err := g.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Put(t.Context(), "a", []byte("newest"), 0, 0); err != nil {
		t.Fatal(err)
	}
	memory.Lose() // ends the subscription too
	eventually(t, "the marker to be missed", func() bool {
		_, err := g.Get(cluster.Marker)
		return err != nil
	})
	if r, err := g.Get("a"); err != nil || string(r.Value) != "newest" {
		t.Errorf("after a loss, Get = %q, %v, want the record", r.Value, err)
	}
	if _, err := g.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := g.Get("a"); err == nil {
		t.Errorf("Get = %q of a record that no replica has stored again", r.Value)
	}
}

// lossyList is an engine that loses its data while a list is read, after the marker.
type lossyList struct {
	cluster.Engine

	lose  func()
	armed atomic.Bool
}

func (l *lossyList) List(ctx context.Context, group string) ([]cluster.Record, error) {
	if !l.armed.Load() {
		return l.Engine.List(ctx, group)
	}
	marker, err := l.Get(ctx, group+"/"+cluster.Marker)
	l.lose()
	return []cluster.Record{marker}, err
}

// TestRecordsAfterTheirKeys guards logins that another replica seals again as soon as the key has
// changed: they do not arrive before the key.
func TestRecordsAfterTheirKeys(t *testing.T) {
	memory := cluster.NewMemory()
	r, g := followThings(t, &delayed{memory, func(ctx context.Context, e cluster.Event) {
		if e.Topic == "key" {
			hold(ctx, nil)
		}
	}})
	for i, receive := range []func(name string) error{
		func(string) error { return nil },
		func(string) error { return g.Sync(t.Context()) },
		func(name string) error {
			_, err := g.Read(t.Context(), name)
			return err
		},
	} {
		rotation, err := cluster.RotateKey(t.Context(), memory, 0)
		if err != nil {
			t.Fatal(err)
		}
		name := string(rune('a' + i))
		if _, err := memory.Create(t.Context(), "things/"+name, []byte(rotation.Key+"sealed"), 0); err != nil {
			t.Fatal(err)
		}
		if err := receive(name); err != nil {
			t.Error(err)
		}
		eventually(t, "the record", func() bool {
			_, err := g.Get(name)
			return err == nil
		})
		if got := cluster.KeyID(r.Keys()[0]); got != rotation.Key {
			t.Errorf("record %s has arrived before its key: %s seals, want %s", name, got, rotation.Key)
		}
	}
}
