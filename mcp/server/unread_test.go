package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// loud is a source whose tool "big" answers with a megabyte.
type loud struct{ *demo }

func (l loud) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name != "big" {
		return l.demo.CallTool(ctx, p)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(strings.Repeat("x", 1<<20))}}, nil
}

// unreadWriter is a response whose client reads nothing until read is closed.
type unreadWriter struct {
	header http.Header
	read   chan struct{}
	body   bytes.Buffer
}

func (w *unreadWriter) Header() http.Header { return w.header }
func (w *unreadWriter) WriteHeader(int)     {}
func (w *unreadWriter) Flush()              {}
func (w *unreadWriter) Write(b []byte) (int, error) {
	<-w.read
	return w.body.Write(b)
}

// unreadCalls are calls over HTTP whose clients do not read the answers.
type unreadCalls struct {
	all   []*unreadWriter
	group sync.WaitGroup
}

// call sends a body from an address, and returns once the server waits for the client.
func (u *unreadCalls) call(h http.Handler, remote, accept, body string) {
	w := &unreadWriter{header: make(http.Header), read: make(chan struct{})}
	u.all = append(u.all, w)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	r.RemoteAddr = remote
	u.group.Go(func() { h.ServeHTTP(w, r) })
	synctest.Wait()
}

// read lets the clients read, and returns how many got a result, and how many an error with that text.
func (u *unreadCalls) read(text string) (results, failures int) {
	for _, w := range u.all {
		close(w.read)
	}
	u.group.Wait()
	for _, w := range u.all {
		switch body := w.body.String(); {
		case strings.Contains(body, text):
			failures++
		case strings.Contains(body, strings.Repeat("x", 1<<20)):
			results++
		}
	}
	return results, failures
}

// TestUnreadAnswers guards the memory of answers whose clients do not read them: it had no limit in bytes.
func TestUnreadAnswers(t *testing.T) {
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big"}},` +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big"}}]`
	for _, c := range []struct {
		name, accept, body string
		results            int // of 20 requests of one client, whose share is 8 MiB
	}{
		{"one message", "application/json", callOf("big"), 7},
		{"an event stream", "text/event-stream", callOf("big"), 7},
		{"a batch", "application/json", batch, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := server.New(loud{newDemo()}, &server.Options{
					Budget: server.Budget{RequestBytes: 12 << 20, ClientRequestBytes: 8 << 20},
				})
				h := s.HTTPHandler(nil)
				var greedy, other unreadCalls
				for range 20 {
					greedy.call(h, "192.0.2.1:1", c.accept, c.body)
				}
				if got := s.Stats().RequestBytes; got > 9<<20 {
					t.Errorf("%d bytes are kept for the client, want at most its share of 8 MiB", got)
				}
				other.call(h, "192.0.2.2:1", "application/json", callOf("big"))
				if results, _ := other.read("memory limit"); results != 1 {
					t.Error("another client got no answer")
				}
				results, failures := greedy.read("the request has run, but its answer was dropped")
				if results != c.results || results+failures != 20 {
					t.Errorf("%d results and %d errors, want %d and %d", results, failures, c.results, 20-c.results)
				}
				if got := s.Stats().RequestBytes; got != 0 {
					t.Errorf("%d bytes are counted after the answers", got)
				}
			})
		})
	}
}

// unreadConn is a connection whose client reads nothing until read is closed.
type unreadConn struct {
	in   chan string
	read chan struct{}
}

func (c unreadConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case msg, ok := <-c.in:
		if !ok {
			return nil, io.EOF
		}
		return []byte(msg), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c unreadConn) WriteMessage([]byte) error {
	<-c.read
	return nil
}

// TestConnMaxInFlightUnread guards that a request is in flight until its answer is written: a client that does not
// read could have any number of answers.
func TestConnMaxInFlightUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		c := unreadConn{make(chan string, 20), make(chan struct{})}
		ended := make(chan error, 1)
		go func() {
			ended <- server.New(d, nil).ServeConn(t.Context(), c, &server.ConnOptions{MaxInFlight: 2})
		}()
		for i := range 20 {
			c.in <- call(i, "wait")
			time.Sleep(time.Second) // longer than patience
			select {
			case d.release <- struct{}{}:
			default:
			}
		}
		if entered := len(d.entered); entered != 2 {
			t.Errorf("%d calls ran while no answer was read, want 2", entered)
		}
		close(d.release)
		close(c.read)
		close(c.in)
		if err := <-ended; err != nil {
			t.Errorf("ServeConn = %v", err)
		}
	})
}

// TestAnswersBeyondShare guards that the answer of a call that has run is not dropped for the share of its client while
// most of the memory is free.
func TestAnswersBeyondShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := server.New(loud{newDemo()}, &server.Options{
			Budget: server.Budget{RequestBytes: 64 << 20, ClientRequestBytes: 2 << 20},
		}).HTTPHandler(nil)
		var u unreadCalls
		for range 10 {
			u.call(h, "192.0.2.1:1", "application/json", callOf("big"))
		}
		if results, failures := u.read("memory limit"); results != 10 || failures != 0 {
			t.Errorf("%d results and %d errors, want 10 results", results, failures)
		}
	})
}

// lastByte is a response that records how many requests have left the gate once its client has the whole event
// of a large answer.
type lastByte struct {
	*httptest.ResponseRecorder
	gate *turnstile
	left int64
}

func (w *lastByte) Write(b []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(b)
	if all := w.Body.Bytes(); w.left == 0 && len(all) > 1<<20 && bytes.HasSuffix(all, []byte("\n\n")) {
		w.left = w.gate.left.Load()
	}
	return n, err
}

// TestStreamedAnswerLeavesFirst guards that a request has left the gate when its client has the event with its
// answer: the next request of a client that sends one after the other could be refused.
func TestStreamedAnswerLeavesFirst(t *testing.T) {
	newRequest := func(method, url, body string) *http.Request {
		r := httptest.NewRequest(method, "http://localhost"+url, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
		return r
	}
	for name, run := range map[string]func(s *server.Server, w *lastByte){
		"without a session": func(s *server.Server, w *lastByte) {
			s.HTTPHandler(nil).ServeHTTP(w, newRequest("POST", "/mcp", callOf("big")))
		},
		"with a session": func(s *server.Server, w *lastByte) {
			h := s.HTTPHandler(nil)
			first := httptest.NewRecorder()
			h.ServeHTTP(first, newRequest("POST", "/mcp", initRequest))
			w.gate.left.Store(0)
			r := newRequest("POST", "/mcp", callOf("big"))
			r.Header.Set("Mcp-Session-Id", first.Header().Get("Mcp-Session-Id"))
			h.ServeHTTP(w, r)
		},
		"HTTP+SSE": func(s *server.Server, w *lastByte) {
			h := s.SSEHandler("/message", nil)
			ctx, cancel := context.WithCancel(context.Background())
			var stream sync.WaitGroup
			stream.Go(func() { h.ServeHTTP(w, newRequest("GET", "/sse", "").WithContext(ctx)) })
			synctest.Wait()
			_, endpoint, _ := strings.Cut(w.Body.String(), "data: ")
			for _, body := range []string{initRequest, callOf("big")} {
				w.gate.left.Store(0)
				h.ServeHTTP(httptest.NewRecorder(), newRequest("POST", strings.TrimSpace(endpoint), body))
				synctest.Wait()
			}
			cancel()
			stream.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := &turnstile{}
				w := &lastByte{ResponseRecorder: httptest.NewRecorder(), gate: gate}
				run(server.New(loud{newDemo()}, &server.Options{Gate: gate}), w)
				if w.left != 1 {
					t.Errorf("%d requests had left when the client had the answer, want 1: %.200s", w.left, w.Body.String())
				}
			})
		})
	}
}

// eagerConn is a connection whose client sends the next request as soon as it has an answer, before WriteMessage
// returns.
type eagerConn struct {
	unreadConn
	all  []string
	sent int
	wait func()
}

func (c *eagerConn) WriteMessage(msg []byte) error {
	c.all = append(c.all, string(msg))
	if c.sent++; c.sent == 5 {
		close(c.in)
		return nil
	}
	c.in <- call(c.sent, "wait")
	c.wait()
	return nil
}

// TestConnMaxInFlightSequential guards that a client that sends one request after the other is never refused,
// although the server is still writing the answer that it has.
func TestConnMaxInFlightSequential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		c := &eagerConn{unreadConn: unreadConn{in: make(chan string, 20)}, wait: func() { time.Sleep(time.Second) }}
		go func() {
			for range 5 {
				time.Sleep(10 * time.Second) // longer than patience
				d.release <- struct{}{}
			}
		}()
		c.in <- call(0, "wait")
		if err := server.New(d, nil).ServeConn(t.Context(), c, &server.ConnOptions{MaxInFlight: 1}); err != nil {
			t.Errorf("ServeConn = %v", err)
		}
		for _, msg := range c.all {
			if strings.Contains(msg, `"error"`) {
				t.Errorf("an answer is %s", msg)
			}
		}
	})
}
