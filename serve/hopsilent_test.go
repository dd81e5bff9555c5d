package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// onWarn is a log that calls a function for each warning.
type onWarn struct {
	slog.Handler

	call func()
}

func (onWarn) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (o onWarn) Handle(context.Context, slog.Record) error {
	o.call()
	return nil
}

// building is a source whose tool becomes a task.
type building struct{ mcp.Unimplemented }

func (building) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "building", Version: "1"},
		Tasks:  true,
		Tools:  []mcp.Tool{{Name: "build"}},
	}, nil
}

func (building) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return mcp.RequestFrom(ctx).Task(ctx, nil, func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
}

// newTask returns the id of a task at a replica.
func newTask(t *testing.T, replica string) string {
	t.Helper()
	s := mcpserver.New(building{}, &mcpserver.Options{
		Replica:   replica,
		StateKeys: [][]byte{[]byte(strings.Repeat("k", 32))}, // those of newOwner
	})
	w := httptest.NewRecorder()
	s.HTTPHandler(nil).ServeHTTP(w, modernRequest("tools/call", "build", `"name":"build","arguments":{}`))
	id := regexp.MustCompile(`"taskId":"([^"]+)"`).FindStringSubmatch(w.Body.String())
	if id == nil {
		t.Fatalf("no task: %s", w.Body)
	}
	return id[1]
}

func modernRequest(method, name, params string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	r.Header.Set("Mcp-Name", name)
	return r
}

// forwarder returns what forwards requests to other replicas.
func (o *owner) forwarder() *hop {
	h := &hop{
		replica:  o.replica,
		sessions: o.all,
		handler:  &Handler{server: o.server, placing: &placing{}},
		log:      o.all.log,
	}
	h.homes = newCallerHomes(h, nil)
	h.handler.hop = h
	return h
}

// askFor asks for a task.
func (p *hop) askFor(task string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.handler.passOn(w, modernRequest("tasks/get", task, `"taskId":"`+task+`"`))
	return w
}

// TestBusyReplica guards a request in flight at a replica that is too busy to answer probes in time, and answers other
// requests: the request is not given up until the replica answers nothing.
func TestBusyReplica(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	end := make(chan struct{})
	probed := make(chan struct{}, 100)
	server := &hophttp.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == hophttp.PingPath {
				probed <- struct{}{}
				<-end
			}
		}),
		Log: a.all.log,
	}
	go func() { _ = server.Serve(b.replica.Listener()) }()
	t.Cleanup(func() { _ = server.Close() })
	t.Cleanup(func() { close(end) })
	h := a.forwarder()
	task := newTask(t, b.replica.ID())
	peer := a.replica.Find(t.Context(), b.replica.ID())
	request := new(cluster.Canceler)
	watched := h.probes.watch(peer, request)
	defer h.probes.unwatch(watched, request)
	for probes := 0; probes < 3; { // the first two have had no answer
		select {
		case <-probed:
			probes++
		default:
		}
		if w := h.askFor(task); w.Code != http.StatusOK {
			t.Fatalf("a request to a busy replica got %d %s", w.Code, w.Body)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if cause := request.Cause(); cause != nil {
		t.Fatalf("the request ended with %v while the replica answered others", cause)
	}
	for deadline := time.Now().Add(10 * time.Second); request.Cause() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the request waits for a replica that answers nothing")
		}
	}
	if cause := request.Cause(); !errors.Is(cause, errSuspended) {
		t.Errorf("the request ended with %v, want %v", cause, errSuspended)
	}
}

// probing reports whether probes of a replica may use its connections.
func (p *probes) probing(peer *cluster.Peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peers[peer] != nil
}

// TestSilentReplica guards requests for a replica that stops answering while its connection is idle: none is sent, and
// a task, which may continue, is not reported as lost, also if the replica answers again at that moment.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	peer := a.replica.Find(t.Context(), b.replica.ID())
	if peer == nil {
		t.Fatal("the other replica was not found")
	}
	var silent atomic.Pointer[chan struct{}] // closed once the replica answers again
	var served atomic.Int32
	server := &hophttp.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path != hophttp.PingPath {
				_, _ = io.Copy(io.Discard, r.Body)
				served.Add(1)
			}
			if until := silent.Load(); until != nil {
				<-*until
			}
		}),
		Log: a.all.log,
	}
	go func() { _ = server.Serve(b.replica.Listener()) }()
	t.Cleanup(func() { _ = server.Close() })
	h := a.forwarder()
	h.log = slog.New(onWarn{
		Handler: slog.DiscardHandler,
		call: func() { // before the answer, a probe is answered again
			h.probes.mu.Lock()
			defer h.probes.mu.Unlock()
			h.probes.peers[peer].suspended.Store(false)
		},
	})
	task := newTask(t, b.replica.ID())
	ask := func() *httptest.ResponseRecorder { return h.askFor(task) }
	for name, send := range map[string]func(){
		"of a task": func() {
			if w := ask(); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
				t.Errorf("a request for a task got %d %s", w.Code, w.Body)
			}
		},
		"of a session": func() {
			w := httptest.NewRecorder()
			p := &placer{
				hop: h,
				at:  a.sessionsAt,
			}
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader("{}"))
			if p.forwardTo(w, r, peer) || !p.unreachable[peer.ID] || w.Body.Len() > 0 {
				t.Errorf("a request of a session is not served elsewhere, but got %d %s", w.Code, w.Body)
			}
		},
	} {
		for h.probes.suspended(peer) {
			time.Sleep(10 * time.Millisecond)
		}
		if w := ask(); w.Code != http.StatusOK {
			t.Fatalf("a request to a replica that answers got %d %s", w.Code, w.Body)
		}
		for h.probes.probing(peer) {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(1100 * time.Millisecond) // until connections are verified before they are used
		before := served.Load()
		waiting := h.outcomes[hopWaiting].Load()
		again := make(chan struct{})
		silent.Store(&again)
		send()
		if n := served.Load() - before; n > 0 {
			t.Errorf("%s: %d requests were sent", name, n)
		}
		if n := h.outcomes[hopWaiting].Load() - waiting; n != 1 {
			t.Errorf("%s: %d requests are counted as suspended, want 1", name, n)
		}
		silent.Store(nil)
		close(again)
	}
	if broken, refused := h.outcomes[hopBroken].Load(), h.outcomes[hopRefused].Load(); broken+refused > 0 {
		t.Errorf("%d requests are counted as broken, %d as refused", broken, refused)
	}
}
