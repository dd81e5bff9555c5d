package cluster_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/race"
)

// TestClaims guards what one replica owns: it is adopted only once its owner has released it, has
// left or has no lease, by exactly one other replica, and the owner notices.
func TestClaims(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			cut := &failing{Engine: e}
			ctx := t.Context()
			owner := join(t, cut)
			others := []*cluster.Replica{join(t, e), join(t, e)}
			const key = "session/a"
			revision, err := owner.WriteClaim(ctx, key, []byte("v\n1"), 0, 0, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			c, err := others[0].ReadClaim(ctx, key)
			if err != nil || c.Owner != owner.ID() || string(c.Value) != "v\n1" || c.Revision != revision {
				t.Fatalf("ReadClaim = %+v, %v", c, err)
			}
			if _, err := others[0].Adopt(ctx, key, &c, "", time.Minute); !errors.Is(err, cluster.ErrOwned) {
				t.Errorf("adopted from a replica that has just reported: %v", err)
			}
			<-time.After(1200 * time.Millisecond) // the others may adopt from now on
			if _, err := others[0].Adopt(ctx, key, &c, "", time.Minute); !errors.Is(err, cluster.ErrOwned) {
				t.Errorf("adopted from a replica with a lease: %v", err)
			}
			term := owner.Term()
			cut.down.Store(true)
			var held time.Time // by the owner
			eventually(t, "the end of the term", func() bool {
				now := time.Now()
				if owner.Term() == 0 {
					return true
				}
				held = now
				return false
			})
			// The lease ends later at the engine, by an eighth. On a machine that was busy for that long, the
			// attempt is late and says nothing.
			next, err := others[0].Adopt(ctx, key, &c, "", time.Minute)
			if took := time.Since(held); err == nil && took < owner.Lease()/8 {
				t.Errorf("adopted %v after the owner held its lease: it ends later at the engine", took)
			}
			adopted := err == nil
			if adopted {
				c.Revision = next
			}
			var adopter *cluster.Replica
			eventually(t, "an adoption", func() bool {
				if adopted {
					return true
				}
				var adopting sync.WaitGroup
				var winners atomic.Int64
				for _, r := range others {
					for range 4 {
						adopting.Go(func() {
							if _, err := r.Adopt(ctx, key, &c, "", time.Minute); err == nil {
								winners.Add(1)
							}
						})
					}
				}
				adopting.Wait()
				if n := winners.Load(); n > 1 {
					t.Errorf("%d adopted it", n)
				}
				return winners.Load() > 0
			})
			cut.down.Store(false)
			eventually(t, "the next term", func() bool { return owner.Term() > term })
			_, err = owner.WriteClaim(ctx, key, []byte("v2"), revision, term, time.Minute)
			if !errors.Is(err, cluster.ErrLost) {
				t.Errorf("the first owner wrote after another one has adopted: %v", err)
			}
			c, err = owner.ReadClaim(ctx, key)
			if err != nil || string(c.Value) != "v\n1" {
				t.Fatalf("ReadClaim = %+v, %v", c, err)
			}
			for _, r := range others {
				if r.ID() == c.Owner {
					adopter = r
				}
			}
			if adopter == nil {
				t.Fatalf("the owner is %s", c.Owner)
			}
			if _, err := owner.Adopt(ctx, key, &c, adopter.ID(), time.Minute); err != nil {
				t.Errorf("a released claim: %v", err)
			}
			if err := adopter.DeleteClaim(ctx, key); !errors.Is(err, cluster.ErrLost) {
				t.Errorf("a replica deleted the claim of another: %v", err)
			}
			if err := owner.Leave(context.Background()); err != nil {
				t.Error(err)
			}
			if owner.Term() != 0 {
				t.Error("a replica that has left has a term")
			}
			fresh := join(t, e)
			eventually(t, "the claim", func() bool {
				c, err = fresh.ReadClaim(ctx, key)
				return err == nil
			})
			if _, err := fresh.Adopt(ctx, key, &c, "", time.Minute); err != nil {
				t.Errorf("a replica that has just joined, from one that has left: %v", err)
			}
		})
	}
}

// TestGrants guards that a lease is granted only by a replica that does not reach the engine, which
// then adopts nothing for the time of a lease.
func TestGrants(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	memory := cluster.NewMemory()
	cutOwner, cut := &failing{Engine: memory}, &failing{Engine: memory}
	owner, other := join(t, cutOwner), join(t, cut)
	if other.Grant() {
		t.Error("a replica that reaches the engine granted a lease")
	}
	if _, err := owner.WriteClaim(t.Context(), "session/a", nil, 0, 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	<-time.After(1200 * time.Millisecond) // the other may adopt from now on
	term := owner.Term()
	cutOwner.down.Store(true)
	cut.down.Store(true)
	granted := time.Now()
	extend := func() bool {
		asked := owner.Now()
		if !owner.Expiring() || !other.Grant() {
			return false
		}
		granted = asked.Running
		owner.Extend(asked)
		return true
	}
	eventually(t, "a grant", extend)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if owner.Expiring() && !extend() {
			t.Fatal("no grant while the engine fails")
		}
		if owner.Term() != term {
			t.Fatal("the term ended in spite of the grants")
		}
	}
	cut.down.Store(false)
	c, err := other.ReadClaim(t.Context(), "session/a")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "an adoption", func() bool {
		_, err := other.Adopt(t.Context(), "session/a", &c, "", time.Minute)
		return err == nil
	})
	if took := time.Since(granted); took < time.Second || owner.Term() != 0 {
		t.Errorf("adopted %v after a grant, want at least the lease of 1s; the owner is in term %d", took, owner.Term())
	}
}

// silent is an engine whose updates take effect, but whose answers are lost while silenced is set.
type silent struct {
	failing

	silenced atomic.Bool
	renewed  atomic.Int64 // when the last update took effect, in Unix nanoseconds
}

func (s *silent) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	next, err := s.failing.Update(ctx, key, value, revision, ttl)
	if err != nil {
		return 0, err
	}
	s.renewed.Store(time.Now().UnixNano())
	if s.silenced.Load() {
		return 0, errors.New("the answer was lost")
	}
	return next, nil
}

// TestLeaseAfterLostAnswer guards that a report which only finds out about an earlier renewal does
// not extend the lease: the engine would end it before the replica does.
func TestLeaseAfterLostAnswer(t *testing.T) {
	t.Parallel()
	e := &silent{failing: failing{Engine: cluster.NewMemory()}}
	r := join(t, e)
	e.silenced.Store(true)
	eventually(t, "a renewal whose answer is lost", func() bool { return !r.Connected() })
	e.silenced.Store(false)
	eventually(t, "the report after it", r.Connected)
	e.down.Store(true)
	eventually(t, "the end of the term", func() bool { return r.Term() == 0 })
	if held := time.Since(time.Unix(0, e.renewed.Load())); held > time.Second {
		t.Errorf("the term ended %v after the last renewal, want within the lease of 1s", held)
	}
}

// TestLeaseExtendedAlone guards the only replica of a cluster: cut off from the engine, it extends its
// lease, but begins another term once it is back, because one that has joined may have adopted its claims.
func TestLeaseExtendedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &failing{Engine: cluster.NewMemory()}
		only := joinUnconnected(t, e)
		term := only.Term()
		certain := func(when string, want bool) {
			if only.Certain() != want {
				t.Errorf("%s: Certain() = %v", when, !want)
			}
		}
		certain("at the start", true)
		e.down.Store(true)
		for range 20 {
			time.Sleep(only.Lease() / 16)
			if only.Expiring() {
				only.Extend(only.Now())
			}
		}
		if only.Term() != term {
			t.Fatalf("term %d, want %d: the lease was extended", only.Term(), term)
		}
		certain("while the engine fails", false)
		e.down.Store(false)
		time.Sleep(only.Lease() / 2)
		certain("just after the engine is back", false)
		if only.Term() == term || only.Term() == 0 {
			t.Errorf("term %d after the engine is back, want another one than %d", only.Term(), term)
		}
		time.Sleep(only.Lease())
		certain("after the time of a lease", true)
	})
}

// stalling is an engine whose next update is answered only when its caller has given up.
type stalling struct {
	cluster.Engine

	next atomic.Bool
}

func (s *stalling) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if s.next.CompareAndSwap(true, false) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Engine.Update(ctx, key, value, revision, ttl)
}

// TestSuspendedReport guards a replica that was suspended while it reported: that its report was not answered in time
// says nothing about the engine.
func TestSuspendedReport(t *testing.T) {
	for suspended, certain := range map[time.Duration]bool{0: false, time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			e := &stalling{Engine: cluster.NewMemory()}
			var ahead atomic.Int64
			system := unconnected()
			system.Now = func() cluster.Instant {
				now := time.Now().Add(time.Duration(ahead.Load()))
				return cluster.Instant{Running: now, Date: now}
			}
			r, err := cluster.Join(t.Context(), e, &cluster.Options{System: system})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Leave(context.Background())
			time.Sleep(2 * r.Lease())
			e.next.Store(true)
			time.Sleep(r.Lease() / 2) // it reports
			ahead.Store(int64(suspended))
			time.Sleep(r.Lease() + time.Millisecond)
			if got := r.Certain(); got != certain {
				t.Errorf("after a report during which it was suspended for %v: Certain() = %v", suspended, got)
			}
		})
	}
}

// TestSearchAfterSuspension guards a replica that was suspended for longer than its record lasts: that the record is
// missing then, when it looks for another replica, does not mean that the engine has lost data.
func TestSearchAfterSuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &stalling{Engine: cluster.NewMemory()}
		r := joinUnconnected(t, e)
		time.Sleep(2*r.Lease() + r.Lease()/8)
		e.next.Store(true)
		time.Sleep(r.Lease()) // the next report waits, and the record of the last one expires
		if r.Find(t.Context(), "another"); !r.Certain() || r.Term() != 0 {
			t.Errorf("after its record has expired: Certain() = %v, Term() = %d", r.Certain(), r.Term())
		}
	})
}

// unconnected returns a system with a listener to which nothing connects, for a bubble of synctest.
func unconnected() cluster.System {
	return cluster.System{
		Listen: func(context.Context, string) (net.Listener, error) {
			return &silentListener{closed: make(chan struct{})}, nil
		},
	}
}

// joinUnconnected joins a replica without a network, which leaves when the test ends.
func joinUnconnected(t *testing.T, e cluster.Engine) *cluster.Replica {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, &cluster.Options{System: unconnected()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	return r
}

type silentListener struct{ closed chan struct{} }

func (l *silentListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *silentListener) Close() error {
	close(l.closed)
	return nil
}

func (l *silentListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
