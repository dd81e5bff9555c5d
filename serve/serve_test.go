package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// source has one tool, slow, which ends when it is released or cancelled.
type source struct {
	mcp.Unimplemented
	err     error
	entered chan struct{} // receives when a call has started
	release chan struct{} // lets one call finish
}

func newSource() *source {
	return &source{entered: make(chan struct{}, 8), release: make(chan struct{}, 8)}
}

func (s *source) Catalog(context.Context) (*mcp.Catalog, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "harbour", Version: "1.2.3"},
		Tools:     []mcp.Tool{{Name: "slow"}},
		Resources: []mcp.Resource{{URI: "x://1"}, {URI: "x://2"}},
	}, nil
}

func (s *source) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	s.entered <- struct{}{}
	select {
	case <-s.release:
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// site is a source that also serves files.
type site struct{ *source }

func (site) FileHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "file "+r.URL.Path)
	})
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`

func do(h http.Handler, method, target string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, "http://localhost"+target, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func foreign(r *http.Request) {
	r.Host = "rebound.example.com"
	r.Header.Set("Origin", "https://evil.example.com")
}

func TestHealth(t *testing.T) {
	healthy := newSource()
	broken := &source{err: errors.New("secret path /srv/x is gone")}
	const summary = `{"status":"ok","name":"harbour","version":"1.2.3","tools":1,"resources":2,"templates":0,` +
		`"prompts":0}` +
		"\n"
	const empty = `,"tools":0,"resources":0,"templates":0,"prompts":0}` + "\n"
	tests := []struct {
		name, path string
		src        mcp.Source
		drain      bool
		status     int
		body       string
	}{
		{"live", "/livez", healthy, false, 200, "ok\n"},
		{"live while draining", "/livez", healthy, true, 200, "ok\n"},
		{"live without its source", "/livez", broken, false, 200, "ok\n"},
		{"ready", "/readyz", healthy, false, 200, "ok\n"},
		{"not ready while draining", "/readyz", healthy, true, 503, "draining\n"},
		{"not ready without its source", "/readyz", broken, false, 503, "unavailable\n"},
		{"summary", "/healthz", healthy, false, 200, summary},
		{"summary by its other name", "/health", healthy, false, 200, summary},
		{"summary while draining", "/healthz", healthy, true, 503, `{"status":"draining"` + empty},
		{"summary tells no internals", "/health", broken, false, 503, `{"status":"unavailable"` + empty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := serve.NewHandler(tt.src, nil)
			if tt.drain {
				h.Drain()
			}
			got := do(h, "GET", tt.path, foreign)
			if text := body(t, got); got.StatusCode != tt.status || text != tt.body {
				t.Errorf("GET %s = %d %q, want %d %q", tt.path, got.StatusCode, text, tt.status, tt.body)
			}
			if cc := got.Header.Get("Cache-Control"); cc != "no-store" {
				t.Errorf("Cache-Control = %q, want no-store", cc)
			}
			if got := do(h, "HEAD", tt.path, foreign); got.StatusCode != tt.status {
				t.Errorf("HEAD %s = %d, want %d", tt.path, got.StatusCode, tt.status)
			}
			if got := do(h, "POST", tt.path, nil); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("POST %s = %d, Allow %q, want 405 and GET, HEAD", tt.path, got.StatusCode,
					got.Header.Get("Allow"))
			}
		})
	}
}

// TestLandingPageNamesThePrefix mounts the handler below a path, over HTTP.
func TestLandingPageNamesThePrefix(t *testing.T) {
	get := func(t *testing.T, address string) string {
		t.Helper()
		res, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	mux := http.NewServeMux()
	mux.Handle("/tools/", http.StripPrefix("/tools", serve.NewHandler(newSource(), nil)))
	mux.Handle("/bare", http.StripPrefix("/bare", serve.NewHandler(newSource(), nil)))
	mux.Handle("/", serve.NewHandler(newSource(), nil))
	mux.Handle("/public/", http.StripPrefix("/public",
		serve.NewHandler(newSource(), &serve.Options{PublicURL: "https://mcp.example.com"})))
	host := httptest.NewServer(mux)
	defer host.Close()
	for path, want := range map[string]string{
		"/":             "connect to /mcp; its health is at /healthz.",
		"/tools/":       "connect to /tools/mcp; its health is at /tools/healthz.",
		"/tools/?a=/b/": "connect to /tools/mcp; its health is at /tools/healthz.",
		"/tools/none":   "Nothing is here. MCP clients connect to /tools/mcp.",
		"/bare":         "connect to /bare/mcp;",
		"/public/":      "connect to https://mcp.example.com/mcp;",
	} {
		if got := get(t, host.URL+path); !strings.Contains(got, want) {
			t.Errorf("GET %s = %s, want %s", path, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	plain, withFiles := newSource(), site{newSource()}
	tests := []struct {
		name         string
		src          mcp.Source
		method, path string
		change       func(*http.Request)
		status       int
		body         string
	}{
		{"landing page", plain, "GET", "/", nil, 200, "harbour is an MCP server. MCP clients connect to /mcp"},
		{"landing page takes no POST", plain, "POST", "/", nil, 405, ""},
		{"unknown path", plain, "GET", "/mcpx", nil, 404, "connect to /mcp."},
		{"files of the source", withFiles, "GET", "/mcp.json", nil, 200, "file /mcp.json"},
		{"landing page before files", withFiles, "GET", "/", nil, 200, "harbour is an MCP server"},
		{"landing page is not for a rebound name", plain, "GET", "/", foreign, 403, "rebound.example.com"},
		{"endpoint before files", withFiles, "GET", "/mcp", nil, 405, ""},
		{"health before files", withFiles, "GET", "/health", nil, 200, `"status":"ok"`},
		{"endpoint with a slash", plain, "GET", "/mcp/", nil, 405, ""},
		{"files are not for a rebound name", withFiles, "GET", "/mcp.json", foreign, 403, "rebound.example.com"},
		{"the endpoint neither", plain, "POST", "/mcp", foreign, 403, "rebound.example.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := do(serve.NewHandler(tt.src, nil), tt.method, tt.path, tt.change)
			if text := body(t, got); got.StatusCode != tt.status || !strings.Contains(text, tt.body) {
				t.Errorf("%s %s = %d %q, want %d with %q", tt.method, tt.path, got.StatusCode, text, tt.status, tt.body)
			}
		})
	}
}

func TestRunRefusesToBeReachedByOthers(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.7:0"} {
		t.Run(addr, func(t *testing.T) {
			err := serve.Run(t.Context(), newSource(), &serve.Options{Addr: addr})
			if !errors.Is(err, serve.ErrExposed) || !strings.Contains(err.Error(), addr) {
				t.Errorf("Run on %s: %v, want ErrExposed with the address", addr, err)
			}
		})
	}
}

func TestRunListensAnywhereInSoManyWords(t *testing.T) {
	// The address belongs to no machine, so nothing is exposed.
	err := serve.Run(t.Context(), newSource(), &serve.Options{Addr: "192.0.2.7:0", RemoteWithoutAuth: true})
	if err == nil || errors.Is(err, serve.ErrExposed) {
		t.Errorf("Run = %v, want what the system says to the address", err)
	}
}

func TestRunListensAndEnds(t *testing.T) {
	tests := []struct {
		name string
		opts serve.Options
	}{
		{"loopback", serve.Options{Addr: "127.0.0.1:0"}},
		{"localhost", serve.Options{Addr: "localhost:0"}},
		{"by default no other name is looked up", serve.Options{Addr: "127.0.0.1:0", RemoteWithoutAuth: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			tt.opts.Observer.Started = func(info *serve.Info) {
				defer cancel()
				if !strings.HasPrefix(info.Endpoint, "http://127.0.0.1:") || info.Endpoint != info.URL+"/mcp" {
					t.Errorf("Endpoint = %q, URL = %q", info.Endpoint, info.URL)
				}
				got, err := http.Get(info.Health)
				if err != nil {
					t.Error(err)
					return
				}
				if text := body(t, got); !strings.Contains(text, `"ok"`) {
					t.Errorf("health = %q", text)
				}
				http.DefaultClient.CloseIdleConnections()
			}
			if err := serve.Run(ctx, newSource(), &tt.opts); err != nil {
				t.Errorf("Run = %v, want nil after ctx ended", err)
			}
		})
	}
	t.Run("an address that is taken", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		err = serve.Run(t.Context(), newSource(), &serve.Options{Addr: ln.Addr().String()})
		if err == nil || !strings.Contains(err.Error(), ln.Addr().String()) {
			t.Errorf("Run = %v, want an error with the address", err)
		}
	})
}

// memory is a listener without a network, so that tests can run on fake time.
type memory struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func newMemory() *memory {
	return &memory{conns: make(chan net.Conn), ended: make(chan struct{})}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.ended) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

func (m *memory) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}

// running is a server on fake time.
type running struct {
	*memory
	src    *source
	client *http.Client
	cancel context.CancelFunc
	done   chan error
	log    *bytes.Buffer // to be read after done

	session string // used by the requests of ask
}

func start(t *testing.T, opts serve.Options) *running {
	src := newSource()
	r := startWith(t, src, opts)
	r.src = src
	return r
}

func startWith(t *testing.T, src mcp.Source, opts serve.Options) *running {
	r := &running{memory: newMemory(), done: make(chan error, 1), log: new(bytes.Buffer)}
	opts.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx) },
	}
	r.client = &http.Client{Transport: transport}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() { r.done <- serve.Serve(ctx, r.memory, src, &opts) }()
	t.Cleanup(transport.CloseIdleConnections)
	return r
}

// call posts a tool call and returns a channel for its outcome.
func (r *running) call() <-chan string {
	answer := make(chan string, 1)
	go func() {
		got, err := r.client.Post("http://localhost/mcp", "application/json", strings.NewReader(call))
		if err != nil {
			answer <- "error: " + err.Error()
			return
		}
		defer got.Body.Close()
		text, _ := io.ReadAll(got.Body)
		answer <- string(text)
	}()
	return answer
}

const halfSent = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
	"90\r\n\r\n{"

// send opens a connection and writes text to it.
func (r *running) send(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := r.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{})
		answer := r.call()
		<-r.src.entered
		r.cancel()
		synctest.Wait()
		if _, err := r.dial(t.Context()); err == nil {
			t.Error("a connection was accepted while draining")
		}
		select {
		case err := <-r.done:
			t.Fatalf("Serve returned %v with a request in flight", err)
		default:
		}
		r.src.release <- struct{}{}
		if got := <-answer; !strings.Contains(got, `"done"`) {
			t.Errorf("the answer in flight = %s", got)
		}
		if err := <-r.done; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
	})
}

func TestDrainEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{Connections: serve.Connections{DrainTimeout: 3 * time.Second}})
		answer := r.call()
		<-r.src.entered
		half := r.send(t, halfSent)
		synctest.Wait()
		begin := time.Now()
		r.cancel()
		if err := <-r.done; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("draining took %v, want the timeout of 3s", took)
		}
		<-answer
		_, _ = io.Copy(io.Discard, half)
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("a request that never came whole was kept for %v", took)
		}
		synctest.Wait() // the cancelled handler also logs its line
		if !strings.Contains(r.log.String(), "requests in flight were cancelled") {
			t.Errorf("the log does not say so:\n%s", r.log)
		}
	})
}

func TestDrainDoesNotWaitForConnectionsToSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{})
		spare, err := r.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer spare.Close()
		synctest.Wait()
		begin := time.Now()
		r.cancel()
		<-r.done
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("draining took %v for a connection on which nothing was sent", took)
		}
	})
}

func TestDrainDelayLetsOthersSeeThatItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{Connections: serve.Connections{DrainDelay: 5 * time.Second}})
		synctest.Wait()
		begin := time.Now()
		r.cancel()
		synctest.Wait()
		got, err := r.client.Get("http://localhost/readyz")
		if err != nil || got.StatusCode != 503 {
			t.Fatalf("readyz in the delay = %+v, %v, want 503", got, err)
		}
		got.Body.Close()
		r.src.release <- struct{}{}
		if got := <-r.call(); !strings.Contains(got, `"done"`) {
			t.Errorf("a call in the delay = %s", got)
		}
		<-r.done
		if took := time.Since(begin); took < 5*time.Second || took > 5100*time.Millisecond {
			t.Errorf("draining took %v, want the delay of 5s", took)
		}
	})
}

func TestReadTimeoutsEndSlowRequestsButNotSlowTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{Connections: serve.Connections{ReadHeaderTimeout: time.Second,
			ReadTimeout: 2 * time.Second}})
		answer := r.call()
		<-r.src.entered
		for _, tt := range []struct {
			sent  string
			limit time.Duration
		}{{"POST /mcp HTTP/1.1\r\nHost: loc", time.Second}, {halfSent, 2 * time.Second}} {
			conn := r.send(t, tt.sent)
			begin := time.Now()
			_, _ = io.Copy(io.Discard, conn)
			// After answering, net/http waits half a second for the rest.
			if took := time.Since(begin); took > tt.limit+500*time.Millisecond {
				t.Errorf("a request that stopped after %q was kept for %v, want %v", tt.sent, took, tt.limit)
			}
		}
		<-time.After(time.Minute) // on fake time
		r.src.release <- struct{}{}
		if got := <-answer; !strings.Contains(got, `"done"`) {
			t.Errorf("a tool that took longer than the read timeout: %s", got)
		}
		r.cancel()
		<-r.done
	})
}

func TestLogTellsOfRequestsButNotOfTheirContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{})
		r.src.release <- struct{}{}
		<-r.call()
		r.cancel()
		<-r.done
		log := r.log.String()
		if !strings.Contains(log, "method=POST path=/mcp status=200") || !strings.Contains(log, "msg=drained") {
			t.Errorf("log:\n%s", log)
		}
		if strings.Contains(log, "done") || strings.Contains(log, "params") {
			t.Errorf("the log holds what was asked or answered:\n%s", log)
		}
	})
}

func TestStdio(t *testing.T) {
	src := newSource()
	src.release <- struct{}{}
	var out bytes.Buffer
	in := strings.NewReader(initialize + "\n" + call + "\n" + strings.Repeat("x", 200) + "\n")
	if err := serve.Stdio(t.Context(), src, in, &out, &serve.Options{HTTP: server.HTTPOptions{MaxBody: 180}}); err !=
		nil {
		t.Fatal(err)
	}
	var last struct{ Error *mcp.Error }
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(out.String(), `"done"`) {
		t.Fatalf("answers:\n%s", out.String())
	}
	for _, line := range lines {
		if err := json.Unmarshal([]byte(line), &last); err != nil || last.Error != nil {
			break
		}
	}
	if last.Error == nil || !strings.Contains(last.Error.Message, "180") {
		t.Errorf("a line over the limit: %+v", last.Error)
	}
}

// counting answers calls immediately and counts them.
type counting struct {
	*source
	calls chan struct{}
	n     atomic.Int64
}

func (c *counting) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if c.n.Add(1) == 200 {
		close(c.calls)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
}

func TestDrainUnderLoadLosesNoAnswer(t *testing.T) {
	src := &counting{source: newSource(), calls: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- serve.Run(ctx, src, &serve.Options{
			Addr:     "127.0.0.1:0",
			Observer: serve.Observer{Started: func(i *serve.Info) { started <- i.Endpoint }},
		})
	}()
	endpoint := <-started
	var clients sync.WaitGroup
	var received atomic.Int64
	for range 20 {
		clients.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for {
				got, err := client.Post(endpoint, "application/json", strings.NewReader(call))
				if err != nil {
					return
				}
				text, err := io.ReadAll(got.Body)
				got.Body.Close()
				if err != nil || !strings.Contains(string(text), `"done"`) {
					t.Errorf("an answer was cut off: %q, %v", text, err)
				}
				received.Add(1)
			}
		})
	}
	<-src.calls
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	clients.Wait()
	if called, got := src.n.Load(), received.Load(); called != got {
		t.Errorf("%d calls were made and %d answers arrived", called, got)
	}
}

func TestDrainEndsStandingStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{})
		got, err := r.client.Post("http://localhost/mcp", "application/json", strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		request, err := http.NewRequest("GET", "http://localhost/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/event-stream")
		request.Header.Set("Mcp-Session-Id", got.Header.Get("Mcp-Session-Id"))
		got, err = r.client.Do(request)
		if err != nil || got.StatusCode != 200 {
			t.Fatalf("GET = %+v, %v", got, err)
		}
		begin := time.Now()
		r.cancel()
		<-r.done
		if took := time.Since(begin); took > time.Second {
			t.Errorf("draining took %v with an idle stream open", took)
		}
		if _, err := io.ReadAll(got.Body); err != nil {
			t.Errorf("the stream did not end in order: %v", err)
		}
	})
}
