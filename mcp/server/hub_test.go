package server

import (
	"net/http/httptest"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// TestHoldClosedStream guards a notification stream that is replaced by another one of its session
// before it is served: it was kept, with its writer, until the process ended.
func TestHoldClosedStream(t *testing.T) {
	s := New(mcp.Unimplemented{}, nil)
	h := s.HTTPHandler(nil)
	st := h.newNotificationStream(t.Context(), func() [][]byte { return nil })
	st.onClose = func() {}
	st.out = newResponse(httptest.NewRecorder())
	st.close(false)
	if s.hub.hold(st) {
		t.Error("a closed stream is served")
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if len(s.hub.streams) > 0 || s.hub.writing {
		t.Errorf("%d streams, writer %v, want none", len(s.hub.streams), s.hub.writing)
	}
}
