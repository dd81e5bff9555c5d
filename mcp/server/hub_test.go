package server

import (
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// slowWatched is a source whose Watch returns when begin receives. It counts the watches.
type slowWatched struct {
	mcp.Unimplemented
	begin    chan struct{}
	watching atomic.Int32
}

func (s *slowWatched) Watch(func(mcp.Change)) (stop func()) {
	s.watching.Add(1)
	<-s.begin
	return sync.OnceFunc(func() { s.watching.Add(-1) })
}

// TestHubWatchesOnce guards a source that takes time to watch while clients come and go: it is watched once while there
// are listeners, and not after the last one.
func TestHubWatchesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &slowWatched{begin: make(chan struct{})}
		h := newHub(src)
		var adding sync.WaitGroup
		for range 2 {
			listener := newSession("")
			adding.Go(func() { h.add(listener) })
			synctest.Wait() // in Watch
			if src.watching.Load() < 2 {
				h.remove(listener)
			}
		}
		for range 2 {
			src.begin <- struct{}{}
			synctest.Wait()
		}
		adding.Wait()
		if n := src.watching.Load(); n != 1 {
			t.Errorf("with a listener, the source is watched %d times, want once", n)
		}
		h.close()
		if n := src.watching.Load(); n != 0 {
			t.Errorf("after the end, the source is watched %d times", n)
		}
	})
}
