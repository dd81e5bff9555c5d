package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
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
	r, err := cluster.Join(t.Context(), e, &cluster.Options{Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := serve.OpenStateKeys("", r.Key())
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
		ended <- serve.Serve(ctx, ln, src, &serve.Options{
			Server:      server.Options{Replica: r.ID()},
			Live:        serve.Live{StateKeys: keys, Cluster: r},
			Connections: serve.Connections{DrainTimeout: time.Second},
		})
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
			for deadline := time.Now().Add(3 * time.Second); ; {
				status, _, answer = all[1].post(t, header, call)
				// A connection that was lost during the request is a 502.
				if status != http.StatusBadGateway || time.Now().After(deadline) {
					break
				}
			}
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
