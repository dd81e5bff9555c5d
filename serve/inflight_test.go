package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// large returns a request of size bytes.
func large(size int) string {
	const begin, end = `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"`, `"}}`
	return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
}

// linger sends all but the last byte of a request, waits until the server has it, and
// returns what closes the connection.
func (c *tenant) linger(t *testing.T, size int) io.Closer {
	t.Helper()
	before := c.metric(t, "mcp_server_request_bytes")
	conn, err := c.dialer.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	authorization := ""
	if c.token != "" {
		authorization = "Authorization: Bearer " + c.token + "\r\n"
	}
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", authorization, size, large(size)[:size-1])
	for c.metric(t, "mcp_server_request_bytes") < before+float64(size) {
		runtime.Gosched()
	}
	return conn
}

// Bodies of one client leave room for those of another.
func TestBodiesOfOthersFit(t *testing.T) {
	const size = 1_100_000
	opts := server.Options{Budget: server.Budget{RequestBytes: 8 << 20, ClientRequestBytes: 2 << 20}}
	onEstates(t, opts, func(t *testing.T, e *estate) {
		alice, bob := e.clients[0], e.clients[1]
		conn := alice.linger(t, size)
		got := alice.post(t, large(size), "")
		if got.status != 503 || got.header.Get("Retry-After") != "1" || got.code() != int(mcp.CodeToolBusy) {
			t.Errorf("beyond the share of alice: %d %v %.200s", got.status, got.header, got.body)
		}
		if got := bob.post(t, large(size), ""); got.status != 200 {
			t.Errorf("bob: %d %.200s", got.status, got.body)
		}
		if got := alice.post(t, large(1000), ""); got.status != 200 {
			t.Errorf("a small request of alice: %d %.200s", got.status, got.body)
		}
		if got := alice.post(t, large(3<<20), ""); got.status != 503 {
			t.Errorf("a larger request of alice: %d %.200s", got.status, got.body)
		}
		_ = conn.Close()
		for bob.metric(t, "mcp_server_request_bytes") > 0 {
			runtime.Gosched()
		}
		if got := alice.post(t, large(3<<20), ""); got.status != 200 {
			t.Errorf("a single large request of alice: %d %.200s", got.status, got.body)
		}
		if got := bob.metric(t, "mcp_server_request_bytes_refused_total"); got != 2 {
			t.Errorf("%v were refused, want 2", got)
		}
	})
}

// When the total is exhausted, requests of any size from all clients are refused; before
// that, small ones of a client that exceeds its share.
func TestBodiesInTotal(t *testing.T) {
	const size = 900_000
	opts := server.Options{Budget: server.Budget{RequestBytes: 2_000_000, ClientRequestBytes: 1_000_000}}
	onEstates(t, opts, func(t *testing.T, e *estate) {
		alice, bob, carol := e.clients[0], e.clients[1], e.clients[2]
		alice.linger(t, size)
		if got := alice.post(t, large(60_000), ""); got.status != 200 {
			t.Errorf("while half is free: %d %.200s", got.status, got.body)
		}
		bob.linger(t, size)
		for _, c := range []struct {
			client       *tenant
			size, status int
		}{{alice, 110_000, 503}, {carol, 500_000, 503}, {carol, 60_000, 200}} {
			got := c.client.post(t, large(c.size), "")
			if got.status != c.status {
				t.Errorf("%d bytes: %d %.200s", c.size, got.status, got.body)
			}
		}
	})
}

// Requests over a WebSocket also count until they are answered.
func TestBodiesOverWebSocket(t *testing.T) {
	src := newSource()
	opts := &serve.Options{Server: server.Options{Budget: server.Budget{RequestBytes: 3000}}}
	site := httptest.NewServer(serve.NewHandler(src, opts))
	defer site.Close()
	conn, err := ws.Dial(t.Context(), strings.Replace(site.URL, "http", "ws", 1)+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func(message string) {
		t.Helper()
		if err := conn.WriteMessage([]byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	answer := func() (id, code int) {
		t.Helper()
		text, err := conn.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID    int
			Error struct{ Code int }
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m.ID, m.Error.Code
	}
	ask(initialize)
	answer()
	ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","x":"` + strings.Repeat("x", 2000) + `"}}`)
	<-src.entered
	ask(large(2000))
	if id, code := answer(); id != 5 || code != int(mcp.CodeToolBusy) {
		t.Errorf("a second large request: id %d, code %d", id, code)
	}
	src.release <- struct{}{}
	if id, code := answer(); id != 1 || code != 0 {
		t.Errorf("the first: id %d, code %d", id, code)
	}
	ask(large(2000))
	if id, code := answer(); id != 5 || code != 0 {
		t.Errorf("afterwards: id %d, code %d", id, code)
	}
}

// stalledWriter is a response whose client reads nothing until read is closed.
type stalledWriter struct {
	*httptest.ResponseRecorder

	once    sync.Once
	writing chan struct{} // closed once something is written
	read    chan struct{}
}

func (w *stalledWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.writing) })
	<-w.read
	return w.ResponseRecorder.Write(b)
}

// largeAnswers is a source whose tool has an answer of 100 kB.
type largeAnswers struct{ *source }

func (largeAnswers) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(strings.Repeat("x", 100_000))}}, nil
}

// TestUnreadAnswerIsInFlight guards that a request counts as in flight until its answer is written: a client that
// does not read could have any number of answers.
func TestUnreadAnswerIsInFlight(t *testing.T) {
	for _, accept := range []string{"application/json", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			h := serve.NewHandler(largeAnswers{newSource()}, &serve.Options{Limits: serve.Limits{ClientInFlight: 1}})
			w := &stalledWriter{
				ResponseRecorder: httptest.NewRecorder(),
				writing:          make(chan struct{}),
				read:             make(chan struct{}),
			}
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(call))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", accept)
			r.RemoteAddr = "192.0.2.1:1"
			done := make(chan struct{})
			go func() { h.ServeHTTP(w, r); close(done) }()
			<-w.writing
			if got := from(h, "192.0.2.1:1", call); got.Code != 429 {
				t.Errorf("a second request is answered with %d, want 429", got.Code)
			}
			close(w.read)
			<-done
			if got := from(h, "192.0.2.1:1", call); got.Code != 200 {
				t.Errorf("a request after the answer is answered with %d, want 200", got.Code)
			}
		})
	}
}
