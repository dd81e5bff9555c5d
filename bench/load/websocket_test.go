package load_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
)

// socketPeer answers messages with answer, after the handshake, and counts connections.
func socketPeer(t *testing.T, answer []byte) (addr string, opened *atomic.Int64) {
	t.Helper()
	opened = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == contract.FreePath {
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp.v1"}})
		if err != nil {
			t.Errorf("Accept: %v", err)
			return
		}
		defer conn.CloseNow()
		opened.Add(1)
		for {
			kind, msg, err := conn.Read(r.Context())
			switch {
			case err != nil:
				return
			case bytes.Contains(msg, []byte("notifications/initialized")):
				continue
			case bytes.Contains(msg, []byte(`"initialize"`)):
				err = conn.Write(r.Context(), kind, fix.InitAnswer())
			default:
				err = conn.Write(r.Context(), kind, answer)
			}
			if err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), opened
}

func TestWebSocket(t *testing.T) {
	for _, name := range []string{"ws-echo-1", "ws-echo-16"} {
		t.Run(name, func(t *testing.T) {
			w := find(t, name)
			addr, _ := socketPeer(t, w.Answer())
			s := &load.Generator{Addr: addr, Workload: w, Connections: 3}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			result, err := s.Run(short())
			if err != nil {
				t.Fatal(err)
			}
			if result.Requests == 0 {
				t.Error("no requests were answered")
			}
			if timed := result.Latency.Quantile(0.5) > 0; timed != (w.Window == 1) {
				t.Errorf("latency measured: %v, want %v", timed, w.Window == 1)
			}
		})
	}
}

func TestWebSocketCheckRefuses(t *testing.T) {
	w := find(t, "ws-echo-1")
	addr, _ := socketPeer(t, bytes.Replace(w.Answer(), []byte("hello"), []byte("jello"), 1))
	if err := (&load.Generator{Addr: addr, Workload: w}).Check(); err == nil {
		t.Error("a wrong answer passes")
	}
}

func TestIdleWebSockets(t *testing.T) {
	w := find(t, "idle-websocket")
	w.Count = 7
	addr, opened := socketPeer(t, w.Answer())
	l := &load.Idle{Addr: addr, Workload: w}
	defer l.Close()
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	before := opened.Load()
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	if got := opened.Load() - before; got != 7 {
		t.Errorf("%d connections, want 7", got)
	}
	if err := l.Free(); err != nil {
		t.Error(err)
	}
}

func TestIdleStreams(t *testing.T) {
	w := find(t, "idle-stream")
	w.Count = 7
	var sessions, streams atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			streams.Add(1)
			rw.Header().Set("Content-Type", "text/event-stream")
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.Header.Get("Mcp-Session-Id") == "":
			sessions.Add(1)
			rw.Header().Set("Mcp-Session-Id", "one")
			rw.Write(fix.InitAnswer())
		default:
			rw.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	l := &load.Idle{Addr: strings.TrimPrefix(server.URL, "http://"), Workload: w}
	defer l.Close()
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	before := streams.Load()
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	if got := streams.Load() - before; got != 7 || sessions.Load() != before+7 {
		t.Errorf("%d streams, %d sessions, want 7 and one for each stream", got, sessions.Load())
	}
}
