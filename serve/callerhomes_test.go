package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// ann is a caller, whose WebSockets newAsker opens.
const ann = "token-of-ann-0000"

// tokenIsName accepts every token, as the name of the caller.
type tokenIsName struct{}

func (tokenIsName) Verify(_ context.Context, token string) (*mcp.Principal, error) {
	return &mcp.Principal{Name: token}, nil
}

// callers are replicas with a process for each caller.
type callers struct {
	*programs

	replicas []*replica
	running  []*client.Processes // by replica
}

// add starts a replica.
func (c *callers) add(t *testing.T, e cluster.Engine, how client.Failover) *replica {
	t.Helper()
	all := &client.Processes{}
	r := serveIsolated(t, e, c.programs, how, all, &client.IsolateOptions{By: client.ByPrincipal, MaxTotal: 1000},
		&serve.Auth{Verifiers: []serve.Verifier{tokenIsName{}}})
	c.replicas = append(c.replicas, r)
	c.running = append(c.running, all)
	return r
}

// home returns the index of the replica that has the only process.
func (c *callers) home(t *testing.T) int {
	t.Helper()
	home := -1
	for i, all := range c.running {
		if all.Running() > 0 && home >= 0 {
			t.Fatal("processes at two replicas, want one")
		}
		if all.Running() > 0 {
			home = i
		}
	}
	if home < 0 {
		t.Fatal("no process at any replica")
	}
	return home
}

func as(caller string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + caller}
}

// begin starts a session of a caller.
func (p *replica) begin(t *testing.T, caller string) map[string]string {
	t.Helper()
	header := as(caller)
	status, session, answer := p.post(t, header, initialize)
	if status != http.StatusOK || session == "" {
		t.Fatalf("initialize: %d %s", status, answer)
	}
	header["Mcp-Session-Id"] = session
	header["Mcp-Protocol-Version"] = "2025-06-18"
	return header
}

// callAlone calls a tool as a client of 2026-07-28.
func (p *replica) callAlone(t *testing.T, caller, tool string) (status int, answer string) {
	t.Helper()
	header := as(caller)
	header["Mcp-Protocol-Version"] = "2026-07-28"
	header["Mcp-Method"] = "tools/call"
	header["Mcp-Name"] = tool
	status, _, answer = p.post(t, header, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+
		`","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	return status, answer
}

// TestOneProcessPerCaller guards callers with a process each: there is one in the whole cluster, whichever replica
// and surface their requests use, and different callers have theirs where the fewest run.
func TestOneProcessPerCaller(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	c := &callers{programs: newPrograms()}
	for range 3 {
		c.add(t, e, client.FailoverRestart)
	}
	var first sync.WaitGroup
	for i := range 9 { // all at once
		first.Go(func() {
			if status, answer := c.replicas[i%3].callAlone(t, ann, "count"); status != http.StatusOK ||
				!strings.Contains(answer, "call ") {
				t.Errorf("call %d: %d %s", i, status, answer)
			}
		})
	}
	first.Wait()
	for i, p := range c.replicas {
		header := p.begin(t, ann)
		other := c.replicas[(i+1)%3]
		want := fmt.Sprintf("call %d ", 10+2*i)
		if status, _, answer := other.post(t, header, callOf(1, "count")); status != http.StatusOK ||
			!strings.Contains(answer, want) {
			t.Errorf("session %d: %d %s, want %s", i, status, answer, want)
		}
		socket := newAsker(t, strings.TrimSuffix(other.url, "/mcp"))
		want = fmt.Sprintf("call %d ", 11+2*i)
		if answer := socket.request("tools/call", `"name":"count","arguments":{}`); !strings.Contains(answer, want) {
			t.Errorf("WebSocket %d: %s, want %s", i, answer, want)
		}
	}
	if now, most := c.programs.running(); now != 1 || most != 1 {
		t.Errorf("%d processes, at most %d at once, want 1", now, most)
	}
	c.home(t)
	n := 0
	waitFor(t, "a process at each replica", func() bool { // once they know the load of each other
		n++
		if status, answer := c.replicas[0].callAlone(t, fmt.Sprint("caller-", n), "count"); status != http.StatusOK {
			t.Errorf("caller %d: %d %s", n, status, answer)
		}
		return c.running[0].Running() > 0 && c.running[1].Running() > 0 && c.running[2].Running() > 0
	})
	if now, _ := c.programs.running(); now != n+1 {
		t.Errorf("%d processes for %d callers", now, n+1)
	}
}

// TestCallerHandover guards a replica that stops: the process of a caller stops before another replica starts one,
// and the sessions of the caller move there with it.
func TestCallerHandover(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	c := &callers{programs: newPrograms()}
	c.exit = 100 * time.Millisecond
	c.lease = steadyLease
	for range 3 {
		c.add(t, e, client.FailoverRestart)
	}
	one, two := c.replicas[0].begin(t, ann), c.replicas[1].begin(t, ann)
	for i, header := range []map[string]string{one, two} {
		if status, _, answer := c.replicas[2].post(t, header, callOf(1, "count")); status != http.StatusOK ||
			!strings.Contains(answer, fmt.Sprintf("call %d ", i+1)) {
			t.Fatalf("session %d: %d %s", i, status, answer)
		}
	}
	home := c.home(t)
	other := c.replicas[(home+1)%3]
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.replicas[home].stop()
	}()
	waitFor(t, "retirement", func() bool { return leaving(e) })
	for i, header := range []map[string]string{two, one} {
		if status, _, answer := other.post(t, header, callOf(2, "count")); status != http.StatusOK ||
			!strings.Contains(answer, fmt.Sprintf("call %d ", i+1)) {
			t.Errorf("session %d during the stop: %d %s", i, status, answer)
		}
	}
	if status, answer := other.callAlone(t, ann, "count"); status != http.StatusOK ||
		!strings.Contains(answer, "call 3 ") {
		t.Errorf("a call without a session during the stop: %d %s", status, answer)
	}
	<-stopped
	if now, most := c.programs.running(); now != 1 || most != 1 || c.started != 2 {
		t.Errorf("%d processes, at most %d at once, %d started; want 1, 1, 2", now, most, c.started)
	}
	c.mustKeep(t, []map[string]string{one, two}, home)
	if now, most := c.programs.running(); now != 1 || most != 1 {
		t.Errorf("%d processes, at most %d at once, want 1", now, most)
	}
}

// mustKeep stops the home of ann while its sessions and calls without one arrive at the other replica, and fails
// unless all are answered. gone is a replica that has stopped before.
func (c *callers) mustKeep(t *testing.T, sessions []map[string]string, gone int) {
	t.Helper()
	home := c.home(t)
	other := c.replicas[3-home-gone]
	end := make(chan struct{})
	var clients sync.WaitGroup
	for n := range 6 {
		clients.Go(func() {
			time.Sleep(time.Duration(n) * c.takes / 6)
			for {
				var status int
				var answer string
				if n < len(sessions) {
					status, _, answer = other.post(t, sessions[n], callOf(2, "count"))
				} else {
					status, answer = other.callAlone(t, ann, "count")
				}
				if status != http.StatusOK || !strings.Contains(answer, "call ") {
					t.Errorf("client %d during the stop: %d %s", n, status, answer)
				}
				select {
				case <-end:
					return
				default:
				}
			}
		})
	}
	time.Sleep(2 * c.takes)
	c.replicas[home].stop()
	close(end)
	clients.Wait()
}

// TestBusyCallerHandover guards a replica that stops while calls of a caller overlap all the time: the process moves
// all the same, long before the replica would cancel the calls.
func TestBusyCallerHandover(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	c := &callers{programs: newPrograms()}
	c.takes = 150 * time.Millisecond
	for range 2 {
		c.add(t, e, client.FailoverRestart)
	}
	session := c.replicas[0].begin(t, ann)
	if status, _, answer := c.replicas[0].post(t, session, callOf(1, "count")); status != http.StatusOK {
		t.Fatalf("the first call: %d %s", status, answer)
	}
	start := time.Now()
	c.mustKeep(t, []map[string]string{session}, 2)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the replica stopped after %v, want at once", took)
	}
	if now, most := c.programs.running(); now != 1 || most != 1 {
		t.Errorf("%d processes, at most %d at once, want 1", now, most)
	}
}

// TestCallerTakeover guards a replica that is cut off: calls of its callers wait with a clear error until its lease is
// over, then another replica starts the process, and the old one stops once its replica is back, although
// no request arrives there.
func TestCallerTakeover(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	c := &callers{programs: newPrograms()}
	cut := &cutengine.Engine{Engine: e}
	a := c.add(t, cut, client.FailoverRestart)
	if status, answer := a.callAlone(t, ann, "count"); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	socket := newAsker(t, strings.TrimSuffix(a.url, "/mcp"))
	b := c.add(t, e, client.FailoverRestart)
	header := b.begin(t, ann)
	if status, _, answer := b.post(t, header, callOf(1, "count")); !strings.Contains(answer, "call 2 ") {
		t.Fatalf("%d %s", status, answer)
	}
	answered := make(chan string, 2)
	for _, call := range []func() (int, string){
		func() (int, string) { return a.callAlone(t, ann, "wait") },
		func() (int, string) {
			status, _, answer := a.post(t, header, callOf(9, "wait"))
			return status, answer
		},
	} {
		go func() { answered <- fmt.Sprint(call()) }()
		<-c.waiting
	}
	<-time.After(1200 * time.Millisecond) // b has just joined, and adopts after the time of a lease
	cut.Cut.Store(true)
	waitFor(t, "another process", func() bool {
		status, answer := b.callAlone(t, ann, "count")
		switch {
		case status == http.StatusServiceUnavailable && strings.Contains(answer, "try again"):
		case status == http.StatusBadGateway && strings.Contains(answer, "may have run"):
		case status == http.StatusOK && (strings.Contains(answer, "call 1 ") || c.running[1].Running() == 0):
		default:
			t.Errorf("during the partition: %d %s", status, answer)
		}
		return c.running[1].Running() == 1
	})
	if status, answer := a.callAlone(t, ann, "count"); status != http.StatusServiceUnavailable ||
		!strings.Contains(answer, "cannot confirm") {
		t.Errorf("a call at a replica without a lease: %d %s, want 503", status, answer)
	}
	close(c.goOn)
	for range 2 {
		if got := <-answered; !strings.HasPrefix(got, "502") || !strings.Contains(got, "may have run") {
			t.Errorf("a call in flight at a replica without a lease was answered: %s", got)
		}
	}
	cut.Cut.Store(false)
	waitFor(t, "end of the old process", func() bool {
		now, _ := c.programs.running()
		return now == 1
	})
	answer := socket.request("tools/call", `"name":"count","arguments":{}`)
	if !strings.Contains(answer, "connect again") {
		t.Errorf("a call on a WebSocket of the first replica: %s", answer)
	}
	if home := c.home(t); home != 1 {
		t.Errorf("the process runs at replica %d, want 1", home)
	}
	for i, want := range []string{"call 2 ", "call 3 "} {
		if status, _, answer := a.post(t, header, callOf(i, "count")); status != http.StatusOK ||
			!strings.Contains(answer, want) {
			t.Errorf("a call at the first replica: %d %s, want %s", status, answer, want)
		}
	}
}

// TestCallerEnd guards failover: end, the default. Sessions of a caller end with their process, and the next one is
// at another replica.
func TestCallerEnd(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	c := &callers{programs: newPrograms()}
	for range 3 {
		c.add(t, e, client.FailoverEnd)
	}
	header := c.replicas[0].begin(t, ann)
	if status, _, answer := c.replicas[1].post(t, header, callOf(1, "count")); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	home := c.home(t)
	c.replicas[home].stop()
	next := c.replicas[(home+1)%3]
	if status, _, answer := next.post(t, header, callOf(2, "count")); status != http.StatusNotFound {
		t.Errorf("a session whose process has ended: %d %s, want 404", status, answer)
	}
	header = next.begin(t, ann)
	if status, _, answer := c.replicas[(home+2)%3].post(t, header, callOf(3, "count")); status != http.StatusOK ||
		!strings.Contains(answer, "call 1 ") {
		t.Errorf("the next session: %d %s", status, answer)
	}
	if now, most := c.programs.running(); now != 1 || most != 1 {
		t.Errorf("%d processes, at most %d at once, want 1", now, most)
	}
}
