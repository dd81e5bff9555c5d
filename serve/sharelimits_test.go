package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// limitCluster is a cluster of limiters in memory, whose messages take a millisecond.
type limitCluster struct {
	all  []*limitSharing
	down atomic.Int32 // the index of a replica that cannot be reached, plus 1
	// silent is how many answers are lost: the messages are received.
	silent atomic.Int32
}

// startLimits starts n replicas until the test of synctest ends.
func startLimits(t *testing.T, n int, limits Limits) *limitCluster {
	c := &limitCluster{}
	for i := range n {
		c.join(t, i, limits)
	}
	return c
}

func (c *limitCluster) join(t *testing.T, i int, limits Limits) {
	id := fmt.Sprintf("r%d", i)
	peers := func() []usagePeer {
		var others []usagePeer
		for j, other := range c.all {
			if other.self == id || int(c.down.Load()) == j+1 {
				continue
			}
			others = append(others, usagePeer{
				id: other.self,
				send: func(_ context.Context, m *usageMessage) error {
					time.Sleep(time.Millisecond)
					if d := int(c.down.Load()); d == i+1 || d == j+1 {
						return errors.New("unreachable")
					}
					other.receive(m)
					if c.silent.Add(-1) >= 0 {
						return errors.New("the answer was lost")
					}
					return nil
				},
			})
		}
		return others
	}
	q := newQuotas(&Options{Limits: limits})
	c.all = append(c.all, newLimitSharing(id, startLimiter(limits), q, peers, slog.New(slog.DiscardHandler)))
}

// run runs all replicas until the function it returns is called.
func (c *limitCluster) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, s := range c.all {
		running.Go(func() { s.run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// TestSharedRate guards that limits of clients hold for all replicas together: within 0.5 % of
// what one exact bucket admits in a minute, however requests are distributed. Without
// messages, ten replicas would admit nearly ten times as much.
func TestSharedRate(t *testing.T) {
	least, most := math.Inf(1), 0.0 // of what one bucket admits, at 10 replicas
	for _, test := range []struct {
		name     string
		replicas int
		rate     int // requests a second
		choose   func(i int) int
	}{
		{"3 replicas evenly", 3, 1000, func(i int) int { return i }},
		{"3 replicas, most at one", 3, 1000, func(i int) int { return max(0, i%10-7) }},
		{"3 replicas, all at one", 3, 150, func(int) int { return 0 }},
		{"3 replicas in turns of 5 seconds", 3, 150, func(i int) int { return i / 750 }},
		{"10 replicas evenly", 10, 1000, func(i int) int { return i }},
		{"10 replicas below the limit", 10, 80, func(i int) int { return max(0, i%10-7) }},
		{"10 replicas, one by one", 10, 300, func(i int) int { return i / 30 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startLimits(t, test.replicas, Limits{
					Rate:  100,
					Burst: 200,
				})
				defer c.run()()
				exact := startLimiter(Limits{
					Rate:  100,
					Burst: 200,
				})
				key := clientKey{principal: "p"}
				admitted, want := 0, 0
				for i := range 60 * test.rate {
					if l := c.all[test.choose(i)%test.replicas].limiter; l.take(l.client(key)) == nil {
						admitted++
					}
					if exact.take(exact.client(key)) == nil {
						want++
					}
					time.Sleep(time.Second / time.Duration(test.rate))
				}
				ratio := float64(admitted) / float64(want)
				t.Logf("admitted %d, one bucket %d: %.4f", admitted, want, ratio)
				if test.replicas == 10 {
					least, most = min(least, ratio), max(most, ratio)
				}
				if math.Abs(ratio-1) > 0.005 {
					t.Errorf("admitted %.4f of what one bucket admits, want 0.995 to 1.005", ratio)
				}
			})
		})
	}
	if os.Getenv("SLIPWAY_CLUSTER_FIGURES") != "" {
		fmt.Printf("| a rate limit at 10 replicas, as a multiple of one bucket | %.4f to %.4f | 1 %% |\n", least, most)
	}
}

// TestSharedRateCountedOnce guards that usage counts once at another replica, although its answers are lost and the
// message is sent again. A later message counts.
func TestSharedRateCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startLimits(t, 2, Limits{
			Rate:  0.001,
			Burst: 100,
		})
		defer c.run()()
		key := clientKey{principal: "p"}
		use := func(i, want int) {
			t.Helper()
			admitted := 0
			for l := c.all[i].limiter; admitted < want && l.take(l.client(key)) == nil; {
				admitted++
			}
			if admitted != want {
				t.Errorf("replica %d admitted %d, want %d", i, admitted, want)
			}
		}
		for range 2 {
			c.silent.Store(3)
			use(0, 20)
			time.Sleep(time.Second)
		}
		use(1, 60)
		use(1, 0)
	})
}

// quotaCall enters a call of the tool run as a caller without authentication.
func quotaCall(q *quotas) (leave func(), ok bool) {
	op := server.Operation{
		Method:  methodCall,
		Name:    "run",
		Catalog: (&mcp.Catalog{Tools: []mcp.Tool{{Name: "run"}}}),
	}
	ctx := context.Background()
	return func() { q.Leave(ctx, op) }, q.Enter(ctx, op) == nil
}

// TestSharedQuota guards quotas of a period over ten replicas, also after a replica was lost and
// another has joined, and that one that cannot be reached receives later what it missed.
func TestSharedQuota(t *testing.T) {
	limits := Limits{Quotas: []Quota{{
		Pattern: "run",
		Calls:   1000,
		Per:     time.Hour,
	}}}
	synctest.Test(t, func(t *testing.T) {
		c := startLimits(t, 10, limits)
		stop := c.run()
		admitted := 0
		spend := func(n int) {
			for i := range n {
				if _, ok := quotaCall(c.all[i%10].quotas); ok {
					admitted++
				}
				time.Sleep(time.Millisecond)
			}
		}
		spend(500)
		c.down.Store(3) // the third replica is lost
		time.Sleep(time.Second)
		c.down.Store(0)
		spend(1500)
		t.Logf("admitted %d of 1000", admitted)
		if admitted < 1000 || admitted > 1010 {
			t.Errorf("admitted %d calls, want 1000 to 1010", admitted)
		}
		stop()
		late := len(c.all)
		c.join(t, late, limits)
		defer c.run()()
		time.Sleep(time.Second)
		if _, ok := quotaCall(c.all[late].quotas); ok {
			t.Error("a replica that joined later admits calls beyond the quota")
		}
	})
}

// TestSharedConcurrency guards quotas of concurrent calls: those at other replicas count, and
// those of a replica that is lost no longer do.
func TestSharedConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startLimits(t, 3, Limits{Quotas: []Quota{{
			Pattern: "run",
			Calls:   2,
		}}})
		defer c.run()()
		time.Sleep(time.Second)
		enter := func(i int) (leave func(), ok bool) {
			leave, ok = quotaCall(c.all[i].quotas)
			time.Sleep(10 * time.Millisecond)
			return leave, ok
		}
		leave, ok := enter(0)
		_, second := enter(1)
		_, third := enter(2)
		if !ok || !second || third {
			t.Errorf("admitted %t, %t, %t, want two calls", ok, second, third)
		}
		leave()
		time.Sleep(10 * time.Millisecond)
		if _, ok := enter(2); !ok {
			t.Error("a call that had ended still counted")
		}
		c.down.Store(2)
		time.Sleep(time.Second)
		if _, ok := enter(0); !ok {
			t.Error("the call of a replica that is lost still counted")
		}
	})
}
