//go:build unix

package interop_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// metric returns the sum of the samples whose line begins with prefix.
func (r *replica) metric(t *testing.T, prefix string) (sum float64) {
	t.Helper()
	client := http.Client{Transport: bearer(goodToken)} // for servers that require it
	resp, err := client.Get(strings.TrimSuffix(r.endpoint, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, prefix) {
			value := 0.0
			_, _ = fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value)
			sum += value
		}
	}
	return sum
}

const (
	adoptedMetric  = "slipway_cluster_sessions_adopted_total"
	fencedMetric   = "slipway_cluster_sessions_fenced_total"
	sessionsMetric = "mcp_server_sessions "
)

// TestClusterHandover replaces three replicas one by one and then removes one, while clients with
// sessions call: no call fails, and no client initializes again.
func TestClusterHandover(t *testing.T) { onEngines(t, checkClusterHandover) }

func checkClusterHandover(t *testing.T, engine string) {
	b := newRotation(t)
	start := func() *replica {
		r := startReplica(t, slipway, engine, "--drain-delay", "1s", "../examples/http-reference")
		b.follow(t, r)
		return r
	}
	var old []*replica
	for range 3 {
		old = append(old, start())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int64
	var clients sync.WaitGroup
	for i := range 12 {
		s := &rawSession{endpoint: b.url}
		if status := s.start(t); status != http.StatusOK {
			t.Fatalf("initialize: %d", status)
		}
		clients.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				status, answer := s.post(t, statusCall(n, ""))
				if status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`"id":%d,`, n)) ||
					!strings.Contains(answer, fmt.Sprint(400+n%5)) {
					t.Errorf("session %d: call %d got %d %s", i, n, status, answer)
				}
				calls.Add(1)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	for _, kind := range sdks() {
		for _, version := range []string{v0618, v1125} {
			c := kind.connect(t, "http", target{endpoint: b.url}, version)
			clients.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					got, err := c.call(context.WithoutCancel(ctx), "get_status", object{"code": 400 + n%5})
					if err != nil || !strings.Contains(fmt.Sprint(got), fmt.Sprint(400+n%5)) {
						t.Errorf("%s %s: %v %v", kind.name, version, got, err)
					}
					calls.Add(1)
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
	}
	pause := func() { time.Sleep(700 * time.Millisecond) }
	pause()
	var current []*replica
	for _, r := range old {
		current = append(current, start())
		pause()
		r.stop(t)
	}
	pause()
	current[0].stop(t)
	pause()
	adopted := 0.0
	for _, r := range current[1:] {
		adopted += r.metric(t, adoptedMetric)
	}
	cancel()
	clients.Wait()
	t.Logf("%d calls, %v sessions adopted by the last two replicas", calls.Load(), adopted)
	if calls.Load() < 1000 || adopted < 8 {
		t.Error("too little happened for this test to mean something")
	}
}

// TestClusterTakeover kills the owner of sessions, and suspends the next one. Their clients continue
// with the same session at the others, at once; when the suspended one is back, it forwards what it
// receives, and each session is at one replica.
func TestClusterTakeover(t *testing.T) { onEngines(t, checkClusterTakeover) }

func checkClusterTakeover(t *testing.T, engine string) {
	c := startReplicas(t, engine, "../examples/http-reference")
	const sessions = 8
	killed, suspended, other := c.members[0], c.members[1], c.members[2]
	begin := func(r *replica) (all []*rawSession) {
		for range sessions {
			s := &rawSession{endpoint: r.endpoint}
			if status := s.start(t); status != http.StatusOK {
				t.Fatalf("initialize: %d", status)
			}
			all = append(all, s)
		}
		return all
	}
	first, second := begin(killed), begin(suspended)
	time.Sleep(4500 * time.Millisecond) // a replica takes over once it has been a member for a lease
	survivors := []*replica{suspended, other}
	// All sessions of a lost replica answer from then on, whether or not its lease is over.
	answers := func(all []*rawSession, at []*replica, until func() bool) (longest time.Duration) {
		var mu sync.Mutex
		var clients sync.WaitGroup
		for i, s := range all {
			clients.Go(func() {
				for n := i; ; n++ {
					began := time.Now()
					status, answer := s.at(at[n%len(at)].endpoint).post(t, statusCall(n, ""))
					mu.Lock()
					longest = max(longest, time.Since(began))
					mu.Unlock()
					if status != http.StatusOK || !strings.Contains(answer, fmt.Sprint(400+n%5)) {
						t.Errorf("session %d: call %d got %d %s", i, n, status, answer)
						return
					}
					if until() {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		clients.Wait()
		return longest
	}
	adopted := func(at []*replica, want float64) func() bool {
		deadline := time.Now().Add(patience)
		return func() bool {
			sum := 0.0
			for _, r := range at {
				sum += r.metric(t, adoptedMetric)
			}
			if sum < want && time.Now().After(deadline) {
				t.Errorf("%v sessions adopted, want %v", sum, want)
				return true
			}
			return sum >= want
		}
	}
	_ = killed.process.Process.Kill()
	<-killed.exited
	longest := answers(first, survivors, adopted(survivors, sessions))
	t.Logf("after kill -9: no call failed, the longest took %v", longest)
	if longest > time.Second {
		t.Errorf("a call after kill -9 took %v, want at most 1s", longest)
	}
	s := second[0].at(other.endpoint)
	used := time.Now()
	s.post(t, statusCall(0, ""))
	suspend(t, suspended)
	began := time.Now()
	status, answer := s.post(t, statusCall(1, ""))
	switch idle := began.Sub(used) > time.Second; { // a connection that is checked before a request is sent on it
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, idle && status == http.StatusOK:
	default:
		t.Errorf("the call that finds the replica suspended: %d %s", status, answer)
	}
	t.Logf("the replica was found suspended after %v", time.Since(began))
	all := append(append([]*rawSession{}, first...), second...)
	before := other.metric(t, adoptedMetric)
	longest = answers(second, []*replica{other}, adopted([]*replica{other}, before+sessions))
	t.Logf("after SIGSTOP: no other call failed, the longest took %v", longest)
	late := make(chan string, 1) // arrives while the replica is suspended, and is read afterwards
	go func() {
		status, answer := second[1].at(suspended.endpoint).post(t, statusCall(3, ""))
		late <- fmt.Sprint(status, answer)
	}()
	time.Sleep(100 * time.Millisecond)
	_ = suspended.process.Process.Signal(syscall.SIGCONT)
	if got := <-late; !strings.HasPrefix(got, "200") {
		t.Errorf("a call that the replica reads after its lease: %s", got)
	}
	answers(all, survivors, func() bool { return true })
	for i, s := range second {
		if status, answer := s.at(suspended.endpoint).post(t, statusCall(2, "")); status != http.StatusOK {
			t.Errorf("session %d at the replica that is back: %d %s", i, status, answer)
		}
	}
	if n := suspended.metric(t, fencedMetric); n < sessions {
		t.Errorf("%v sessions were fenced, want at least %d", n, sessions)
	}
	if n := suspended.metric(t, sessionsMetric) + other.metric(t, sessionsMetric); n != 2*sessions {
		t.Errorf("%v sessions at all replicas, want %d", n, 2*sessions)
	}
}
