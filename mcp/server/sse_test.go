package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// sseClient is a client of HTTP+SSE: it sends messages by POST, and receives all messages
// on one stream.
type sseClient struct {
	t         *testing.T
	handler   http.Handler
	principal string
	stream    *eventStream
	message   string // where to POST
}

func (c *sseClient) context(parent context.Context) context.Context {
	if c.principal == "" {
		return parent
	}
	return mcp.WithPrincipal(parent, &mcp.Principal{Name: c.principal})
}

// connect opens the stream and returns its status.
func (c *sseClient) connect() int {
	c.t.Helper()
	c.stream = &eventStream{header: make(http.Header), status: 200, done: make(chan struct{})}
	ctx, leave := context.WithCancel(c.context(c.t.Context()))
	c.stream.leave = leave
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/sse", nil)
	go func(s *eventStream) {
		c.handler.ServeHTTP(s, r)
		close(s.done)
	}(c.stream)
	first := c.stream.came()
	if rest, ok := strings.CutPrefix(first, "event: endpoint\ndata: "); ok {
		c.message = strings.TrimSuffix(rest, "\n\n")
	}
	return c.stream.status
}

func openSSE(t *testing.T, handler http.Handler) *sseClient {
	t.Helper()
	c := &sseClient{t: t, handler: handler}
	if status := c.connect(); status != 200 || !strings.HasPrefix(c.message, "/message?sessionId=") {
		t.Fatalf("status %d, endpoint %q", status, c.message)
	}
	return c
}

// post sends one message and returns the response to the POST.
func (c *sseClient) post(body string, fields ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.context(c.t.Context()), http.MethodPost, "http://localhost"+c.message,
		strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w
}

// call sends one message and returns the messages on the stream, one per line.
func (c *sseClient) call(body string) string {
	c.t.Helper()
	if w := c.post(body); w.Code != http.StatusAccepted || w.Body.Len() > 0 {
		c.t.Errorf("POST %s: status %d with %q, want 202 and nothing", body, w.Code, w.Body)
	}
	lines := ""
	for event := range strings.SplitSeq(strings.TrimSuffix(c.stream.came(), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "event: message\ndata: ")
		if event != "" && !ok {
			c.t.Errorf("event %q", event)
		}
		if data != "" {
			lines += data + "\n"
		}
	}
	return lines
}

// A whole conversation of 2024-11-05: all answers, notifications and questions are sent
// on the stream.
func TestSSEConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newNews()
		c := openSSE(t, mcpserver.New(&newsAsker{source}, nil).SSEHandler("/message", nil))
		if got := c.stream.header; got.Get("Content-Type") != "text/event-stream" || got.Get("X-Accel-Buffering") != "no" {
			t.Errorf("header %v", got)
		}
		said := []string{
			strings.NewReplacer("2025-06-18", "2024-11-05", `"capabilities":{}`, `"capabilities":`+allCaps).Replace(initRequest),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`,
			uriRequest(4, "resources/subscribe", "news://a"),
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"talk","_meta":{"progressToken":"t"}}}`,
		}
		all := ""
		for i, want := range []int{1, 0, 1, 1, 1, 3} {
			got := c.call(said[i])
			messages(t, got, want)
			all += got
		}
		source.tell(mcp.Change{Tools: true, URI: "news://a"})
		if got := strings.Count(c.stream.came(), "event: message"); got != 2 {
			t.Errorf("heard %d changes, want 2", got)
		}
		asks := c.call(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"ask"}}`)
		asked := messages(t, asks, 1)[0]
		got := c.call(reply(asked, `{"roots":[{"uri":"file:///r"}]}`))
		if text := textOf(t, messages(t, got, 1)[0]); text != "[{file:///r }]" {
			t.Errorf("the source got %q", text)
		}
		said = append(said, `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"ask"}}`)
		checkTruth(t, mcp.Version20241105, said, all+asks+got)

		for body, code := range map[string]mcp.Code{
			"{":  -32700,
			"[]": -32600,
			`{"jsonrpc":"2.0","id":7,"method":"no/such"}`: -32601,
		} {
			if got := messages(t, c.call(body), 1)[0]; got.Error == nil || got.Error.Code != code {
				t.Errorf("%s: %v", body, got.Error)
			}
		}
		c.stream.leave()
		if !c.stream.over() {
			t.Error("the stream does not end")
		}
		if w := c.post(pingRequest); w.Code != 404 {
			t.Errorf("after the end of the stream: status %d, want 404", w.Code)
		}
	})
}

// newsAsker has a tool that asks for roots.
type newsAsker struct{ *news }

func (n *newsAsker) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: n.catalog.Server, Tools: []mcp.Tool{{Name: "talk"}, {Name: "ask"}},
		Resources: n.catalog.Resources, Subscribe: true, Logging: true,
	}, nil
}

func (n *newsAsker) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name == "talk" {
		return n.news.CallTool(ctx, p)
	}
	s, err := askRoots(ctx, mcp.RequestFrom(ctx))
	return text(s), err
}

// Requests that are rejected before their body is read.
func TestSSERefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcpserver.New(newDemo(), &mcpserver.Options{Budget: mcpserver.Budget{Connections: 2}})
		handler := server.SSEHandler("/message", &mcpserver.HTTPOptions{MaxBody: 1000})
		ann := &sseClient{t: t, handler: handler, principal: "ann"}
		if status := ann.connect(); status != 200 {
			t.Fatalf("status %d", status)
		}
		second := openSSE(t, handler)
		third := &sseClient{t: t, handler: handler}
		first := ann.stream
		if status := third.connect(); status != 200 || !first.over() || second.stream.over() {
			t.Errorf("a third stream: status %d, want 200, replacing the oldest", status)
		}
		second.stream.leave()
		if !second.stream.over() || ann.connect() != 200 || third.stream.over() {
			t.Error("a stream that has ended still counts")
		}
		evil := "Origin: http://evil.example.com"
		for _, c := range []struct {
			name, body string
			fields     []string
			status     int
		}{
			{"another's stream", pingRequest, nil, 404},
			{"no type", pingRequest, []string{"Content-Type: text/plain"}, 415},
			{"too large", strings.Repeat(" ", 1001), nil, 413},
			{"evil origin", pingRequest, []string{evil}, 403},
			{"good origin", pingRequest, []string{"Origin: http://localhost:1"}, 202},
		} {
			from := ann
			if c.name == "another's stream" {
				from = &sseClient{t: t, handler: handler, message: ann.message, principal: "bob"}
			}
			w := from.post(c.body, c.fields...)
			if w.Code != c.status {
				t.Errorf("%s: status %d, want %d", c.name, w.Code, c.status)
			}
			if c.status == 202 && w.Header().Get("Access-Control-Allow-Origin") != "http://localhost:1" {
				t.Errorf("%s: header %v", c.name, w.Header())
			}
		}
		if w := (&sseClient{t: t, handler: handler, message: "/message?sessionId=none"}).post(pingRequest); w.Code != 404 {
			t.Errorf("an unknown stream: status %d, want 404", w.Code)
		}
		for method, status := range map[string]int{"PUT": 405, "DELETE": 405, "OPTIONS": 204} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(method, "http://localhost/sse", nil))
			if w.Code != status || status == 405 && w.Header().Get("Allow") != "GET, POST, OPTIONS" {
				t.Errorf("%s: status %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
			}
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://localhost/sse", nil)
		r.Header.Set("Origin", "http://evil.example.com")
		if handler.ServeHTTP(w, r); w.Code != 403 {
			t.Errorf("GET from a foreign page: status %d, want 403", w.Code)
		}
	})
}

// The stream and every message are authenticated, but not a browser's preflight.
func TestSSEAuthenticates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := mcpserver.New(newDemo(), nil).SSEHandler("/message", &mcpserver.HTTPOptions{
			Authenticate: func(w http.ResponseWriter, r *http.Request) context.Context {
				who := r.Header.Get("Authorization")
				if who == "" {
					w.WriteHeader(http.StatusUnauthorized)
					return nil
				}
				return mcp.WithPrincipal(r.Context(), &mcp.Principal{Name: who})
			},
		})
		for method, status := range map[string]int{"GET": 401, "POST": 401, "OPTIONS": 204} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(method, "http://localhost/sse", strings.NewReader("{}")))
			if w.Code != status {
				t.Errorf("%s without a name: status %d, want %d", method, w.Code, status)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		s := &eventStream{header: make(http.Header), status: 200, done: make(chan struct{})}
		r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/sse", nil)
		r.Header.Set("Authorization", "ann")
		go func() {
			handler.ServeHTTP(s, r)
			close(s.done)
		}()
		c := &sseClient{t: t, handler: handler, stream: s}
		c.message = strings.TrimSuffix(strings.TrimPrefix(s.came(), "event: endpoint\ndata: "), "\n\n")
		for who, status := range map[string]int{"ann": 202, "bob": 404} {
			if w := c.post(pingRequest, "Authorization: "+who); w.Code != status {
				t.Errorf("a message of %s: status %d, want %d", who, w.Code, status)
			}
		}
		leave()
		<-s.done
	})
}

// A client that sends faster than it is served is refused, after a second in which there may be
// room for its message.
func TestSSEQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// initialize is served alone, and here it takes ten seconds to start.
		c := openSSE(t, mcpserver.New(slowCatalog{takes: 10 * time.Second}, nil).SSEHandler("/message", nil))
		c.post(initRequest)
		synctest.Wait()
		accepted, refused := 0, 0
		began := time.Now()
		for range 70 {
			switch w := c.post(initializedNote); w.Code {
			case http.StatusAccepted:
				accepted++
			case http.StatusServiceUnavailable:
				refused++
			}
		}
		if took := time.Since(began); accepted != 64 || refused != 6 || took != 6*time.Second {
			t.Errorf("%d accepted, %d refused in %v, want 64 and 6 in 6s", accepted, refused, took)
		}
		time.Sleep(20 * time.Second)
		c.post(pingRequest)
		time.Sleep(20 * time.Second)
		if got := strings.Count(c.stream.came(), "event: message"); got != 2 {
			t.Errorf("%d answers, want those to initialize and ping", got)
		}
		c.stream.end()
	})
}

// A burst of messages that the server cannot serve at once is accepted, as soon as it can. At most
// 256 wait for that, and those that wait when the stream ends are refused.
func TestSSEBurst(t *testing.T) {
	for _, end := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := openSSE(t, mcpserver.New(slowCatalog{}, nil).SSEHandler("/message", nil))
			c.post(initRequest)
			time.Sleep(500 * time.Millisecond)
			var posts sync.WaitGroup
			var accepted, refused atomic.Int64
			for range 400 {
				posts.Go(func() {
					if c.post(initializedNote).Code == http.StatusAccepted {
						accepted.Add(1)
					} else {
						refused.Add(1)
					}
				})
			}
			synctest.Wait()
			if a, r := accepted.Load(), refused.Load(); a != 64 || r != 400-64-256 {
				t.Errorf("%d accepted and %d refused at once, want 64 and 80", a, r)
			}
			want := int64(64 + 256)
			if end {
				want = 64
				c.stream.end()
			}
			posts.Wait()
			if got := accepted.Load(); got != want {
				t.Errorf("%d accepted, want %d (the stream ends: %v)", got, want, end)
			}
			c.stream.end()
			time.Sleep(time.Minute) // until the session has been closed
		})
	}
}

// When the stream ends, the client has disconnected, and its requests are cancelled.
func TestSSEDisconnectCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserver()
		c := openSSE(t, mcpserver.New(o, nil).SSEHandler("/message", nil))
		c.call(initRequest)
		c.call(waitCall)
		ctx := <-o.contexts
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		c.stream.leave()
		left := time.Now()
		<-ctx.Done()
		if waited := time.Since(left); waited > 0 {
			t.Errorf("cancelled %v after the client has gone", waited)
		}
		if !c.stream.over() {
			t.Error("the stream does not end")
		}
	})
}

func TestSSECancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := openSSE(t, mcpserver.New(newDemo(), nil).SSEHandler("/message", nil))
		c.call(initRequest)
		c.call(waitCall)
		if got := c.call(cancel7); got != "" {
			t.Errorf("answered %s", got)
		}
		if got := messages(t, c.call(pingRequest), 1)[0]; string(got.Result) != "{}" {
			t.Errorf("then %s", got.Result)
		}
		c.stream.end()
	})
}

// When the server shuts down, requests finish, and the streams end.
func TestSSEShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		server := mcpserver.New(d, nil)
		c := openSSE(t, server.SSEHandler("/message", nil))
		c.call(initRequest)
		c.call(waitCall)
		time.AfterFunc(time.Second, func() { close(d.release) })
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := c.stream.came(); !strings.Contains(got, "released") || !c.stream.over() {
			t.Errorf("came %q; over: %v", got, c.stream.over())
		}
	})
}

// On an idle stream, a comment is sent periodically.
func TestSSEIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := openSSE(t, mcpserver.New(newDemo(), nil).SSEHandler("/message", nil))
		time.Sleep(time.Minute)
		if got := c.stream.came(); got != ":\n\n:\n\n" {
			t.Errorf("in a minute of silence it carried %q", got)
		}
		c.stream.end()
	})
}

// It also supports newer versions, including requests of 2026-07-28.
func TestSSECarriesEveryVersion(t *testing.T) {
	for _, v := range mcp.Versions() {
		synctest.Test(t, func(t *testing.T) {
			c := openSSE(t, mcpserver.New(newDemo(), nil).SSEHandler("/message", nil))
			begin := strings.Replace(initRequest, "2025-06-18", v.String(), 1)
			if v.Modern() {
				begin = modern("server/discover", "")
			}
			got := c.call(begin)
			if !strings.Contains(got, fmt.Sprintf("%q", v)) {
				t.Errorf("%v: %s", v, got)
			}
			checkTruth(t, v, []string{begin}, got)
			c.stream.end()
		})
	}
}

func TestSSEEndpointIsAURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(map[string]bool)
		handler := mcpserver.New(newDemo(), nil).SSEHandler("/message", nil)
		for range 50 {
			c := openSSE(t, handler)
			u, err := url.Parse(c.message)
			if err != nil || u.Path != "/message" || len(u.Query().Get("sessionId")) < 22 || seen[c.message] {
				t.Errorf("endpoint %q (%v)", c.message, err)
			}
			seen[c.message] = true
			c.stream.end()
		}
	})
}
