package server

import (
	"net/http"
	"time"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// tappedWriter is the response to a tapped HTTP request. It taps the head and a plain
// body; the messages of an event stream are tapped where they are sent.
type tappedWriter struct {
	http.ResponseWriter
	stream *tap.Stream
	at     time.Time // of the first write
	status int
	body   []byte
}

// tapRequest taps the head of a request. The result replaces w until the handler calls
// its finish.
func (s *Server) tapRequest(w http.ResponseWriter, r *http.Request) *tappedWriter {
	t := &tappedWriter{
		ResponseWriter: w,
		stream:         s.tap.Open(tap.Post),
	}
	t.stream.Pass(&tap.Event{
		Kind: tap.Head,
		HTTP: &tap.HTTP{
			Method: r.Method,
			URL:    r.URL.Path,
			Header: tap.RedactHeader(r.Header),
			Remote: r.RemoteAddr,
		},
	})
	return t
}

// tapOf returns the tapped stream of a response, or nil.
func (s *Server) tapOf(w http.ResponseWriter) *tap.Stream {
	if s.tap == nil {
		return nil
	}
	if t, ok := w.(*tappedWriter); ok {
		return t.stream
	}
	return nil
}

// Unwrap is for [http.ResponseController].
func (t *tappedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (t *tappedWriter) WriteHeader(status int) {
	t.head(status)
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t *tappedWriter) Write(p []byte) (int, error) {
	t.head(http.StatusOK)
	if !t.streams() {
		t.body = append(t.body, p...)
	}
	return t.ResponseWriter.Write(p)
}

// streams reports whether the response is an event stream.
func (t *tappedWriter) streams() bool {
	kind, _ := first(t.Header(), "Content-Type")
	return kind == typeStream[0]
}

// head taps the head of the response, once.
func (t *tappedWriter) head(status int) {
	if t.status != 0 {
		return
	}
	t.status = status
	t.at = time.Now()
	t.stream.Pass(&tap.Event{
		Kind: tap.Head,
		Time: t.at,
		Sent: true,
		HTTP: &tap.HTTP{
			Status: status,
			Header: tap.RedactHeader(t.Header()),
		},
	})
}

// finish taps the body of a plain response.
func (t *tappedWriter) finish() {
	if len(t.body) == 0 {
		return
	}
	t.stream.Pass(&tap.Event{
		Kind: tap.Message, // every body of the handler is one
		Time: t.at,
		Sent: true,
		Body: t.body,
	})
}

// channelOf returns the channel of a connection.
func channelOf(transport string) tap.Channel {
	switch transport {
	case TransportStdio:
		return tap.Stdio
	case TransportSSE:
		return tap.SSE
	}
	return tap.Socket
}
