package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// calledSource records whether a call has arrived whose context was not cancelled.
type calledSource struct {
	mcp.Unimplemented

	called bool
}

func (*calledSource) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "called", Version: "1"},
		Tools:  []mcp.Tool{{Name: "t"}},
	}, nil
}

func (s *calledSource) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	s.called = s.called || ctx.Err() == nil
	return &mcp.CallToolResult{}, ctx.Err()
}

// TestRequestOfEndedSession guards against processes that nothing stops: a request that found its session
// just before it ended reaches the source cancelled, and gets an answer.
func TestRequestOfEndedSession(t *testing.T) {
	src := &calledSource{}
	s := New(src, nil)
	session := newSession("id")
	session.version.Store(uint32(mcp.Version20250618))
	rc := s.newRequest(t.Context(), "", TransportHTTP)
	if e := rc.msg.scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)); e != nil {
		t.Fatal(e)
	}
	rc.session = session
	rc.version = session.Version()
	session.refuseRequests()
	a := newAnswer()
	defer a.free()
	s.handleTracked(session, rc, a)
	if src.called {
		t.Error("the source served a request of a session that has ended")
	}
	if got := string(a.line()); !strings.Contains(got, "the session has ended") {
		t.Errorf("the answer is %s", got)
	}
}

// TestStreamOfEndedSession guards a session that ends while its client opens a stream: it does not stay a listener,
// and its stream does not stay open, because nothing would end them.
func TestStreamOfEndedSession(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := New(&calledSource{}, nil)
		h := s.HTTPHandler(nil)
		session := newSession("id")
		session.begin(mcp.Version20251125, nil, nil)
		session.setInitialized()
		if !s.sessions.add(session, "", 0) {
			t.Fatal("the session does not fit")
		}
		w := &hijackWriter{ResponseRecorder: httptest.NewRecorder(), before: func() { s.sessions.delete("id") }}
		if !late {
			s.sessions.delete("id")
		}
		h.serveNotifications(w, httptest.NewRequest(http.MethodGet, "/mcp", nil), session, -1)
		if w.Code != http.StatusNotFound && !late {
			t.Errorf("status %d, want 404", w.Code)
		}
		s.hub.mu.Lock()
		if len(s.hub.listeners)+len(s.hub.streams) > 0 {
			t.Errorf("ended late %t: %d listeners and %d streams, want none", late, len(s.hub.listeners), len(s.hub.streams))
		}
		s.hub.mu.Unlock()
	}
}

// hijackWriter is a response whose connection can be taken over, after a call of before.
type hijackWriter struct {
	*httptest.ResponseRecorder
	before func()
}

func (w *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.before()
	ours, theirs := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends when the stream is closed
	return ours, nil, nil
}

// TestListenerOfEndedSession guards a session that ends while its client subscribes to a resource.
func TestListenerOfEndedSession(t *testing.T) {
	h := newHub(&calledSource{})
	session := newSession("id")
	session.refuseRequests()
	if h.addSession(session) || len(h.listeners) > 0 {
		t.Error("a session that has ended is a listener")
	}
}
