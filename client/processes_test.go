package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// holding is a server with a tool that waits.
type holding struct {
	mcp.Unimplemented

	started, release chan struct{}
}

func (*holding) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "holding", Version: "1"},
		Tools:  []mcp.Tool{{Name: "hold", InputSchema: []byte(`{"type":"object"}`)}},
	}, nil
}

func (h *holding) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	h.started <- struct{}{}
	select {
	case <-h.release:
	case <-ctx.Done():
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("held")}}, nil
}

// callAs calls the tool hold for a principal, and returns the response.
func callAs(ctx context.Context, i mcp.Source, name string) string {
	ctx = mcp.WithPrincipal(ctx, &mcp.Principal{Name: name})
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{}}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	mcpserver.New(i, nil).HTTPHandler(nil).ServeHTTP(w, r)
	return w.Body.String()
}

// slowToClose is a process that ignores the end of its input for a time.
type slowToClose struct {
	*pipeConn
	running *atomic.Int64
	time    time.Duration
	closed  sync.Once
}

func (s *slowToClose) Close() error {
	s.closed.Do(func() {
		time.Sleep(s.time)
		s.running.Add(-1)
	})
	return s.pipeConn.Close()
}

// TestStoppingProcessesCount guards the limits of processes while processes that were replaced have not exited: a
// request that needs another one waits for their exit.
func TestStoppingProcessesCount(t *testing.T) {
	tests := []struct {
		name    string
		options client.IsolateOptions
		all     *client.Processes
		callers []string
		stop    bool // after each call
	}{
		{"in total", client.IsolateOptions{MaxTotal: 2}, &client.Processes{}, []string{"a", "b", "c", "d", "e"}, false},
		{"of a principal", client.IsolateOptions{MaxPerPrincipal: 2}, &client.Processes{},
			[]string{"a", "a", "a", "a", "a"}, true},
		{"of all servers", client.IsolateOptions{}, &client.Processes{Max: 2}, []string{"a", "b", "c", "d", "e"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int64
				var most int64
				free := make(chan struct{})
				close(free)
				held := memory(t, &holding{started: make(chan struct{}, 9), release: free}).(*client.Dialer)
				slow := &client.Dialer{Name: "slow", Dial: func(ctx context.Context) (mcpserver.Conn, error) {
					most = max(most, running.Add(1))
					conn, err := held.Dial(ctx)
					return &slowToClose{pipeConn: conn.(*pipeConn), running: &running, time: 10 * time.Second}, err
				}}
				src := open(t, slow, &client.Options{Lazy: true, Processes: tt.all})
				tt.options.By = client.ByPrincipal
				i := client.Isolate(src, &tt.options)
				defer i.Close()
				for _, name := range tt.callers {
					if got := callAs(t.Context(), i, name); !strings.Contains(got, "held") {
						t.Errorf("the call of %s: %s", name, got)
					}
					if tt.stop {
						ctx, cancel := context.WithCancel(t.Context())
						cancel() // without waiting
						tt.all.StopFor(ctx, name)
					}
				}
				if most > 3 { // with the one for the catalog
					t.Errorf("%d processes ran at once, want at most 3", most)
				}
			})
		})
	}
}

// TestProcessesTogether guards the limit of the processes of several servers: with none idle, a request
// that needs another one is refused with the limit, and what has stopped does not count.
func TestProcessesTogether(t *testing.T) {
	all := &client.Processes{Max: 2}
	held := &holding{started: make(chan struct{}, 3), release: make(chan struct{})}
	var servers []*client.Isolated
	for range 2 {
		src := open(t, memory(t, held), &client.Options{Lazy: true, Processes: all})
		i := client.Isolate(src, &client.IsolateOptions{By: client.ByPrincipal})
		t.Cleanup(func() { _ = i.Close() })
		servers = append(servers, i)
	}
	if all.PerSession() {
		t.Error("a server by principal counts as one by session")
	}
	call := func(i *client.Isolated, name string) (answer string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return callAs(ctx, i, name)
	}
	ended := make(chan string, 2)
	for n, i := range servers {
		go func() { ended <- call(i, []string{"ada", "bob"}[n]) }()
		<-held.started
	}
	if n := all.Running(); n != 2 {
		t.Errorf("%d processes run, want 2", n)
	}
	if got := call(servers[0], "eve"); !strings.Contains(got, "2 processes for clients") {
		t.Errorf("beyond the limit: %s", got)
	}
	close(held.release)
	for range servers {
		if got := <-ended; !strings.Contains(got, "held") {
			t.Error(got)
		}
	}
	if got := call(servers[0], "eve"); !strings.Contains(got, "held") { // in place of the idle one
		t.Error(got)
	}
	for _, i := range servers {
		_ = i.Close()
	}
	if n := all.Running(); n != 0 {
		t.Errorf("%d processes run after the end, want 0", n)
	}
}

// TestProcessGuard guards servers with a process for each principal: the guard decides before a process is used or
// started, and the processes of one principal can be stopped.
func TestProcessGuard(t *testing.T) {
	all := &client.Processes{}
	free := make(chan struct{})
	close(free)
	src := open(t, memory(t, &holding{started: make(chan struct{}, 9), release: free}),
		&client.Options{Lazy: true, Processes: all})
	i := client.Isolate(src, &client.IsolateOptions{By: client.ByPrincipal})
	t.Cleanup(func() { _ = i.Close() })
	if !all.PerPrincipal() {
		t.Error("a server by principal does not count as one")
	}
	inside := map[string]int{}
	all.Guard(func(_ context.Context, principal string) (func(), error) {
		if principal == "bob" {
			return nil, mcp.Errorf(mcp.CodeToolBusy, "bob is elsewhere")
		}
		inside[principal]++
		return func() { inside[principal]-- }, nil
	})
	server := mcpserver.New(i, nil).HTTPHandler(nil)
	call := func(name string) string {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{}}}`))
		if name != "" {
			r = r.WithContext(mcp.WithPrincipal(r.Context(), &mcp.Principal{Name: name}))
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Body.String()
	}
	if answer := call("bob"); !strings.Contains(answer, "bob is elsewhere") || all.Running() != 0 {
		t.Errorf("a refused call: %s, %d processes", answer, all.Running())
	}
	for _, name := range []string{"ada", ""} {
		if answer := call(name); !strings.Contains(answer, "held") {
			t.Fatalf("%q: %s", name, answer)
		}
	}
	if len(inside) != 2 || inside["ada"] != 0 || inside[""] != 0 {
		t.Errorf("the guard was entered and not left: %v", inside)
	}
	all.StopFor(t.Context(), "ada")
	if all.RunsFor("ada") || !all.RunsFor("") || all.Running() != 1 {
		t.Errorf("principal ada: %v, none: %v, %d processes; want only that of requests without one",
			all.RunsFor("ada"), all.RunsFor(""), all.Running())
	}
	_ = i.Close()
	if all.PerPrincipal() || all.Running() != 0 {
		t.Error("a closed server counts")
	}
}
