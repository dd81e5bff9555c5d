package server_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp/server"
)

// deadlineWriter is a connection with a write deadline whose client may or may not read.
type deadlineWriter struct {
	header http.Header
	reads  bool

	mu       sync.Mutex
	deadline time.Time
}

func (w *deadlineWriter) Header() http.Header { return w.header }
func (w *deadlineWriter) WriteHeader(int)     {}
func (w *deadlineWriter) Flush()              {}
func (w *deadlineWriter) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	return nil
}

func (w *deadlineWriter) until() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deadline
}

func (w *deadlineWriter) Write(b []byte) (int, error) {
	if w.reads {
		return len(b), nil
	}
	if w.until().IsZero() {
		select {} // the bubble reports a deadlock
	}
	time.Sleep(time.Until(w.until()))
	return 0, os.ErrDeadlineExceeded
}

// A client that does not read the answer to its request cannot block the goroutine that
// serves it. One that reads can send the next request at any time.
func TestStreamedAnswerToAClientThatDoesNotRead(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}`
	for _, reads := range []bool{false, true} {
		name := map[bool]string{false: "does not read", true: "reads"}[reads]
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &deadlineWriter{header: make(http.Header), reads: reads}
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(call))
				r.Header = clientHeader(call)
				began := time.Now()
				server.New(newDemo(), nil).HTTPHandler(nil).ServeHTTP(w, r)
				if got := w.header.Get("Content-Type"); got != "text/event-stream" {
					t.Fatalf("Content-Type = %q, want an event stream", got)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("the handler returned after %v", took)
				}
				if reads != w.until().IsZero() {
					t.Errorf("the deadline left on the connection is %v", w.until())
				}
			})
		})
	}
}
