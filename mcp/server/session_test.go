package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// browser is a client of an HTTP handler without a network, which works in synctest
// bubbles.
type browser struct {
	handler   http.Handler
	principal string
	session   string
	version   string // of the header, if it differs from the body's
}

func newBrowser(source mcp.Source, opts *mcpserver.Options) *browser {
	return &browser{handler: mcpserver.New(source, opts).HTTPHandler(nil)}
}

// open starts a session with the same handler and principal.
func (b *browser) open(t *testing.T) *browser {
	t.Helper()
	opened := &browser{handler: b.handler, principal: b.principal}
	got := opened.post(t, initRequest)
	if opened.session = got.header.Get("Mcp-Session-Id"); got.status != 200 || opened.session == "" {
		t.Fatalf("initialize: status %d, session %q\n%s", got.status, opened.session, got.body)
	}
	return opened
}

func (b *browser) post(t *testing.T, body string) *response {
	t.Helper()
	return b.do(t, http.MethodPost, body)
}

func (b *browser) do(t *testing.T, method, body string) *response {
	t.Helper()
	ctx := t.Context()
	if b.principal != "" {
		ctx = mcp.WithPrincipal(ctx, &mcp.Principal{Name: b.principal})
	}
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	r.Header = clientHeader(body)
	if b.session != "" {
		r.Header.Set("Mcp-Session-Id", b.session)
	}
	if b.version != "" {
		r.Header.Set("MCP-Protocol-Version", b.version)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return takeApart(t, w.Code, w.Header(), w.Body.Bytes())
}

// start posts a body on a goroutine, and returns a channel for the response.
func (b *browser) start(t *testing.T, body string) <-chan *response {
	answer := make(chan *response, 1)
	go func() { answer <- b.post(t, body) }()
	synctest.Wait()
	return answer
}

const (
	waitCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`
	cancel7  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"test"}}`
)

func (b *browser) wantAlive(t *testing.T, alive bool) {
	t.Helper()
	want := http.StatusOK
	if !alive {
		want = http.StatusNotFound
	}
	if got := b.post(t, pingRequest); got.status != want {
		t.Errorf("ping in session %.8s...: status %d, want %d", b.session, got.status, want)
	}
}

func TestSessionIDs(t *testing.T) {
	b := newBrowser(newDemo(), nil)
	seen := make(map[string]bool)
	for range 500 {
		id := b.open(t).session
		if seen[id] {
			t.Fatalf("id %q given twice", id)
		}
		seen[id] = true
		if len(id) < 22 { // 128 bits in base64
			t.Fatalf("id %q is short enough to be guessed", id)
		}
		for _, c := range []byte(id) {
			if c < 0x21 || 0x7e < c {
				t.Fatalf("id %q holds %q, want visible ASCII", id, c)
			}
		}
	}
	known := b.open(t)
	for _, made := range []string{
		"",
		"x",
		known.session + "A",
		known.session[1:],
		strings.ToLower(known.session),
		known.session + ", " + known.session,
	} {
		if got := (&browser{handler: b.handler, session: made}).post(t, pingRequest); made != "" && got.status != 404 {
			t.Errorf("made-up id %q: status %d, want 404", made, got.status)
		}
	}
	known.wantAlive(t, true)
}

func TestSessionDelete(t *testing.T) {
	b := newBrowser(newDemo(), nil)
	mine, other := b.open(t), b.open(t)
	if got := mine.do(t, http.MethodDelete, ""); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("DELETE: status %d with %q, want 204", got.status, got.body)
	}
	mine.wantAlive(t, false)
	if got := mine.post(t, initializedNote); got.status != 404 {
		t.Errorf("notification after DELETE: status %d, want 404", got.status)
	}
	for _, method := range []string{http.MethodDelete, http.MethodGet} {
		if got := mine.do(t, method, ""); got.status != 404 {
			t.Errorf("%s after DELETE: status %d, want 404", method, got.status)
		}
	}
	other.wantAlive(t, true)
	if got := mine.post(t, initRequest); got.status != 200 || got.header.Get("Mcp-Session-Id") == mine.session {
		t.Errorf("initialize with an old id: status %d, session %q, want a new session",
			got.status, got.header.Get("Mcp-Session-Id"))
	}
}

func TestSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser(newDemo(), &mcpserver.Options{SessionTTL: time.Minute})
		used, idle := b.open(t), b.open(t)
		for range 5 {
			time.Sleep(40 * time.Second)
			used.wantAlive(t, true)
		}
		idle.wantAlive(t, false)
		time.Sleep(62 * time.Second)
		used.wantAlive(t, false)
	})
}

// TestSessionInUse guards calls that take longer than a session may be idle: a session with a request in flight is
// in use, and idle only after the answer.
func TestSessionInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newAsker(func(ctx context.Context, _ *mcp.Request) (string, error) {
			select {
			case <-time.After(5 * time.Minute):
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		b := newBrowser(slow, &mcpserver.Options{SessionTTL: time.Minute})
		waiting := b.open(t)
		answer := waiting.start(t, askCall)
		for range 9 {
			time.Sleep(30 * time.Second)
			b.open(t).wantAlive(t, true) // drops what has expired
		}
		if got := <-answer; !strings.Contains(string(got.body), "done") {
			t.Errorf("a call of 5 minutes ends with status %d\n%s", got.status, got.body)
		}
		time.Sleep(50 * time.Second)
		waiting.wantAlive(t, true)
		time.Sleep(62 * time.Second)
		b.open(t)
		waiting.wantAlive(t, false)
	})
}

func TestSessionsAreLimited(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, time.Millisecond} {
		t.Run("one every "+pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testSessionsAreLimited(t, pause) })
		})
	}
}

func testSessionsAreLimited(t *testing.T, pause time.Duration) {
	const limit = 10
	b := newBrowser(newDemo(), &mcpserver.Options{MaxSessions: limit})
	used := b.open(t)
	var all []*browser
	for range 3 * limit {
		time.Sleep(pause)
		used.wantAlive(t, true)
		all = append(all, b.open(t))
	}
	for i, s := range all {
		s.wantAlive(t, i >= len(all)-(limit-1)) // the one in use is the tenth
	}
	used.wantAlive(t, true)
}

func TestSessionVersionIsKept(t *testing.T) {
	b := newBrowser(newDemo(), nil)
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		opened := &browser{handler: b.handler}
		init := opened.post(t, strings.Replace(initRequest, "2025-06-18", v, 1))
		opened.session = init.header.Get("Mcp-Session-Id")
		got := opened.post(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"picky"}}`)
		if asResult := v == "2025-11-25"; asResult != (got.code == 0) {
			t.Errorf("%s: bad arguments answered with code %d", v, got.code)
		}
		if got := opened.post(t, "["+pingRequest+"]"); (got.status == 200) != (v == "2025-03-26") {
			t.Errorf("%s: batch answered with status %d", v, got.status)
		}
		opened.version = "2026-07-28"
		if got := opened.post(t,
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+v+
				`"}}}`); got.code != mcp.CodeHeaderMismatch {
			t.Errorf("%s: a header of 2026-07-28 beside it answered with code %d", v, got.code)
		}
	}
}

func TestSessionLogLevel(t *testing.T) {
	b := newBrowser(newDemo(), nil)
	quiet, loud, plain := b.open(t), b.open(t), b.open(t)
	quiet.post(t, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`)
	loud.post(t, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`)
	for _, c := range []struct {
		name  string
		b     *browser
		lines int
	}{{"error", quiet, 0}, {"debug", loud, 2}, {"default", plain, 1}, {"no session", b, 0}} {
		got := c.b.post(t, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"progress"}}`)
		if n := strings.Count(got.body, "notifications/message"); n != c.lines {
			t.Errorf("%s: %d log lines, want %d\n%s", c.name, n, c.lines, got.body)
		}
	}
}

func TestSessionCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser(newDemo(), nil)
		mine, other := b.open(t), b.open(t)
		answer, others := mine.start(t, waitCall), other.start(t, waitCall)

		if got := mine.post(t, waitCall); got.code != mcp.CodeInvalidRequest {
			t.Errorf("a second request with an id in flight: code %d, want %d", got.code, mcp.CodeInvalidRequest)
		}
		b.post(t, cancel7)
		mine.post(t, strings.Replace(cancel7, "7", `"7"`, 1))
		mine.post(t, strings.Replace(cancel7, "7", "8", 1))
		synctest.Wait()
		if len(answer)+len(others) > 0 {
			t.Fatal("cancelled by a client, or an id, that is another")
		}
		mine.post(t, cancel7)
		if got := <-answer; got.body != "" {
			t.Errorf("a cancelled request is answered with %q", got.body)
		}
		if got := mine.start(t, waitCall); len(got) > 0 {
			t.Error("the id of a cancelled request cannot be used again")
		}
		if len(others) > 0 {
			t.Error("cancelled in another session, too")
		}
		mine.do(t, http.MethodDelete, "")
		other.do(t, http.MethodDelete, "") // cancels the requests in flight
		<-others
	})
}

func TestSessionBelongsToItsPrincipal(t *testing.T) {
	b := newBrowser(newDemo(), nil)
	ann := (&browser{handler: b.handler, principal: "ann"}).open(t)
	for _, thief := range []string{"", "bob"} {
		stolen := &browser{handler: b.handler, principal: thief, session: ann.session}
		stolen.wantAlive(t, false)
		if got := stolen.do(t, http.MethodDelete, ""); got.status != 404 {
			t.Errorf("DELETE by %q: status %d, want 404", thief, got.status)
		}
	}
	ann.wantAlive(t, true)
}

// observer is a source that passes the context of a call to its tests.
type observer struct {
	*demo
	contexts chan context.Context
}

func (o *observer) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	o.contexts <- ctx
	return o.demo.CallTool(ctx, p)
}

func newObserver() *observer {
	return &observer{newDemo(), make(chan context.Context, 100)}
}

func TestContextEndsWithTheRequest(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stored"}}`,
		modern("tools/call", `"name":"stored"`),
	} {
		synctest.Test(t, func(t *testing.T) {
			o := newObserver()
			newBrowser(o, nil).post(t, body)
			ctx := <-o.contexts
			derived, stop := context.WithCancel(ctx)
			defer stop()
			<-ctx.Done()
			<-derived.Done()
			if ctx.Err() == nil {
				t.Error("Done is closed, but Err is nil")
			}
			request := mcp.RequestFrom(ctx)
			request.Progress(1, 1, "late") // must neither be sent nor fail
			request.Log(mcp.LogEmergency, "", "late")
		})
	}
}

// Up to 2025-11-25, a lost connection is not a cancellation; later it is the only one.
func TestDisconnect(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   string
		cancel bool
	}{
		{"2025-03-26", waitCall, false},
		{"2026-07-28", modern("tools/call", `"name":"wait"`), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newObserver()
				handler := mcpserver.New(o, nil).HTTPHandler(nil)
				client, leave := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(client, http.MethodPost, "http://localhost/mcp", strings.NewReader(c.call))
				r.Header = clientHeader(c.call)
				done := make(chan struct{})
				w := httptest.NewRecorder()
				go func() {
					handler.ServeHTTP(w, r)
					close(done)
				}()
				ctx := <-o.contexts
				synctest.Wait()
				leave()
				synctest.Wait()
				if cancelled := ctx.Err() != nil; cancelled != c.cancel {
					t.Errorf("cancelled: %v, want %v", cancelled, c.cancel)
				}
				if !c.cancel {
					close(o.release)
				}
				<-done
				if c.cancel && w.Body.Len() > 0 {
					t.Errorf("written without a reader: %s", w.Body)
				}
			})
		})
	}
}

func TestShutdown(t *testing.T) {
	calls := map[string]string{"2025-03-26": waitCall, "2026-07-28": modern("tools/call", `"name":"wait"`)}
	for version, call := range calls {
		t.Run(version+" waits", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDemo()
				server := mcpserver.New(d, nil)
				answer := (&browser{handler: server.HTTPHandler(nil)}).start(t, call)
				time.AfterFunc(time.Hour, func() { close(d.release) })
				if err := server.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if got := <-answer; !strings.Contains(got.result, "released") {
					t.Errorf("answer %s, want the result", got.body)
				}
			})
		})
		t.Run(version+" runs out of time", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := mcpserver.New(newDemo(), nil)
				answer := (&browser{handler: server.HTTPHandler(nil)}).start(t, call)
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := server.Shutdown(ctx); err != context.DeadlineExceeded {
					t.Errorf("Shutdown = %v, want %v", err, context.DeadlineExceeded)
				}
				<-answer // or the bubble deadlocks
			})
		})
	}
}

// A client that does not read its stream must not block others.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser(newDemo(), &mcpserver.Options{MaxSessions: 100})
		stuck := b.open(t)
		call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}`
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(call))
		r.Header = clientHeader(call)
		r.Header.Set("Mcp-Session-Id", stuck.session)
		w := &stuckWriter{header: make(http.Header), read: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			stuck.handler.ServeHTTP(w, r)
			close(done)
		}()
		synctest.Wait()
		for i := range 150 {
			time.Sleep(time.Second)
			if other := b.open(t); i == 149 {
				other.wantAlive(t, true)
			}
		}
		stuck.wantAlive(t, false)
		close(w.read)
		<-done
	})
}

// stuckWriter is a connection whose buffers are full.
type stuckWriter struct {
	header http.Header
	read   chan struct{}
}

func (w *stuckWriter) Header() http.Header { return w.header }
func (w *stuckWriter) WriteHeader(int)     {}
func (w *stuckWriter) Flush()              {}
func (w *stuckWriter) Write(b []byte) (int, error) {
	<-w.read
	return len(b), nil
}

func ExampleServer_Shutdown() {
	server := mcpserver.New(newDemo(), nil)
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	fmt.Println(server.Shutdown(ctx))
	// Output: <nil>
}
