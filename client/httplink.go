package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Headers of Streamable HTTP.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// httpLink is the link to an [Endpoint]: each request is a separate POST, on the
// goroutine of the call.
type httpLink struct {
	// endpoint and ses are what the link connects.
	endpoint *Endpoint
	ses      *session

	quit context.Context // stops the standing stream and notifications
	stop context.CancelFunc
	// work counts the goroutines of the standing stream and of notifications.
	work sync.WaitGroup

	calls context.Context // ends calls in flight, with the reason as its cause
	abort context.CancelCauseFunc

	mu      sync.Mutex  // guards the following fields
	version mcp.Version // negotiated, or 0
	// session is the Mcp-Session-Id, or empty.
	session string
	old     *stream // of 2024-11-05, if the server uses that
	// opened is closed when the standing stream is open or refused; nil without one.
	opened chan struct{}
	closed bool
	gone   bool // the session is lost: there is nothing to delete on the server
}

func newHTTPLink(e *Endpoint, ses *session) *httpLink {
	l := &httpLink{
		endpoint: e,
		ses:      ses,
	}
	l.quit, l.stop = context.WithCancel(context.Background())
	l.calls, l.abort = context.WithCancelCause(context.Background())
	return l
}

func (l *httpLink) setVersion(negotiated mcp.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = negotiated
}

// older returns the stream of 2024-11-05, if the server uses that.
func (l *httpLink) older() *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.old
}

// exchange implements link.
func (l *httpLink) exchange(ctx context.Context, c *call) ([]byte, error) {
	l.mu.Lock()
	closed := l.closed
	opened := l.opened
	l.mu.Unlock()
	if closed {
		return nil, &lostError{
			cause:  errClosed,
			unseen: true,
		}
	}
	mine, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.calls, cancel)()
	if c.foreign && opened != nil {
		awaitStream(mine, opened)
	}
	result, err := l.roundTrip(mine, c)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		l.notifyCancelled(c)
		return nil, ctx.Err()
	case mine.Err() != nil:
		return nil, &lostError{cause: context.Cause(l.calls)}
	}
	return nil, err
}

// notifyCancelled notifies a server up to 2025-11-25 that the answer is no longer wanted;
// later ones notice that the connection is closed.
func (l *httpLink) notifyCancelled(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.old != nil || l.version == 0 || l.version.Modern() {
		return
	}
	l.work.Go(func() {
		_ = l.tell(l.quit, cancelled(c.id))
	}) // no result is needed
}

// tellTimeout is how long a server may take to accept a notification or a response.
const tellTimeout = 30 * time.Second

// tell implements link, with a separate POST.
func (l *httpLink) tell(ctx context.Context, msg []byte) error {
	if old := l.older(); old != nil {
		return old.tell(ctx, msg)
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	resp, _, err := l.post(ctx, msg, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode > 299 {
		return l.refusal(resp)
	}
	drainAndClose(resp.Body)
	return nil
}

// close implements link. Calls in flight continue, each on its own connection, unless
// final is set.
func (l *httpLink) close(final bool) {
	l.mu.Lock()
	l.closed = true
	session := l.session
	old := l.old
	gone := l.gone
	l.mu.Unlock()
	if final {
		l.abort(errClosed)
	}
	l.stop()
	l.work.Wait()
	if old != nil {
		old.close(final)
	}
	if session != "" && !gone {
		l.deleteSession()
	}
}

// deleteTimeout is how long a server may take to delete a session. The result does not
// matter.
const deleteTimeout = 2 * time.Second

// deleteSession deletes the session on the server.
func (l *httpLink) deleteSession() {
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	header, _ := l.header(nil)
	resp, err := l.endpoint.do(l.endpoint.request(ctx, http.MethodDelete, header),
		l.ses.src.tap)
	if err == nil {
		drainAndClose(resp.Body)
	}
}

// endSession ends a session that the server has lost.
func (l *httpLink) endSession(err error) {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.ses.lost(err)
}

// roundTrip sends a request and reads its answer.
func (l *httpLink) roundTrip(ctx context.Context, c *call) ([]byte, error) {
	if old := l.older(); old != nil {
		return old.exchange(ctx, c)
	}
	resp, inSession, err := l.post(ctx, c.message(), c)
	if err != nil {
		return nil, err
	}
	if isEventStream(resp) {
		defer drainAndCloseStream(resp.Body)
	} else {
		defer drainAndClose(resp.Body)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return l.failure(ctx, resp, c, inSession)
	}
	if c.method == "initialize" {
		l.mu.Lock()
		l.session = resp.Header.Get(headerSession)
		l.mu.Unlock()
	}
	read := l.decodeAnswer
	if isEventStream(resp) {
		read = l.readAnswer
	}
	began := time.Now()
	found, err := read(ctx, resp, c)
	if err != nil {
		l.tapOf(resp).Step("request", began, "", plainCause(err))
		return nil, err
	}
	return found.result, found.err
}

// post sends a message. inSession reports whether it named a session.
func (l *httpLink) post(ctx context.Context, body []byte, c *call) (resp *http.Response, inSession bool, err error) {
	header, inSession := l.header(c)
	resp, err = l.endpoint.post(ctx, l.endpoint.target, header, body, l.ses.src.tap)
	if err != nil {
		err = l.connectionError(ctx, err)
	}
	return resp, inSession, err
}

// header returns the headers of every request of the session, and those of a call.
func (l *httpLink) header(c *call) (h http.Header, inSession bool) {
	own := l.endpoint.header()
	h = make(http.Header, 8+len(own))
	for name, values := range own {
		h[http.CanonicalHeaderKey(name)] = values
	}
	l.mu.Lock()
	version := l.version
	session := l.session
	l.mu.Unlock()
	if c != nil && c.method == "server/discover" {
		version = mcp.LatestVersion
	}
	if version >= mcp.Version20250618 {
		h[headerVersion] = []string{version.String()}
	}
	if session != "" {
		h[headerSession] = []string{session}
	}
	if c != nil && version.Modern() {
		h[headerMethod] = []string{c.method}
		if c.name != "" {
			h[headerName] = []string{peer.HeaderValue(c.name)}
		}
		for _, p := range c.headers {
			h[p.name] = []string{peer.HeaderValue(p.value)}
		}
	}
	return h, session != ""
}

// connectionError converts an error of the HTTP client. If the request did not reach the
// server, it ends the session: the next request reconnects.
func (l *httpLink) connectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.As(err, new(*AuthorizeError)) {
		return err
	}
	cause := plainCause(err)
	switch {
	case notServed(cause):
		return cause
	case errors.Is(cause, io.ErrUnexpectedEOF):
		cause = fmt.Errorf("the server closed the connection in the middle of its answer: %w", cause)
	case errors.Is(cause, io.EOF):
		cause = fmt.Errorf("the server closed the connection without answering: %w", cause)
	}
	unseen := isDial(err) || isPermanent(err)
	if unseen {
		l.endSession(cause)
	}
	return &lostError{
		cause:  cause,
		unseen: unseen,
	}
}

// isDial reports whether no connection was made.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// plainCause removes the URL, which may contain secrets, from an error.
func plainCause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// failure returns the error for a status, or the one in the body. If the server may speak
// 2024-11-05 alone, it makes the request over that transport instead.
func (l *httpLink) failure(ctx context.Context, resp *http.Response, c *call, inSession bool) ([]byte, error) {
	text := l.readRefusal(resp)
	status := l.endpoint.statusError(resp, text)
	if status.explained() {
		return nil, status
	}
	var m peer.Message
	// Gateways and authorization servers have errors without a code: {"error": "invalid_token"}.
	coded := m.Scan(bytes.TrimSpace(text)) == nil && jsonscan.Member(m.Failure, "code") != nil
	handshake := c.method == "initialize" || c.method == "server/discover"
	if coded && handshake && status.Refused() { // the status is more precise than the code
		status.Body = l.endpoint.firstLine(memberString(m.Failure, "message"))
		return nil, status
	}
	cause := error(status)
	if coded {
		cause = wireError(m.Failure)
		var e *mcp.Error
		if status.Refused() && errors.As(cause, &e) {
			e.Cause = status // has the challenge
		}
	}
	// A server of 2024-11-05 may answer a POST to its event stream with a coded error.
	absent := status.Status == http.StatusNotFound ||
		status.Status == http.StatusMethodNotAllowed
	maybeOld := c.method == "initialize" && absent
	if coded && !maybeOld &&
		!(inSession && status.mayForgetSession(true) && aboutSession(&m)) {
		return nil, status.markDoubt(cause)
	}
	if status.mayForgetSession(inSession) && !handshake {
		l.endSession(status)
		// A proxy may send 503 for a request that was forwarded.
		return nil, &lostError{
			cause:  status,
			unseen: status.Status != http.StatusServiceUnavailable,
		}
	}
	if c.method == "initialize" && status.mayRejectHandshake() {
		if old, err := l.openOld(ctx); err == nil {
			return old.exchange(ctx, c)
		}
	}
	return nil, status.markDoubt(cause)
}

// aboutSession reports whether an error is about the session rather than the request.
// Only errors of 2026-07-28 have separate codes for other problems of a POST.
func aboutSession(m *peer.Message) bool {
	switch string(jsonscan.Member(m.Failure, "code")) {
	case "-32000", "-32001", "-32600":
		return true
	}
	return strings.Contains(strings.ToLower(memberString(m.Failure, "message")), "session")
}

func isEventStream(resp *http.Response) bool {
	return mediatype.Of(resp.Header.Get("Content-Type")) == mediatype.EventStream
}

// decodeAnswer reads the answer to c from a response that is not an event stream.
func (l *httpLink) decodeAnswer(ctx context.Context, resp *http.Response, c *call) (*reply, error) {
	text, err := readBody(resp, l.endpoint.maxMessage())
	if errors.Is(err, peer.ErrTooLong) {
		return nil, err
	}
	if err != nil {
		return nil, l.connectionError(ctx, err)
	}
	if x := l.tapOf(resp); x != nil {
		x.Received(text, tap.Body)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		status := l.endpoint.statusError(resp, nil)
		status.Body = "the response has no body, so the request has no answer"
		return nil, status
	}
	var found *reply
	take := func(text []byte) {
		if r := l.takeAnswer(text, c); r != nil {
			found = r
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		err = eachOf(text, take)
	} else {
		take(text)
	}
	if found != nil {
		return found, nil
	}
	if err == nil &&
		strings.Contains(strings.ToLower(resp.Header.Get("Content-Type")), "json") {
		err = jsonscan.Valid(text)
	}
	if err != nil {
		return nil, &UnreadableError{err}
	}
	status := l.endpoint.statusError(resp, text)
	why := "it does not contain an answer to the request"
	if status.Body != "" {
		why += ": " + status.Body
	}
	status.Body = why
	return nil, status
}

// takeAnswer returns the outcome of c if text is the answer to it. It passes any other
// message to the session, and returns nil.
func (l *httpLink) takeAnswer(text []byte, c *call) *reply {
	var m peer.Message
	if err := m.Scan(text); err != nil {
		id, why := unreadable(text, err)
		if why != nil && (id == c.id || id == 0) {
			return &reply{err: why}
		}
		l.ses.receive(text, c)
		return nil
	}
	var why *UnreadableError
	switch {
	case m.IsRequestAndResponse():
		why = &UnreadableError{errBoth}
	case m.Method != nil:
	case peer.Number(m.ID) == c.id || m.ID == nil && m.Failure != nil:
		result, err := answerOf(&m)
		return &reply{
			result: result,
			err:    err,
		}
	default:
		why = misaddressed(&m, l.ses.wasSent)
	}
	if why != nil {
		return &reply{err: why}
	}
	l.ses.receive(text, c)
	return nil
}

// maxAnnounced is how many bytes of a body are allocated because a server announces them. It may not send them.
const maxAnnounced = 1 << 20

// readBody reads a response with a single message of at most limit bytes.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	n := resp.ContentLength
	if n > int64(limit) {
		return nil, peer.TooLong(limit)
	}
	if n >= 0 && n <= maxAnnounced {
		text := make([]byte, n)
		_, err := io.ReadFull(resp.Body, text)
		return text, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = peer.TooLong(limit)
	}
	return text, err
}

// drainTime is how long a server may take to end an event stream after its answer.
const drainTime = 50 * time.Millisecond

// drainAndCloseStream is drainAndClose for an event stream, which a server may leave open
// after the answer.
func drainAndCloseStream(body io.ReadCloser) {
	timer := time.AfterFunc(drainTime, func() {
		_ = body.Close()
	}) // unblocks the read
	defer timer.Stop()
	drainAndClose(body)
}

// drainAndClose makes the connection reusable if that costs little.
func drainAndClose(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10) // to its end, if that is near
	_ = body.Close()                         // nothing was written
}
