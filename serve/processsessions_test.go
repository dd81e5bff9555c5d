package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// programs are the processes of a server, in memory: a connection is a process.
type programs struct {
	mu      sync.Mutex
	started int
	live    int
	most    int // processes alive at the same time
	// subscribed are what each process was asked to watch, by the number of its start.
	subscribed map[int][]string

	// lease is that of the replicas.
	lease time.Duration
	// exit is how long a process takes to exit.
	exit time.Duration
	// takes is how long a call takes.
	takes time.Duration
	// waiting receives a value for each call of the tool wait, which lasts until goOn is closed.
	waiting, goOn chan struct{}
	// subscribing receives a value when a process is asked to watch a resource, and waits for answer.
	subscribing, answer chan struct{}
}

func newPrograms() *programs {
	p := &programs{
		lease:       time.Second,
		subscribed:  make(map[int][]string),
		subscribing: make(chan struct{}, 10),
		answer:      make(chan struct{}),
		waiting:     make(chan struct{}, 10),
		goOn:        make(chan struct{}),
	}
	close(p.answer)
	return p
}

// running returns how many processes are alive, and were ever alive at the same time.
func (p *programs) running() (now, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live, p.most
}

// program is a process that counts the calls it has answered.
type program struct {
	changing

	all    *programs
	number int
	mu     sync.Mutex
	calls  int
}

func (p *program) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := p.changing.Catalog(ctx)
	cat.Tools = countingTools()
	cat.Logging = true
	return cat, err
}

func (p *program) Subscribe(ctx context.Context, uri string) error {
	p.all.subscribing <- struct{}{}
	select {
	case <-p.all.answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	p.all.subscribed[p.number] = append(p.all.subscribed[p.number], uri)
	return nil
}

// countingTools are the tools of a program.
func countingTools() []mcp.Tool {
	return []mcp.Tool{
		{Name: "count", InputSchema: []byte(`{"type":"object"}`)},
		{Name: "wait", InputSchema: []byte(`{"type":"object"}`)},
	}
}

func (p *program) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if params.Name == "wait" {
		p.all.waiting <- struct{}{}
		<-p.all.goOn
	}
	time.Sleep(p.all.takes)
	p.mu.Lock()
	p.calls++
	calls := p.calls
	p.mu.Unlock()
	s := mcp.RequestFrom(ctx).Session()
	text := fmt.Sprintf("call %d %s %s %s", calls, s.LogLevel(), s.ClientInfo(), s.ClientCapabilities())
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// dial starts a process.
func (p *programs) dial(context.Context) (server.Conn, error) {
	p.mu.Lock()
	p.started++
	p.live++
	p.most = max(p.most, p.live)
	one := &program{all: p, number: p.started}
	p.mu.Unlock()
	ours, theirs := newWire()
	go func() {
		defer close(ours.exited)
		_ = server.New(one, nil).ServeConn(context.Background(), theirs, nil)
		<-time.After(p.exit)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.live--
	}()
	return ours, nil
}

// wire is one end of a connection in memory.
type wire struct {
	in, out chan []byte
	closed  chan struct{}
	close   func()
	exited  chan struct{} // closed when the process has exited; nil at its end
}

func newWire() (a, b *wire) {
	one, two, closed := make(chan []byte), make(chan []byte), make(chan struct{})
	end := sync.OnceFunc(func() { close(closed) })
	return &wire{one, two, closed, end, make(chan struct{})}, &wire{two, one, closed, end, nil}
}

func (w *wire) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-w.in:
		return msg, nil
	case <-w.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) WriteMessage(msg []byte) error {
	select {
	case w.out <- slices.Clone(msg):
		return nil
	case <-w.closed:
		return io.ErrClosedPipe
	}
}

// Close waits until the process has exited, as that of a command does.
func (w *wire) Close() error {
	w.close()
	if w.exited != nil {
		<-w.exited
	}
	return nil
}

// serveProcesses starts a replica with a process for each session.
func serveProcesses(t *testing.T, e cluster.Engine, p *programs, how client.Failover) *replica {
	t.Helper()
	return serveSomeProcesses(t, e, p, how, &client.Processes{})
}

// serveSomeProcesses is serveProcesses with a limit.
func serveSomeProcesses(
	t *testing.T, e cluster.Engine, p *programs, how client.Failover, all *client.Processes,
) *replica {
	t.Helper()
	return serveIsolated(t, e, p, how, all, nil, nil)
}

// serveIsolated is serveSomeProcesses with what has a process of its own, and authentication.
func serveIsolated(
	t *testing.T, e cluster.Engine, p *programs, how client.Failover, all *client.Processes,
	isolate *client.IsolateOptions, auth *serve.Auth,
) *replica {
	t.Helper()
	clients := &server.Clients{}
	src, err := client.Open(t.Context(), &client.Dialer{Name: "memory", Dial: p.dial}, &client.Options{
		Lazy:      true,
		Clients:   clients,
		Failover:  how,
		Processes: all,
		Previous: client.Previous{Catalog: &mcp.Catalog{
			Server:    mcp.Implementation{Name: "programs", Version: "1"},
			Tools:     countingTools(),
			Resources: []mcp.Resource{{URI: "test://a", Name: "a"}},
			Subscribe: true,
			Logging:   true,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	i := client.Isolate(src, isolate)
	t.Cleanup(func() { _ = i.Close() })
	r := startWithOptions(t, e, i, &serve.Options{
		Server:      server.Options{Clients: clients},
		Connections: serve.Connections{DrainTimeout: time.Minute},
		Auth:        auth,
		Live: serve.Live{
			Callers: all,
			Processes: func() serve.ProcessLoad {
				return serve.ProcessLoad{
					Running:    all.Running(),
					Max:        all.Max,
					PerSession: all.PerSession(),
				}
			},
		},
	}, p.lease)
	stop := r.stop
	r.stop = func() {
		stop()
		_ = i.Close()
	}
	return r
}

// beginProcess starts a session with a process that has answered two calls, and has a log level and a
// subscription.
func beginProcess(t *testing.T, p *replica, e cluster.Engine) (header map[string]string, second string) {
	t.Helper()
	header = startSession(t, p, e)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`,
	} {
		status, _, answer := p.post(t, header, body)
		if status/100 != 2 || strings.Contains(answer, "error") {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
	}
	p.post(t, header, callOf(4, "count"))
	status, _, second := p.post(t, header, callOf(5, "count"))
	if status != http.StatusOK || !strings.Contains(second, "call 2 alert") {
		t.Fatalf("the second call of a process: %d %s", status, second)
	}
	return header, second
}

// mustRestart calls the process of a session that another replica has continued, and fails unless it has
// just started, with everything but the calls as second describes.
func (p *replica) mustRestart(t *testing.T, header map[string]string, second string) {
	t.Helper()
	status, _, answer := p.post(t, header, callOf(5, "count"))
	if want := strings.Replace(second, "call 2", "call 1", 1); status != http.StatusOK || answer != want {
		t.Errorf("the first call of the new process: %d %s, want %s", status, answer, want)
	}
}

// TestProcessHandover guards a replica that stops: the process of a session stops before another replica
// starts one for it, which has the log level and the subscriptions of the session.
func TestProcessHandover(t *testing.T) {
	e := cluster.NewMemory()
	p := newPrograms()
	p.exit = 100 * time.Millisecond
	p.lease = steadyLease
	a := serveProcesses(t, e, p, client.FailoverRestart)
	b := serveProcesses(t, e, p, client.FailoverRestart)
	header, second := beginProcess(t, a, e)
	waitFor(t, "successor", func() bool { return a.metric(t, "slipway_cluster_replicas") == 2 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.stop()
	}()
	waitFor(t, "retirement", func() bool { return leaving(e) })
	b.mustRestart(t, header, second)
	<-stopped
	if n := b.metric(t, adoptions+`{how="handover"}`); n != 1 {
		t.Errorf("%v sessions were handed over, want 1", n)
	}
	now, most := p.running()
	if now != 1 || most != 1 || p.started != 2 {
		t.Errorf("%d processes, at most %d at once, %d started; want 1, 1, 2", now, most, p.started)
	}
	if got := fmt.Sprint(p.subscribed); got != "map[1:[test://a] 2:[test://a]]" {
		t.Errorf("subscriptions of the processes: %s", got)
	}
	b.delete(t, header)
	waitFor(t, "end of the process", func() bool {
		now, _ := p.running()
		return now == 0
	})
}

// TestProcessDeclared guards the default: a session with a process ends with its replica, also if the
// definitions have just been changed at one of them.
func TestProcessDeclared(t *testing.T) {
	race.SkipSlow(t)
	for _, how := range []client.Failover{"", client.FailoverEnd, client.FailoverRestart} {
		e := cluster.NewMemory()
		p := newPrograms()
		a, b := serveProcesses(t, e, p, how), serveProcesses(t, e, p, client.FailoverEnd)
		_, session, _ := a.post(t, nil, initialize)
		header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
		if status, _, answer := b.post(t, header, callOf(4, "count")); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		a.stop()
		if status, _, answer := b.post(t, header, callOf(5, "count")); status != http.StatusNotFound {
			t.Errorf("failover %q: %d %s, want 404", how, status, answer)
		}
	}
}

// TestProcessTakeover guards a replica that is cut off: calls of a session with a process wait with a clear
// error until its lease is over, then another replica starts a process, and the old one stops
// once its replica is back, although no request arrives there.
func TestProcessTakeover(t *testing.T) {
	race.SkipSlow(t)
	e := cluster.NewMemory()
	p := newPrograms()
	cut := &cutengine.Engine{Engine: e}
	a := serveProcesses(t, cut, p, client.FailoverRestart)
	b := serveProcesses(t, e, p, client.FailoverRestart)
	header, second := beginProcess(t, a, e)
	<-time.After(1200 * time.Millisecond) // b has just joined, and adopts after the time of a lease
	cut.Cut.Store(true)
	waitFor(t, "adoption", func() bool {
		status, _, answer := b.post(t, header, callOf(5, "count"))
		adopted := b.metric(t, adoptions) > 0
		switch {
		case status == http.StatusServiceUnavailable, status == http.StatusBadGateway:
		case status == http.StatusOK && strings.Contains(answer, "call 1 ") == adopted:
		default:
			t.Errorf("during the partition: %d %s, adopted: %v", status, answer, adopted)
		}
		return adopted
	})
	if now, _ := p.running(); now != 2 {
		t.Errorf("%d processes while a replica is cut off, want 2", now)
	}
	cut.Cut.Store(false)
	waitFor(t, "end of the old process", func() bool {
		now, _ := p.running()
		return now == 1
	})
	status, _, answer := a.post(t, header, callOf(5, "count"))
	if status != http.StatusOK || answer != second {
		t.Errorf("a call at the first replica: %d %s, want the second of the new process", status, answer)
	}
}

// TestProcessHangUp guards a client that hangs up while another replica starts the process of its session:
// the process belongs to the session, which the next request continues, and stops with it.
func TestProcessHangUp(t *testing.T) {
	e := cluster.NewMemory()
	p := newPrograms()
	a := serveProcesses(t, e, p, client.FailoverRestart)
	b := serveProcesses(t, e, p, client.FailoverRestart)
	header, second := beginProcess(t, a, e)
	a.stop()
	<-p.subscribing
	p.answer = make(chan struct{})
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
		req.Header.Set("Accept", "text/event-stream")
		for name, value := range header {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	<-p.subscribing // the process has started, and does not answer
	hangUp()
	if err := <-ended; err == nil {
		t.Error("the client was answered")
	}
	close(p.answer)
	b.mustRestart(t, header, second)
	if now, most := p.running(); now != 1 || most != 1 {
		t.Errorf("%d processes, at most %d at once, want 1", now, most)
	}
	b.delete(t, header)
	waitFor(t, "end of the process", func() bool {
		now, _ := p.running()
		return now == 0
	})
}

// TestAnswersAfterFailedHops guards clients that keep their connection: after an answer to a request that
// could not be forwarded, the next request is answered, too.
func TestAnswersAfterFailedHops(t *testing.T) {
	e := cluster.NewMemory()
	lost, err := cluster.Join(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lost.Leave(context.Background()) })
	_ = lost.Listener().Close() // it refuses connections, and keeps its lease
	src := newStateless()
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(initialize))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	server.New(src, &server.Options{Replica: lost.ID(), StateKeys: lost.Keys()}).HTTPHandler(nil).ServeHTTP(w, req)
	header := map[string]string{
		"Mcp-Session-Id":       w.Header().Get("Mcp-Session-Id"),
		"Mcp-Protocol-Version": "2025-06-18",
	}
	p := startReplica(t, e, src)
	for i := range 100 { // each fails the test if it is not answered
		if status, _, answer := p.post(t, header, callOf(i, "echo")); status != http.StatusNotFound {
			t.Fatalf("call %d: %d %s, want 404", i, status, answer)
		}
	}
}
