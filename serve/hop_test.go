package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
	"github.com/slipway-mcp/slipway/serve"
)

// replica is one of several replicas of a test.
type replica struct {
	url  string
	stop func()
}

// startReplica serves src as a replica until stop, or until the test ends.
func startReplica(t *testing.T, e cluster.Engine, src mcp.Source) *replica {
	t.Helper()
	return startDraining(t, e, src, time.Second)
}

// startDraining is startReplica with the time for requests in flight when it is stopped.
func startDraining(t *testing.T, e cluster.Engine, src mcp.Source, timeout time.Duration) *replica {
	t.Helper()
	return startLeased(t, e, src, timeout, time.Second)
}

// startLeased is startDraining with the lease.
func startLeased(t *testing.T, e cluster.Engine, src mcp.Source, timeout, lease time.Duration) *replica {
	t.Helper()
	return startWithOptions(t, e, src, &serve.Options{Connections: serve.Connections{DrainTimeout: timeout}}, lease)
}

// steadyLease is for tests in which no lease ends, also if the machine is busy for seconds.
const steadyLease = 30 * time.Second

// startWithOptions starts a replica with a lease, for which it completes the options.
func startWithOptions(t *testing.T, e cluster.Engine, src mcp.Source, o *serve.Options, lease time.Duration) *replica {
	t.Helper()
	return startJoined(t, e, src, o, &cluster.Options{Lease: lease})
}

// startJoined starts a replica that joins with options.
func startJoined(t *testing.T, e cluster.Engine, src mcp.Source, o *serve.Options, as *cluster.Options) *replica {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, as)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := serve.OpenStateKeys("", r.Keys()...)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		o.Server.Replica = r.ID()
		o.StateKeys = keys
		o.Cluster = r
		ended <- serve.Serve(ctx, ln, src, o)
	}()
	stopped := false
	p := &replica{url: "http://" + ln.Addr().String() + "/mcp"}
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = r.Leave(context.Background())
	}
	t.Cleanup(p.stop)
	return p
}

// post sends a message to a replica, and returns the status, the session id and the body.
func (p *replica) post(t *testing.T, header map[string]string, body string) (status int, session, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(all)
}

// clusterSource has a tool that answers and one that waits.
func clusterSource(t *testing.T, started chan<- struct{}) mcp.Source {
	t.Helper()
	src, err := router.New("cluster", "1",
		router.Tool("greet", "Greet", func(context.Context, struct{}) (string, error) { return "hello", nil }),
		router.Tool("wait", "Wait", func(ctx context.Context, _ struct{}) (string, error) {
			started <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestRetire guards upgrades: a replica that is stopped finishes what others have forwarded to it,
// while they forward no more.
func TestRetire(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	started, release := make(chan struct{}, 1), make(chan struct{})
	src, err := router.New("slow", "1", router.Tool("hold", "Hold", func(ctx context.Context, _ struct{}) (string, error) {
		started <- struct{}{}
		select {
		case <-release:
			return "held", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	owner, other := startDraining(t, e, src, time.Minute), startReplica(t, e, src)
	_, session, _ := owner.post(t, nil, initialize)
	header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
	type outcome struct {
		status int
		answer string
	}
	held := make(chan outcome, 1)
	go func() {
		status, _, answer := other.post(t, header,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hold","arguments":{}}}`)
		held <- outcome{status, answer}
	}()
	<-started
	stopped := make(chan struct{})
	go func() {
		owner.stop()
		close(stopped)
	}()
	for status := 0; status != http.StatusNotFound; time.Sleep(5 * time.Millisecond) {
		status, _, _ = other.post(t, header, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		if status != http.StatusOK && status != http.StatusNotFound {
			t.Fatalf("while the owner drains: status %d", status)
		}
	}
	select {
	case got := <-held:
		t.Fatalf("the call in flight ended with %d %s", got.status, got.answer)
	default:
	}
	close(release)
	if got := <-held; got.status != http.StatusOK || !strings.Contains(got.answer, "held") {
		t.Errorf("the call in flight: %d %s", got.status, got.answer)
	}
	<-stopped
}

// taskSource has a tool that becomes a task and runs until it is cancelled.
type taskSource struct{ mcp.Unimplemented }

func (taskSource) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "tasks", Version: "1"},
		Tasks:  true,
		Tools:  []mcp.Tool{{Name: "build"}},
	}, nil
}

func (taskSource) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return mcp.RequestFrom(ctx).Task(ctx, nil, func(ctx context.Context) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

// TestTasksOfReplicas guards that a task can be read and cancelled at another replica. A
// replica that acknowledges the cancellation without forwarding it leaves the task working.
func TestTasksOfReplicas(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	src := taskSource{}
	a, b, c := startReplica(t, e, src), startReplica(t, e, src), startReplica(t, e, src)
	send := func(p *replica, method, name, params string) string {
		t.Helper()
		_, _, answer := p.post(t, map[string]string{
			"Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method":           method,
			"Mcp-Name":             name,
		}, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`)
		return answer
	}
	var started struct {
		Result struct {
			TaskID string `json:"taskId"`
		} `json:"result"`
	}
	answer := send(a, "tools/call", "build", `"name":"build","arguments":{}`)
	if err := json.Unmarshal([]byte(answer), &started); err != nil || started.Result.TaskID == "" {
		t.Fatalf("no task: %v %s", err, answer)
	}
	id := started.Result.TaskID
	param := `"taskId":"` + id + `"`
	if answer := send(b, "tasks/get", id, param); !strings.Contains(answer, `"status":"working"`) {
		t.Errorf("tasks/get at another replica: %s", answer)
	}
	if answer := send(c, "tasks/cancel", id, param); strings.Contains(answer, `"error"`) {
		t.Errorf("tasks/cancel at another replica: %s", answer)
	}
	if answer := send(b, "tasks/get", id, param); !strings.Contains(answer, `"status":"cancelled"`) {
		t.Errorf("the task was not cancelled: %s", answer)
	}
}

// TestReplicas guards sessions over replicas: any of them serves any session of the four
// versions that have one, and a cancellation at one reaches a call at another.
func TestReplicas(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(v, func(t *testing.T) {
			e := cluster.NewMemory()
			started := make(chan struct{}, 1)
			src := clusterSource(t, started)
			all := []*replica{startReplica(t, e, src), startReplica(t, e, src), startReplica(t, e, src)}
			status, session, answer := all[0].post(t, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+
				`"protocolVersion":"`+v+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			if status != http.StatusOK || session == "" {
				t.Fatalf("initialize: %d %s", status, answer)
			}
			header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": v}
			const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet","arguments":{}}}`
			for i, p := range all {
				status, _, answer := p.post(t, header, call)
				if status != http.StatusOK || !strings.Contains(answer, "hello") || !strings.Contains(answer, `"id":7`) {
					t.Errorf("replica %d: %d %s", i, status, answer)
				}
			}
			cancelled := make(chan struct{})
			go func() {
				defer close(cancelled)
				all[1].post(t, header, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"wait","arguments":{}}}`)
			}()
			<-started
			all[2].post(t, header,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
			select {
			case <-cancelled:
			case <-time.After(5 * time.Second):
				t.Error("a cancellation at another replica had no effect")
			}
			all[0].stop()
			status, _, answer = all[1].post(t, header, call)
			if status != http.StatusNotFound {
				t.Errorf("session of a stopped replica: %d %s, want 404", status, answer)
			}
			if !json.Valid([]byte(answer)) {
				t.Errorf("the answer is not JSON: %s", answer)
			}
		})
	}
}

// partitioned is an engine that a replica cannot reach once cut is set.
type partitioned struct {
	cluster.Engine

	cut atomic.Bool
}

func (p *partitioned) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if p.cut.Load() {
		return 0, errors.New("unreachable")
	}
	return p.Engine.Update(ctx, key, value, revision, ttl)
}

// TestLostReplica guards a call in flight at a replica that stops reporting: the client
// gets an error at once, not after the timeout of the request.
func TestLostReplica(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	started := make(chan struct{}, 1)
	src := clusterSource(t, started)
	owned := &partitioned{Engine: e}
	a, b := startReplica(t, owned, src), startReplica(t, e, src)
	_, session, _ := a.post(t, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
	answered := make(chan int, 1)
	go func() {
		status, _, _ := b.post(t, header,
			`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"wait","arguments":{}}}`)
		answered <- status
	}()
	<-started
	owned.cut.Store(true)
	select {
	case status := <-answered:
		if status != http.StatusBadGateway {
			t.Errorf("status %d, want 502", status)
		}
	case <-time.After(5 * time.Second):
		t.Error("the call hung although its replica had gone")
	}
}

// changing is a source whose lists and resources change when the test says so.
type changing struct {
	mcp.Unimplemented

	mu       sync.Mutex
	watchers []func(mcp.Change)
}

func (*changing) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "changing", Version: "1"},
		Tools:     []mcp.Tool{{Name: "t"}},
		Resources: []mcp.Resource{{URI: "test://a", Name: "a"}},
		Subscribe: true,
	}, nil
}

func (s *changing) Watch(f func(mcp.Change)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, f)
	return func() {}
}

func (s *changing) change(c mcp.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.watchers {
		f(c)
	}
}

// listen opens subscriptions/listen at a replica, and returns its notifications.
func (p *replica) listen(t *testing.T) <-chan string {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{` +
		`"toolsListChanged":true,"resourceSubscriptions":["test://a"]},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "subscriptions/listen")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	got := make(chan string, 100)
	go func() {
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var message struct {
					Method string `json:"method"`
				}
				_ = json.Unmarshal([]byte(data), &message)
				got <- message.Method
			}
		}
	}()
	if first := <-got; first != "notifications/subscriptions/acknowledged" {
		t.Fatalf("first message %q", first)
	}
	return got
}

// TestSharedChanges guards that every client of every replica is notified exactly once of a
// change, whether one replica or all of them notice it, and at least once if messages between
// replicas were lost.
func TestSharedChanges(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	var sources [3]*changing
	var streams []<-chan string
	for i := range sources {
		sources[i] = &changing{}
		p := startReplica(t, e, sources[i])
		streams = append(streams, p.listen(t), p.listen(t))
	}
	expect := func(what string, want ...string) {
		t.Helper()
		for i, s := range streams {
			var got []string
			for range want {
				select {
				case method := <-s:
					got = append(got, method)
				case <-time.After(5 * time.Second):
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: stream %d received %q, want %q", what, i, got, want)
			}
		}
		<-time.After(250 * time.Millisecond) // twice the time in which changes are merged
		for i, s := range streams {
			select {
			case method := <-s:
				t.Errorf("%s: stream %d also received %q", what, i, method)
			default:
			}
		}
	}
	const tools, updated = "notifications/tools/list_changed", "notifications/resources/updated"
	sources[0].change(mcp.Change{Tools: true})
	expect("tools at one replica", tools)
	sources[1].change(mcp.Change{URI: "test://a"})
	sources[1].change(mcp.Change{URI: "test://b"})
	expect("a resource at one replica", updated)
	for _, s := range sources {
		s.change(mcp.Change{Tools: true, URI: "test://a"})
	}
	expect("both at all replicas", updated, tools)
	for i := range 2000 {
		sources[2].change(mcp.Change{URI: fmt.Sprintf("test://many/%d", i)})
	}
	sources[2].change(mcp.Change{URI: "test://a"})
	for i, s := range streams {
		for deadline := time.After(5 * time.Second); ; {
			select {
			case method := <-s:
				if method == updated {
					break
				}
				continue
			case <-deadline:
				t.Errorf("stream %d missed a resource among many", i)
			}
			break
		}
	}
}

// TestDifferingReplicas guards that a replica that serves other definitions is counted.
func TestDifferingReplicas(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	started := make(chan struct{})
	a, _, _ := startReplica(t, e, clusterSource(t, started)), startReplica(t, e, clusterSource(t, started)),
		startReplica(t, e, &changing{})
	var state serve.Health
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		resp, err := http.Get(strings.TrimSuffix(a.url, "/mcp") + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&state)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if c := state.Cluster; c != nil && *c == (serve.ClusterHealth{Replicas: 3, Differing: 1, Engine: true}) {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Errorf("cluster = %+v, want one of three to differ", state.Cluster)
}

// TestForwardTruncated guards a request whose client stops in the middle of the body: it is no success.
func TestForwardTruncated(t *testing.T) {
	e := cluster.NewMemory()
	src := newStateless()
	owner, other := startReplica(t, e, src), startReplica(t, e, src)
	_, session, _ := owner.post(t, nil, initialize)
	address := strings.TrimSuffix(strings.TrimPrefix(other.url, "http://"), "/mcp")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\n"+
		"Mcp-Protocol-Version: 2025-06-18\r\nContent-Length: 100\r\n\r\n{", address, session)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(answer), "the body is incomplete") {
		t.Errorf("a truncated request got %d %s", resp.StatusCode, answer)
	}
}
