package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// breaking is an engine whose subscriptions fail shortly after they began, while it is bad.
type breaking struct {
	cluster.Engine

	bad           atomic.Bool
	subscriptions atomic.Int64 // of replicas

	mu     sync.Mutex
	groups map[string][]time.Time // of subscriptions, by group
}

func (b *breaking) Subscribe(ctx context.Context, topics ...string) (cluster.Subscription, error) {
	sub, err := b.Engine.Subscribe(ctx, topics...)
	if err != nil {
		return nil, err
	}
	if len(topics) == 1 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.groups[topics[0]] = append(b.groups[topics[0]], time.Now())
	} else {
		b.subscriptions.Add(1)
	}
	return &brokenSoon{sub, b}, nil
}

type brokenSoon struct {
	cluster.Subscription

	engine *breaking
}

func (s *brokenSoon) Next(ctx context.Context) (cluster.Event, error) {
	for {
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		e, err := s.Subscription.Next(short)
		cancel()
		switch {
		case err == nil || ctx.Err() != nil:
			return e, err
		case s.engine.bad.Load():
			return e, errors.New("the connection was reset")
		}
	}
}

// TestSubscriptionThatBreaks guards clients of a replica whose subscription breaks all the time: each report that
// messages may have been missed makes them list everything again. Each gap is reported once, but ever less often.
func TestSubscriptionThatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &breaking{Engine: cluster.NewMemory()}
		r := joinUnconnected(t, e)
		var missed atomic.Int64
		r.Handle("greeting", func(string, json.RawMessage) {}, func() { missed.Add(1) })
		time.Sleep(r.Lease())
		count := func(within time.Duration) (reports int64) {
			before, subscribed := missed.Load(), e.subscriptions.Load()
			time.Sleep(within)
			reports = missed.Load() - before
			if gaps := e.subscriptions.Load() - subscribed; reports != gaps {
				t.Errorf("%d gaps, %d reports of missed messages", gaps, reports)
			}
			return reports
		}
		e.bad.Store(true)
		if n := count(time.Minute); n < 6 || n > 12 {
			t.Errorf("%d reports in a minute in which the subscription breaks all the time, want 6 to 12", n)
		}
		e.bad.Store(false)
		if n := count(2*r.Lease() + time.Second); n > 1 {
			t.Errorf("%d reports of the last gap, want one", n)
		}
		if n := count(time.Minute); n != 0 {
			t.Errorf("%d reports while the subscription works, want none", n)
		}
		e.bad.Store(true)
		time.Sleep(100 * time.Millisecond)
		e.bad.Store(false)
		if n := count(2 * time.Second); n != 1 {
			t.Errorf("%d reports within two seconds of a single gap, want one", n)
		}
	})
}

// TestGroupsThatBreak guards the engine if subscriptions of groups break all the time: each attempt lists all
// records, so attempts become rare, and those of groups that broke together are spread.
func TestGroupsThatBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &breaking{
			Engine: cluster.NewMemory(),
			groups: make(map[string][]time.Time),
		}
		r := joinUnconnected(t, e)
		names := []string{"logins", "approvals", "clients", "records"}
		for _, name := range names {
			if _, err := r.Group(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * r.Lease())
		broken := time.Now()
		e.bad.Store(true)
		time.Sleep(time.Minute)
		e.bad.Store(false)
		time.Sleep(3 * r.Lease())
		e.mu.Lock()
		defer e.mu.Unlock()
		first := make(map[time.Duration]bool)
		for _, name := range names {
			again := e.groups[name][1:]
			if n := len(again); n < 6 || n > 13 {
				t.Errorf("%s: %d attempts in a minute, want 6 to 13", name, n)
			}
			pause := again[0].Sub(broken)
			if most := r.Lease()/8 + 50*time.Millisecond; pause < r.Lease()/10 || pause > most {
				t.Errorf("%s: the first attempt after %s, want %s to %s", name, pause, r.Lease()/10, most)
			}
			first[pause] = true
		}
		if len(first) == 1 {
			t.Errorf("all groups subscribe again at the same time, after %v", first)
		}
	})
}

// TestLossBetweenSubscriptions: between subscriptions that break, a replica does not notice that the engine lost its
// data, so the missing record of another does not mean that it has left.
func TestLossBetweenSubscriptions(t *testing.T) {
	for after := time.Minute; after < 76*time.Second; after += time.Second / 2 {
		synctest.Test(t, func(t *testing.T) {
			m := cluster.NewMemory()
			e := &breaking{Engine: m}
			r, other := joinUnconnected(t, e), joinUnconnected(t, m)
			time.Sleep(5 * time.Second)
			e.bad.Store(true)
			time.Sleep(after)
			peer := r.Find(t.Context(), other.ID())
			if peer == nil {
				t.Fatal("the other replica is unknown")
			}
			m.Lose()
			time.Sleep(2 * time.Second)
			if err := context.Cause(peer.Context()); err != nil {
				t.Errorf("data lost after %v: %v, want the other replica to be known", after, err)
			}
		})
	}
}
