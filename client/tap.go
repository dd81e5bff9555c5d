package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/lines"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// tapStderr returns a writer that taps lines of a child's stderr, without secrets.
func (c *Command) tapStderr(s *tap.Stream) *lines.Writer {
	return redactor(c.Redact, func(line string) error {
		s.Pass(&tap.Event{
			Kind: tap.Stderr,
			Body: []byte(line),
		})
		return nil
	})
}

// timed performs a step of the handshake, and taps its outcome.
func (ses *session) timed(ctx context.Context, name string, do func(context.Context) error) error {
	if ses.src.tap == nil {
		return do(ctx)
	}
	began := time.Now()
	err := do(ctx)
	detail := ""
	if err == nil {
		detail = ses.version.String()
	}
	ses.src.tap.Step(name, began, detail, err)
	return err
}

// tapExchange is a tapped HTTP request and its response.
type tapExchange struct {
	*tap.Stream
	// sentAt is when the request was sent, and began when each step of connecting was.
	sentAt time.Time

	mu     sync.Mutex // guards the following fields: connections are made concurrently
	began  map[string]time.Time
	wait   time.Duration
	reused bool
	remote string
}

// tappedRoundTrip is roundTrip with a tap.
func (e *Endpoint) tappedRoundTrip(r *http.Request, t *tap.Tapper) (*http.Response, error) {
	x := &tapExchange{
		Stream: t.Open(tap.Post),
		began:  make(map[string]time.Time),
	}
	secret := slices.Collect(maps.Keys(e.header())) // what the user has set is not shown
	x.Pass(&tap.Event{
		Kind: tap.Head,
		Sent: true,
		HTTP: &tap.HTTP{
			Method: r.Method,
			URL:    secrets.URL(r.URL.String()),
			Header: tap.RedactHeader(r.Header, secret...),
		},
	})
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body) // it is in memory
			x.Sends(text)
		}
	}
	x.sentAt = time.Now()
	resp, err := e.roundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), x.trace())))
	if err != nil {
		x.Step("request", x.sentAt, "", plainCause(err))
		return resp, err
	}
	x.mu.Lock()
	head := &tap.HTTP{
		Status: resp.StatusCode,
		Header: tap.RedactHeader(resp.Header, secret...),
		Wait:   x.wait,
		Reused: x.reused,
		Remote: x.remote,
	}
	x.mu.Unlock()
	x.Pass(&tap.Event{
		Kind: tap.Head,
		HTTP: head,
	})
	resp.Body = &tappedBody{
		ReadCloser: resp.Body,
		stream:     x.Stream,
	}
	return resp, nil
}

// tappedBody is the body of a response to a tapped request.
type tappedBody struct {
	io.ReadCloser
	stream *tap.Stream
}

// tapOf returns the tapped exchange of a response, or nil.
func (l *httpLink) tapOf(resp *http.Response) *tap.Stream {
	if l.ses.src.tap == nil {
		return nil
	}
	if body, ok := resp.Body.(*tappedBody); ok {
		return body.stream
	}
	return nil
}

// trace returns hooks that tap the steps of connecting.
func (x *tapExchange) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { x.begin("resolve") },
		DNSDone: func(d httptrace.DNSDoneInfo) {
			var addresses []string
			for _, a := range d.Addrs {
				addresses = append(addresses, a.String())
			}
			x.end("resolve", "resolve", strings.Join(addresses, ", "), d.Err)
		},
		ConnectStart: func(_, addr string) { x.begin("connect " + addr) },
		ConnectDone: func(_, addr string, err error) {
			x.end("connect "+addr, "connect", addr, err)
		},
		TLSHandshakeStart: func() { x.begin("tls") },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			x.end("tls", "tls", describeTLS(&state), err)
		},
		GotConn: func(c httptrace.GotConnInfo) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.reused = c.Reused
			x.remote = c.Conn.RemoteAddr().String()
		},
		GotFirstResponseByte: func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.wait = time.Since(x.sentAt)
		},
	}
}

// begin records when a step begins.
func (x *tapExchange) begin(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.began[key] = time.Now()
}

// end taps a step that began as key.
func (x *tapExchange) end(key, name, detail string, err error) {
	x.mu.Lock()
	began := x.began[key]
	x.mu.Unlock()
	x.Step(name, began, detail, err)
}

// describeTLS returns the version and the certificate of a TLS connection, or "".
func describeTLS(state *tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 {
		return ""
	}
	leaf := state.PeerCertificates[0]
	return fmt.Sprintf("%s, certificate of %s, valid until %s",
		tls.VersionName(state.Version), leaf.Subject.CommonName, leaf.NotAfter.UTC().Format(time.DateOnly))
}
