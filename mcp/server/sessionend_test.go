package server

import (
	"context"
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
