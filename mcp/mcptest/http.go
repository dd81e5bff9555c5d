package mcptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/peer"
)

const sessionHeader = "Mcp-Session-Id"

// httpLink calls a handler as net/http would, without a network.
type httpLink struct {
	// client receives the messages that handler sends.
	client  *Client
	handler http.Handler
	session atomic.Pointer[string] // its id, if the server has assigned one
}

// statusError is a response without a message, described by its HTTP status.
type statusError struct {
	// status and body are those of the response.
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP status %d: %s", e.status, e.body)
}

// send posts a message. Messages in an event stream are received as they are written, so
// that the client can answer before the handler returns.
func (l *httpLink) send(msg []byte, header http.Header) (all bool, err error) {
	resp, err := l.exchange(http.MethodPost, msg, header)
	if err != nil {
		return false, err
	}
	if id := resp.Header.Get(sessionHeader); id != "" {
		l.session.Store(&id)
	}
	return true, l.receive(resp)
}

// receive passes the messages in a response to the client.
func (l *httpLink) receive(resp *http.Response) error {
	if mediatype.Of(resp.Header.Get("Content-Type")) == mediatype.EventStream {
		return l.receiveEvents(resp.Body)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	accepted := resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent
	switch {
	case len(body) > 0 && (body[0] == '{' || body[0] == '['):
		l.client.received(body)
	case len(body) > 0, !accepted:
		return &statusError{resp.StatusCode, string(body)}
	}
	return nil
}

// receiveEvents passes on the messages of an event stream until its end.
func (l *httpLink) receiveEvents(body io.Reader) error {
	events := peer.NewEventReader(body, maxMessage)
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if ev.IsMessage() {
			l.client.received(ev.Data)
		}
	}
}

// exchange makes a request. The handler has returned when the whole body has been read.
func (l *httpLink) exchange(method string, body []byte, header http.Header) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.client.opts.Timeout)
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/mcp", bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	// Fields as a server sees them.
	r.RequestURI = "/mcp"
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id := l.session.Load(); id != nil {
		r.Header.Set(sessionHeader, *id)
	}
	maps.Copy(r.Header, l.client.opts.Header)
	maps.Copy(r.Header, header)
	out, in := io.Pipe()
	w := &responseWriter{
		header:  make(http.Header),
		started: make(chan *http.Response, 1),
		body:    in,
	}
	go func() {
		defer cancel()
		defer in.Close()
		defer w.WriteHeader(http.StatusOK)
		l.handler.ServeHTTP(w, r)
	}()
	resp := <-w.started
	resp.Body = out
	return resp, nil
}

// close ends the session, if the server has assigned one.
func (l *httpLink) close() error {
	if l.session.Load() == nil {
		return nil
	}
	resp, err := l.exchange(http.MethodDelete, nil, l.client.versionHeader(""))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusNoContent, http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil
	}
	return &statusError{resp.StatusCode, string(body)}
}

// responseWriter delivers a response to its reader while the handler writes it.
type responseWriter struct {
	header  http.Header
	once    sync.Once
	started chan *http.Response // capacity 1: the response without its body
	body    io.Writer
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.started <- &http.Response{
			StatusCode: status,
			Header:     w.header.Clone(),
		}
	})
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush implements http.Flusher. Nothing is buffered.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }
