package wire_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/slipway-mcp/slipway/bench/wire"
)

// dial returns a connection to a server that runs serve on each WebSocket.
func dial(t *testing.T, serve func(*http.Request, *websocket.Conn)) *wire.Conn {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"one"}})
		if err != nil {
			t.Errorf("Accept: %v", err)
			return
		}
		defer conn.CloseNow()
		serve(r, conn)
	}))
	t.Cleanup(server.Close)
	c, err := wire.DialWebSocket(strings.TrimPrefix(server.URL, "http://"), "/", "one", 512)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func echo(r *http.Request, conn *websocket.Conn) {
	for {
		kind, msg, err := conn.Read(r.Context())
		if err != nil || conn.Write(r.Context(), kind, msg) != nil {
			return
		}
	}
}

// Lengths have three forms.
func TestEcho(t *testing.T) {
	c := dial(t, echo)
	for _, n := range []int{0, 1, 125, 126, 30_000} {
		want := strings.Repeat("x", n)
		if err := c.Send([]byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := c.Receive()
		if err != nil || string(got) != want {
			t.Errorf("Receive = %d bytes, %v, want %d", len(got), err, n)
		}
		if err := c.Send([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Skip(); err != nil || got != n {
			t.Errorf("Skip = %d, %v, want %d", got, err, n)
		}
	}
	if err := c.Goodbye(); err != nil {
		t.Errorf("Goodbye: %v", err)
	}
}

func TestLongMessage(t *testing.T) {
	const n = 70_000
	c := dial(t, func(r *http.Request, conn *websocket.Conn) {
		conn.SetReadLimit(2 * n)
		echo(r, conn)
	})
	if err := c.Send(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Receive(); err != nil || len(got) != n {
		t.Errorf("Receive = %d bytes, %v, want %d", len(got), err, n)
	}
}

func TestPingAndClose(t *testing.T) {
	ponged := make(chan error, 1)
	c := dial(t, func(r *http.Request, conn *websocket.Conn) {
		ctx := conn.CloseRead(r.Context())
		ponged <- conn.Ping(ctx)
		conn.Close(websocket.StatusGoingAway, "over")
	})
	_, err := c.Receive()
	if !errors.Is(err, wire.ErrClosed) || !strings.Contains(err.Error(), "1001") {
		t.Errorf("Receive: %v, want a close with 1001", err)
	}
	if err := <-ponged; err != nil {
		t.Errorf("the ping was not answered: %v", err)
	}
}

func TestRefusedUpgrade(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "no")
	}))
	defer server.Close()
	if _, err := wire.DialWebSocket(strings.TrimPrefix(server.URL, "http://"), "/", "one", 512); err == nil ||
		!strings.Contains(err.Error(), "403") {
		t.Errorf("Dial: %v, want an error with the status", err)
	}
}
