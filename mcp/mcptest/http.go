package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// httpLink calls a handler as net/http would, without a network.
type httpLink struct {
	client  *Client
	handler http.Handler
	session atomic.Pointer[string] // its id, if the server has assigned one
}

// statusError is a response without a message, described by its HTTP status.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP status %d: %s", e.status, e.body) }

// send posts a message. Messages in an event stream are received as they are written, so
// that the client can answer before the handler returns.
func (l *httpLink) send(msg []byte, header http.Header) (all bool, err error) {
	w := &responseWriter{header: make(http.Header), received: l.client.received}
	if err := l.do(http.MethodPost, msg, header, w); err != nil {
		return false, err
	}
	if id := w.header.Get("Mcp-Session-Id"); id != "" {
		l.session.Store(&id)
	}
	return true, w.finish()
}

func (l *httpLink) do(method string, body []byte, header http.Header, w http.ResponseWriter) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.client.opts.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/mcp", bytes.NewReader(body))
	if err != nil {
		return err
	}
	// Fields as a server sees them.
	r.RequestURI, r.RemoteAddr = "/mcp", "127.0.0.1:1"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id := l.session.Load(); id != nil {
		r.Header.Set("Mcp-Session-Id", *id)
	}
	maps.Copy(r.Header, l.client.opts.Header)
	maps.Copy(r.Header, header)
	l.handler.ServeHTTP(w, r)
	return nil
}

// close ends the session, if the server has assigned one.
func (l *httpLink) close() error {
	if l.session.Load() == nil {
		return nil
	}
	w := &responseWriter{header: make(http.Header)}
	if err := l.do(http.MethodDelete, nil, l.client.versionHeader(""), w); err != nil {
		return err
	}
	switch w.status {
	case http.StatusOK, http.StatusNoContent, http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil
	}
	return &statusError{w.status, w.body.String()}
}

// responseWriter is the client's side of a response. A reader of its own receives the
// events of a stream.
type responseWriter struct {
	header   http.Header
	received func(msg []byte)

	mu     sync.Mutex
	status int
	body   bytes.Buffer   // unless it is an event stream
	stream *io.PipeWriter // nil until the first byte of an event stream
	read   chan struct{}  // closed when the whole stream has been read
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == 0 {
		w.status = status
	}
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isStream() {
		return w.body.Write(p)
	}
	if w.stream == nil {
		var out *io.PipeReader
		out, w.stream = io.Pipe()
		w.read = make(chan struct{})
		go w.readEvents(out)
	}
	return w.stream.Write(p)
}

func (w *responseWriter) isStream() bool {
	return strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream")
}

func (w *responseWriter) readEvents(out *io.PipeReader) {
	defer close(w.read)
	for events := peer.NewEventReader(out, maxMessage); ; {
		ev, err := events.Next()
		if err != nil {
			_ = out.CloseWithError(err)
			return
		}
		if ev.IsMessage() {
			w.received(ev.Data)
		}
	}
}

// Flush implements http.Flusher. Nothing is buffered.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish waits for the end of an event stream, or delivers any other body.
func (w *responseWriter) finish() error {
	w.mu.Lock()
	status, stream, body := w.status, w.stream, bytes.TrimSpace(bytes.Clone(w.body.Bytes()))
	w.mu.Unlock()
	switch {
	case stream != nil:
		_ = stream.Close()
		<-w.read
	case w.isStream(): // without an event
	case len(body) > 0 && (body[0] == '{' || body[0] == '['):
		w.received(body)
	case len(body) > 0, status != http.StatusAccepted && status != http.StatusNoContent:
		return &statusError{status, string(body)}
	}
	return nil
}

// shutdown shuts down a server when the test ends.
func shutdown(tb testing.TB, server *mcpserver.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		tb.Errorf("shut down the server: %v", err)
	}
}
