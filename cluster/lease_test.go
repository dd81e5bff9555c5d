package cluster_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
)

// TestCutOffTogether guards two replicas that are cut off from the engine but not from each other: a third one, which
// joins then, adopts nothing as long as they grant each other leases, and they begin another term once the engine is
// back. Once a lease has ended, it adopts, although the owner still answers.
func TestCutOffTogether(t *testing.T) {
	t.Parallel()
	memory := cluster.NewMemory()
	cutOwner, cutOther := &cutengine.Engine{Engine: memory}, &cutengine.Engine{Engine: memory}
	owner, other := join(t, cutOwner), join(t, cutOther)
	eventually(t, "the owner to know the other one", func() bool { return len(owner.Peers()) == 1 })
	go accept(owner)
	if _, err := owner.WriteClaim(t.Context(), "session/a", nil, 0, 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	term := owner.Term()
	cutOwner.Cut.Store(true)
	cutOther.Cut.Store(true)
	// extend extends the lease of the owner until holds returns false.
	extend := func(what string, holds func() bool) {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for ; holds(); <-time.After(20 * time.Millisecond) {
			if asked := owner.Now(); owner.Expiring() && other.Grant() {
				owner.Extend(asked)
			}
			if time.Now().After(deadline) {
				t.Fatalf("waited five seconds for %s", what)
			}
		}
	}
	extend("their records to expire", func() bool {
		members, err := memory.List(t.Context(), "member")
		return err != nil || len(members) > 0
	})
	third := join(t, memory)
	c, err := third.ReadClaim(t.Context(), "session/a")
	if err != nil {
		t.Fatal(err)
	}
	adopt := func() error {
		_, err := third.Adopt(t.Context(), "session/a", &c, "", time.Minute)
		return err
	}
	settled := time.Now().Add(2 * third.Lease())
	extend("the third one to be settled", func() bool {
		if err := adopt(); !errors.Is(err, cluster.ErrOwned) {
			t.Fatalf("a replica adopted from an owner in its term %d: %v", owner.Term(), err)
		}
		return time.Now().Before(settled)
	})
	if owner.Term() != term {
		t.Fatalf("term %d, want %d: the lease was extended", owner.Term(), term)
	}
	cutOther.Cut.Store(false) // it grants no lease any more
	eventually(t, "an adoption", func() bool {
		err := adopt()
		if err == nil && owner.Term() != 0 {
			t.Errorf("a replica adopted from an owner in its term %d", owner.Term())
		}
		return err == nil
	})
	cutOwner.Cut.Store(false)
	eventually(t, "another term", func() bool { return owner.Term() > term })
}

// TestTermAfterGrants guards that a replica whose record has expired begins another term, although others have extended
// its lease: one that they do not know may have adopted its claims.
func TestTermAfterGrants(t *testing.T) {
	t.Parallel()
	memory := cluster.NewMemory()
	cutOwner, cutOther := &cutengine.Engine{Engine: memory}, &cutengine.Engine{Engine: memory}
	owner, other := join(t, cutOwner), join(t, cutOther)
	eventually(t, "the owner to know the other one", func() bool { return len(owner.Peers()) == 1 })
	term := owner.Term()
	revision, err := owner.WriteClaim(t.Context(), "session/a", nil, 0, 0, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cutOwner.Cut.Store(true)
	cutOther.Cut.Store(true)
	extend := func() {
		if asked := owner.Now(); owner.Expiring() && other.Grant() {
			owner.Extend(asked)
		}
	}
	for end := time.Now().Add(2 * owner.Lease()); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		extend()
	}
	if owner.Term() != term {
		t.Fatalf("term %d, want %d: the lease was extended", owner.Term(), term)
	}
	cutOwner.Cut.Store(false)
	eventually(t, "the engine to be back", func() bool {
		extend()
		return owner.Connected()
	})
	if owner.Term() == term {
		t.Errorf("the owner is still in term %d", term)
	}
	memory.Lose()
	// Not adopted, but lost by the engine: the owner has had its lease all the time.
	if _, err := owner.WriteClaim(t.Context(), "session/a", nil, revision, term, time.Hour); err != nil {
		t.Errorf("writing a claim that the engine has lost: %v", err)
	}
}

// TestAskOnce guards that one question suffices for all claims of an owner that does not answer, although the answer of
// each takes as long as it is valid: otherwise each session and caller of a lost replica waits for its own.
func TestAskOnce(t *testing.T) {
	t.Parallel()
	memory := cluster.NewMemory()
	cut := &cutengine.Engine{Engine: memory}
	owner := join(t, cut)
	for _, key := range []string{"session/a", "session/b"} {
		if _, err := owner.WriteClaim(t.Context(), key, nil, 0, 0, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	cut.Cut.Store(true)
	eventually(t, "the record of the owner to expire", func() bool {
		members, err := memory.List(t.Context(), "member")
		return err == nil && len(members) == 0
	})
	const lease = time.Minute
	var skew, asked atomic.Int64
	r, err := cluster.Join(t.Context(), memory, &cluster.Options{
		Name:  "r",
		Lease: lease,
		System: cluster.System{
			Now: func() cluster.Instant {
				now := time.Now().Add(time.Duration(skew.Load()))
				return cluster.Instant{
					Running: now,
					Date:    now.Round(0),
				}
			},
			Dial: func(context.Context, string, string) (net.Conn, error) {
				asked.Add(1)
				skew.Add(int64(lease/4 + time.Second))
				return nil, cutengine.ErrCut
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	skew.Add(int64(2 * lease)) // it has settled
	if err := r.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"session/a", "session/b"} {
		c, err := r.ReadClaim(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Adopt(t.Context(), key, &c, "", time.Hour); err != nil {
			t.Errorf("adopt %s: %v", key, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the owner was asked %d times, want once", n)
	}
}

// accept completes the handshakes of other replicas, until the replica leaves.
func accept(r *cluster.Replica) {
	for {
		c, err := r.Listener().Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1))
		}()
	}
}
