package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// changing is a Source that changes on demand.
type changing struct {
	mcp.Source
	mu      sync.Mutex
	changed func(mcp.Change)
}

func (c *changing) Watch(changed func(mcp.Change)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
	return func() {}
}

func (c *changing) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed(mcp.Change{Tools: true})
}

// takenWriter allows the connection to be taken over. It has no buffer: writes block
// until they are read.
type takenWriter struct {
	http.ResponseWriter
	conn net.Conn
}

func (w *takenWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.conn, nil, nil }

// stand opens a subscription of 2026-07-28, or the GET stream of a session, on a
// connection that is taken over, and reads it until the server is idle.
func stand(t *testing.T, h http.Handler, r *http.Request) *bufio.Reader {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close() })
	go h.ServeHTTP(&takenWriter{httptest.NewRecorder(), there}, r)
	in := bufio.NewReader(here)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "acknowledged") {
			_, err = in.ReadString('\n') // the end of the event
			if err != nil {
				t.Fatal(err)
			}
			return in
		}
	}
}

func listenRequest(id int) *http.Request {
	body := inEnvelope(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`, id))
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header = clientHeader(body)
	return r
}

// Notification streams share a writer. Streams whose clients do not read must neither block
// it nor be kept.
func TestNotificationStreamsOfClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &changing{Source: newDemo()}
		server := mcpserver.New(source, nil)
		h := server.HTTPHandler(nil)
		var slow []*bufio.Reader
		for i := range 20 {
			slow = append(slow, stand(t, h, listenRequest(i)))
		}
		healthy := stand(t, h, listenRequest(20))
		for round := range 3 {
			synctest.Wait()
			began := time.Now()
			source.change()
			line, err := healthy.ReadString('\n')
			for err == nil && !strings.Contains(line, "list_changed") {
				line, err = healthy.ReadString('\n')
			}
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("change %d was heard after %v, because others do not read", round, took)
			}
			time.Sleep(10 * time.Second)
		}
		for _, in := range slow {
			if _, err := io.Copy(io.Discard, in); err != nil {
				t.Errorf("a stream without a reader stays open: %v", err)
			}
		}
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, healthy); err != nil {
			t.Error(err)
		}
	})
}

// Nor may they make Shutdown wait for one after the other.
func TestShutdownWithStreamsThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcpserver.New(newDemo(), nil)
		for i := range 20 {
			stand(t, server.HTTPHandler(nil), listenRequest(i))
		}
		began := time.Now()
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("Shutdown took %v, want no more than one client may take", took)
		}
	})
}

// A writer that is busy with a slow client later writes the changes made in between.
func TestNotificationStreamOfASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &changing{Source: newDemo()}
		server := mcpserver.New(source, nil)
		in := stand(t, server.HTTPHandler(nil), listenRequest(1))
		for range 3 {
			source.change()
			time.Sleep(500 * time.Millisecond) // of the two seconds it may take
		}
		changes := 0
		go func() {
			time.Sleep(time.Second)
			_ = server.Shutdown(t.Context())
		}()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			if strings.Contains(line, "list_changed") {
				changes++
			}
		}
		if changes != 2 {
			t.Errorf("received %d changes, want the first and those after it as one", changes)
		}
	})
}
