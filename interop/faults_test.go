//go:build unix

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// faultRounds returns how often every fault is injected at every replica and server of the engine. 0 means
// that each fault is injected once, at one of them.
func faultRounds() int {
	n, _ := strconv.Atoi(os.Getenv("SLIPWAY_FAULT_ROUNDS"))
	return n
}

const (
	longestCall   = 3 * time.Second
	recoverWithin = 30 * time.Second
)

// TestClusterFaults injects faults into three replicas and an engine of several servers while clients call.
// No answer is wrong, no call takes longer than three seconds, no session is lost, no session whose end was
// acknowledged continues, and everything recovers without a person. While only the engine fails, no
// call fails.
func TestClusterFaults(t *testing.T) {
	t.Run("nats", func(t *testing.T) { checkFaults(t, startNATSCluster(t)) })
	if faultRounds() > 0 {
		t.Run("redis", func(t *testing.T) { checkFaults(t, startRedisSentinel(t)) })
	}
}

// endedSession is a session whose end was acknowledged with a status.
type endedSession struct {
	*rawSession
	at     time.Time
	status int
}

// fault is what happens to a cluster, and ends again.
type fault struct {
	name string
	// engineOnly means that no call may fail.
	engineOnly bool
	inject     func()
}

// faultTest is a cluster under load.
type faultTest struct {
	*testing.T
	engine   *engineNodes
	balancer *rotation
	replicas []*replica
	links    [][]*link // of each replica to the servers of the engine
	// between is where the others connect to each replica.
	between []*link
	clients sync.WaitGroup

	mu       sync.Mutex // guards the following fields
	outcomes map[string]int
	longest  time.Duration
	answered map[string]time.Time // when each client last had a right answer
	ended    []endedSession       // sessions whose end was acknowledged
}

func checkFaults(t *testing.T, engine *engineNodes) {
	f := &faultTest{
		T:        t,
		engine:   engine,
		balancer: newRotation(t),
		outcomes: make(map[string]int),
		answered: make(map[string]time.Time),
	}
	f.balancer.silence = 700 * time.Millisecond
	for range 3 { // they wait for the engine, which has just started
		url, links := engine.url(t)
		f.links = append(f.links, links)
		f.between = append(f.between, nil)
		f.replicas = append(f.replicas, f.replica(len(f.replicas), url))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.load(ctx)
	time.Sleep(5 * time.Second) // a replica takes over once it has been a member for a lease
	f.result("none", false, time.Now())
	for _, fault := range f.faults() {
		fault.inject()
		healed := time.Now()
		took := f.recovered(healed)
		f.result(fmt.Sprintf("%s (recovered in %v)", fault.name, took.Round(10*time.Millisecond)), fault.engineOnly, healed)
	}
	cancel()
	f.clients.Wait()
	if n := len(f.ended); n < 10 {
		t.Errorf("the end of %d sessions was acknowledged: too few for this test to mean something", n)
	}
}

// replica starts a replica that reaches the engine by a URL, and that others reach through a proxy.
func (f *faultTest) replica(i int, url string) *replica {
	own := freeAddress(f.T)
	f.between[i] = startLink(f.T, own)
	r := startReplica(f.T, slipway, url, "--drain-delay", "1s", "--replica-addr", own,
		"--replica-advertise-addr", f.between[i].addr, "../examples/http-reference")
	f.balancer.follow(f.T, r)
	return r
}

// faults returns the faults of a run.
func (f *faultTest) faults() (all []fault) {
	replicas, nodes := []int{0}, []int{0}
	rounds := max(1, faultRounds())
	if faultRounds() > 0 {
		replicas, nodes = []int{0, 1, 2}, nil
		for i := range f.engine.nodes {
			nodes = append(nodes, i)
		}
	}
	add := func(engineOnly bool, name string, at []int, inject func(i int)) {
		for _, i := range at {
			all = append(all, fault{fmt.Sprint(name, " ", i), engineOnly, func() { inject(i) }})
		}
	}
	for range rounds {
		add(false, "kill -9 of replica", replicas, f.killReplica)
		add(false, "SIGSTOP of replica", replicas, f.stopReplica)
		add(false, "partition of the engine from replica", replicas, f.cutReplica)
		add(false, "partition between replicas, from replica", replicas, f.cutBetween)
		add(true, "kill -9 of engine server", nodes, f.killNode)
		add(true, "SIGSTOP of engine server", nodes, f.stopNode)
		if f.engine.routes != nil {
			add(true, "partition of the others from engine server", nodes, f.partNode)
		}
		all = append(all, fault{"kill -9 of the whole engine", true, f.killEngine})
		all = append(all, fault{"rolling restart of the replicas", true, f.rollReplicas})
		if faultRounds() > 0 {
			all = append(all, fault{"rolling restart of the engine", true, f.rollEngine})
		}
	}
	return all
}

func (f *faultTest) url(i int) string {
	var urls []string
	for _, l := range f.links[i] {
		urls = append(urls, fmt.Sprintf(f.engine.format, l.addr))
	}
	return strings.Join(urls, ",")
}

func (f *faultTest) killReplica(i int) {
	_ = f.replicas[i].process.Process.Kill()
	<-f.replicas[i].exited
	time.Sleep(2 * time.Second)
	f.replicas[i] = f.replica(i, f.url(i))
}

func (f *faultTest) stopReplica(i int) {
	_ = f.replicas[i].process.Process.Signal(syscall.SIGSTOP)
	time.Sleep(5 * time.Second) // longer than its lease
	_ = f.replicas[i].process.Process.Signal(syscall.SIGCONT)
}

func (f *faultTest) cutReplica(i int) {
	cut := func(silent bool) {
		for _, l := range f.links[i] {
			l.set(func() { l.silent = silent })
		}
	}
	cut(true)
	time.Sleep(5 * time.Second) // longer than its lease
	cut(false)
}

// cutBetween cuts two replicas off from all others, and from each other. Both reach the engine, which keeps their
// leases, and clients reach both.
func (f *faultTest) cutBetween(i int) {
	cut := func(silent bool) {
		for _, at := range []int{i, (i + 1) % len(f.between)} {
			l := f.between[at]
			l.set(func() { l.silent = silent })
		}
	}
	cut(true)
	time.Sleep(5 * time.Second) // longer than a lease
	cut(false)
}

func (f *faultTest) killNode(i int) {
	f.engine.nodes[i].kill()
	time.Sleep(2 * time.Second)
	f.engine.nodes[i].run(f.T)
}

func (f *faultTest) stopNode(i int) {
	f.engine.nodes[i].signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second)
	f.engine.nodes[i].signal(syscall.SIGCONT)
}

func (f *faultTest) partNode(i int) {
	f.engine.part(i, true)
	time.Sleep(3 * time.Second)
	f.engine.part(i, false)
}

func (f *faultTest) killEngine() {
	for _, n := range f.engine.nodes {
		n.kill()
	}
	time.Sleep(5 * time.Second) // longer than a lease
	for _, n := range f.engine.nodes {
		n.run(f.T)
	}
}

func (f *faultTest) rollReplicas() {
	for i, old := range f.replicas {
		f.replicas[i] = f.replica(i, f.url(i))
		time.Sleep(500 * time.Millisecond)
		old.stop(f.T)
	}
}

func (f *faultTest) rollEngine() {
	for _, n := range f.engine.nodes {
		n.signal(syscall.SIGTERM)
		_ = n.cmd.Wait()
		n.run(f.T)
		f.recovered(time.Now())
	}
}

// recovered waits until all clients have had an answer since a time, and all replicas see each other and
// the engine.
func (f *faultTest) recovered(since time.Time) time.Duration {
	for time.Since(since) < recoverWithin {
		if waiting := f.waiting(since); len(waiting) == 0 {
			return time.Since(since)
		}
		time.Sleep(50 * time.Millisecond) // external processes: there is no event to wait for
	}
	f.Errorf("not recovered after %v: %v", recoverWithin, f.waiting(since))
	return time.Since(since)
}

func (f *faultTest) waiting(since time.Time) (all []string) {
	f.mu.Lock()
	for client, at := range f.answered {
		if at.Before(since) {
			all = append(all, client)
		}
	}
	f.mu.Unlock()
	for i, r := range f.replicas {
		n, up := r.metric(f.T, "slipway_cluster_replicas"), r.metric(f.T, "slipway_cluster_engine_up")
		if n != 3 || up != 1 {
			all = append(all, fmt.Sprintf("replica %d sees %v replicas, engine %v", i, n, up))
		}
	}
	return all
}

// result reports and checks what happened since the last result.
func (f *faultTest) result(name string, strict bool, healed time.Time) {
	f.mu.Lock()
	outcomes, longest := f.outcomes, f.longest
	f.outcomes, f.longest = make(map[string]int), 0
	f.mu.Unlock()
	var text []string
	failed := 0
	for _, what := range slices.Sorted(maps.Keys(outcomes)) {
		text = append(text, fmt.Sprintf("%d %s", outcomes[what], what))
		if what != "answered" {
			failed += outcomes[what]
		}
	}
	f.Logf("%-68s longest %4d ms: %s", name, longest.Milliseconds(), strings.Join(text, ", "))
	if longest > longestCall {
		f.Errorf("%s: a call took %v, want at most %v", name, longest, longestCall)
	}
	if strict && failed > 0 {
		f.Errorf("%s: %d calls failed, want none", name, failed)
	}
	if outcomes["answered"] < 100 {
		f.Errorf("%s: %d calls were answered: too few for this test to mean something", name, outcomes["answered"])
	}
	f.checkEnded()
}

// expect makes recovered wait for a client, also if it has never had an answer.
func (f *faultTest) expect(client string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered[client] = time.Time{}
}

// record notes a call.
func (f *faultTest) record(client, outcome string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcomes[outcome]++
	f.longest = max(f.longest, took)
	if outcome == "answered" {
		f.answered[client] = time.Now()
	}
}

// load starts clients of all kinds. They call until ctx ends.
func (f *faultTest) load(ctx context.Context) {
	for i := range 4 {
		s := &rawSession{endpoint: f.balancer.url}
		if status := s.start(f.T); status != http.StatusOK {
			f.Fatalf("initialize: %d", status)
		}
		f.call(ctx, fmt.Sprint("session ", i), func(n int) (int, string) { return s.post(f.T, statusCall(n, "")) })
	}
	for i := range 2 {
		f.call(ctx, fmt.Sprint("2026-07-28 ", i), func(n int) (int, string) {
			return postModern(f.T, f.balancer.url, statusCall(n, modernMeta))
		})
	}
	for _, kind := range sdks() {
		for _, version := range []string{v1125, v0728} {
			c := kind.http(f.T, f.balancer.url, version)
			f.Cleanup(func() { _ = c.close() })
			f.callSDK(ctx, kind.name+" "+version, c)
		}
	}
	f.clients.Go(func() { f.endSessions(ctx) })
	if os.Getenv(toolsVariable) != "" {
		f.callTypeScript(ctx)
	}
}

// call calls a tool until ctx ends. A 404 is a lost session.
func (f *faultTest) call(ctx context.Context, client string, post func(n int) (status int, answer string)) {
	f.expect(client)
	f.clients.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			began := time.Now()
			status, answer := post(n)
			outcome := fmt.Sprint(status)
			switch {
			case ctx.Err() != nil:
				return
			case status == http.StatusOK:
				outcome = "answered"
				if !json.Valid([]byte(answer)) || !strings.Contains(answer, fmt.Sprintf(`"id":%d,`, n)) ||
					!strings.Contains(answer, fmt.Sprint(400+n%5)) {
					f.Errorf("%s: wrong answer to %d: %s", client, n, answer)
				}
			case status == http.StatusNotFound:
				f.Errorf("%s: lost: %s", client, answer)
			case status == 0:
				outcome = "connection lost"
			}
			f.record(client, outcome, time.Since(began))
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// callSDK is call with a client of an SDK. That of go-sdk ends its session itself when a call gets 502, and
// its application connects again.
func (f *faultTest) callSDK(ctx context.Context, name string, c client) {
	f.expect(name)
	f.clients.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			began := time.Now()
			got, err := c.call(context.WithoutCancel(ctx), "get_status", object{"code": 400 + n%5})
			outcome := "answered"
			switch {
			case errors.Is(err, mcp.ErrConnectionClosed):
				outcome = "connection closed by " + name
				if c, err = redialGoSDK(ctx, f.balancer.url, v1125); err != nil {
					f.Errorf("%s: %v", name, err)
					return
				}
			case err != nil:
				outcome = "errors of " + name
			case !strings.Contains(fmt.Sprint(got), fmt.Sprint(400+n%5)):
				f.Errorf("%s: wrong answer: %v", name, got)
			}
			f.record(name, outcome, time.Since(began))
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// redialGoSDK connects a client of go-sdk, also if a replica is lost meanwhile.
func redialGoSDK(ctx context.Context, endpoint, version string) (c client, err error) {
	for range 5 {
		var session *mcp.ClientSession
		session, err = mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "1.0.0"}, nil).Connect(ctx,
			&mcp.StreamableClientTransport{Endpoint: endpoint}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err == nil {
			return &goSDK{session, true}, nil
		}
		time.Sleep(checkInterval)
	}
	return nil, err
}

// endSessions begins sessions and ends them, and remembers those whose end was acknowledged.
func (f *faultTest) endSessions(ctx context.Context) {
	for ctx.Err() == nil {
		s := &rawSession{endpoint: f.balancer.url}
		if s.start(f.T) == http.StatusOK && s.id != "" {
			req, _ := http.NewRequest(http.MethodDelete, s.endpoint, nil)
			s.headers(req)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusOK {
					f.mu.Lock()
					f.ended = append(f.ended, endedSession{s, time.Now(), resp.StatusCode})
					f.mu.Unlock()
				}
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// checkEnded fails if a session whose end was acknowledged continues at a replica.
func (f *faultTest) checkEnded() {
	f.mu.Lock()
	ended := slices.Clone(f.ended)
	f.mu.Unlock()
	var continued []string
	for n, s := range ended {
		i := n % len(f.replicas)
		if status, _ := s.rawSession.at(f.replicas[i].endpoint).post(f.T, statusCall(1, "")); status == http.StatusOK {
			continued = append(continued, fmt.Sprintf("ended %v ago with %d, at replica %d",
				time.Since(s.at).Round(time.Millisecond), s.status, i))
		}
	}
	if len(continued) > 0 {
		f.Errorf("%d of %d sessions continue after their end was acknowledged: %s", len(continued), len(ended),
			strings.Join(continued, "; "))
	}
}

// callTypeScript runs a client of the TypeScript SDK until ctx ends.
func (f *faultTest) callTypeScript(ctx context.Context) {
	cmd := exec.Command(nodeTools(f.T).node(), filepath.Join("node", "calls.mjs"), f.balancer.url)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.clients.Go(func() {
		<-ctx.Done()
		_ = stdin.Close()
		err := cmd.Wait()
		var result struct {
			Calls, Sessions int
			Failed          map[string]int
			Wrong           []string
			Longest         float64
		}
		if err != nil || json.Unmarshal(out.Bytes(), &result) != nil {
			f.Errorf("calls.mjs: %v %s\n%s", err, out.Bytes(), log.Bytes())
			return
		}
		f.Logf("typescript: %d calls, %d sessions, longest %.0f ms, failed %v", result.Calls, result.Sessions,
			result.Longest, result.Failed)
		if len(result.Wrong) > 0 || result.Longest > float64(longestCall.Milliseconds()) || result.Calls < 100 ||
			result.Sessions != 1 {
			f.Errorf("typescript: %+v", result)
		}
	})
}
