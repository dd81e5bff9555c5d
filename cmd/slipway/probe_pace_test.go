package main

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// failing is a listener that, while it is down, accepts connections, closes each at the
// first byte, and counts them.
type failing struct {
	net.Listener
	down           atomic.Bool
	attempts       atomic.Int64
	open, mostOpen atomic.Int64
}

func (l *failing) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || !l.down.Load() {
			return conn, err
		}
		l.attempts.Add(1)
		open := l.open.Add(1)
		for most := l.mostOpen.Load(); open > most && !l.mostOpen.CompareAndSwap(most, open); {
			most = l.mostOpen.Load()
		}
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			l.open.Add(-1)
			_ = conn.Close()
		}()
	}
}

// TestWaitingCallsProbeInTurn ensures that many calls waiting for a server that is down
// connect to it only a few times a second in total, one after the other. The first call
// after its recovery succeeds.
func TestWaitingCallsProbeInTurn(t *testing.T) {
	handler, _ := upstreamWeb("up", mcp.Version20250618)
	web := httptest.NewUnstartedServer(handler)
	l := &failing{Listener: web.Listener}
	web.Listener = l
	l.down.Store(true)
	web.Start()
	t.Cleanup(web.Close)
	file := filepath.Join(t.TempDir(), "servers.yaml")
	text := fmt.Sprintf("servers: {up: {url: \"%s/mcp\", transport: http}}\n", web.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := startTalk(t, "serve", "--stdio", "--log-level", "error", file)
	c.send(initializeLine)
	c.until(`"id":1`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	call := func(id int) {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up_say"}}`, id))
	}
	const calls = 200
	for id := range calls {
		call(1000 + id)
	}
	for n := 0; n < calls; n++ {
		if got := c.until(`"id":1`); !strings.Contains(got, `"error"`) {
			t.Errorf("a call to a server that is down: %s", got)
		}
	}
	took := time.Since(began)
	// An attempt may start with several handshakes, each on a separate connection.
	const connections = 3
	if most := connections * int64(took/(250*time.Millisecond)+2); l.attempts.Load() > most {
		t.Errorf("%d connections within %v, want %d at most", l.attempts.Load(), took, most)
	}
	if l.attempts.Load() == 0 {
		t.Error("calls failed without an attempt")
	}
	if most := l.mostOpen.Load(); most > connections {
		t.Errorf("%d connections at the same time", most)
	}

	l.down.Store(false)
	call(3)
	if got := c.until(`"id":3,`); !strings.Contains(got, `"content"`) {
		t.Errorf("after the recovery: %s", got)
	}
}
