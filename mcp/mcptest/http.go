package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// httpLink calls a handler as net/http would, without a network.
type httpLink struct {
	client  *Client
	handler http.Handler

	mu      sync.Mutex
	session string
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
	l.mu.Lock()
	if id := w.header.Get("Mcp-Session-Id"); id != "" {
		l.session = id
	}
	l.mu.Unlock()
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
	l.mu.Lock()
	if l.session != "" {
		r.Header.Set("Mcp-Session-Id", l.session)
	}
	l.mu.Unlock()
	maps.Copy(r.Header, l.client.opts.Header)
	maps.Copy(r.Header, header)
	l.handler.ServeHTTP(w, r)
	return nil
}

// close ends the session, if the server has assigned one.
func (l *httpLink) close() error {
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session == "" {
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

// responseWriter is the client's side of a response.
type responseWriter struct {
	header   http.Header
	received func(msg []byte)

	mu     sync.Mutex
	status int
	body   bytes.Buffer // in an event stream, the part not yet received
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
	w.body.Write(p)
	var events [][]byte
	if w.isStream() {
		events = w.events()
	}
	w.mu.Unlock()
	for _, msg := range events {
		w.received(msg)
	}
	return len(p), nil
}

// Flush implements http.Flusher. Nothing is buffered.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *responseWriter) isStream() bool {
	return strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream")
}

// events removes the complete events from the body and returns their data.
func (w *responseWriter) events() [][]byte {
	var all [][]byte
	for {
		event, _, found := bytes.Cut(w.body.Bytes(), []byte("\n\n"))
		if !found {
			return all
		}
		var data []byte
		for line := range bytes.Lines(event) {
			if part, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok {
				data = append(data, bytes.TrimPrefix(part, []byte(" "))...)
			}
		}
		w.body.Next(len(event) + 2)
		if len(data) > 0 {
			all = append(all, data)
		}
	}
}

// finish delivers a body other than an event stream.
func (w *responseWriter) finish() error {
	w.mu.Lock()
	status, stream, body := w.status, w.isStream(), bytes.TrimSpace(bytes.Clone(w.body.Bytes()))
	w.mu.Unlock()
	switch {
	case stream:
		return nil
	case len(body) > 0 && (body[0] == '{' || body[0] == '['):
		w.received(body)
	case len(body) > 0, status != http.StatusAccepted && status != http.StatusNoContent:
		return &statusError{status, string(body)}
	}
	return nil
}

// shutdown shuts down a server when the test ends.
func shutdown(tb testing.TB, server *mcp.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		tb.Errorf("shut down the server: %v", err)
	}
}
