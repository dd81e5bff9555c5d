package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
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
	endpoint *Endpoint
	in       inbox

	quit context.Context // stops the standing stream and notifications
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex // guards the following fields
	version mcp.Version
	session string
	old     *stream // of 2024-11-05, if the server uses that
	running map[*call]context.CancelFunc
	closed  bool
	gone    bool  // the session is lost: there is nothing to delete on the server
	aborted error // why calls were aborted, or nil
}

func newHTTPLink(e *Endpoint, in inbox) *httpLink {
	l := &httpLink{endpoint: e, in: in}
	l.quit, l.stop = context.WithCancel(context.Background())
	return l
}

func (l *httpLink) modernFirst() bool { return true }
func (l *httpLink) process() *child   { return nil }

func (l *httpLink) ready(version mcp.Version, _ []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

// older returns the stream of 2024-11-05, if the server uses that.
func (l *httpLink) older() *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.old
}

// StatusError is an HTTP response that is not part of the protocol.
type StatusError struct {
	Status int
	Body   string // truncated
	// Challenge is the server's requirement with 401 or 403 (WWW-Authenticate): a scheme,
	// and its realm, scope and resource_metadata. It is truncated and printable.
	Challenge string
	// Token reports whether the request had an Authorization header.
	Token bool
}

// Refused reports whether the server requires a token, or another one (401), or whether
// the token does not allow the request (403).
func (e *StatusError) Refused() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Error implements the error interface.
func (e *StatusError) Error() string { return "the server answered with " + e.text() }

func (e *StatusError) text() string {
	text := fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		text += ": " + e.Body
	}
	if e.Challenge != "" {
		text += "; it asks for " + e.Challenge
	}
	return text
}

// handshake reports whether the status may mean that the server does not know the
// handshake, so that another one should be tried.
func (e *StatusError) handshake() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// forgotten reports whether the status may mean that the server has forgotten the
// session. Servers use different statuses for that.
func (e *StatusError) forgotten(inSession bool) bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusBadRequest:
		return inSession
	case http.StatusServiceUnavailable:
		return true
	}
	return false
}

func (l *httpLink) roundTrip(ctx context.Context, c *call) ([]byte, error) {
	if old := l.older(); old != nil {
		return old.exchange(ctx, c)
	}
	buf := buffers.get()
	defer buffers.put(buf)
	buf.b = peer.AppendRequest(buf.b[:0], c.id, c.method, c.params)
	resp, inSession, err := l.post(ctx, buf.b, c)
	if err != nil {
		return nil, err
	}
	if isEventStream(resp) {
		defer finishStream(resp.Body)
	} else {
		defer finishBody(resp.Body)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return l.failure(ctx, resp, c, inSession)
	}
	if c.method == "initialize" {
		l.mu.Lock()
		l.session = resp.Header.Get(headerSession)
		l.mu.Unlock()
	}
	return l.answer(ctx, resp, c)
}

// post sends a message. inSession reports whether it named a session.
func (l *httpLink) post(ctx context.Context, body []byte, c *call) (resp *http.Response, inSession bool, err error) {
	header, inSession := l.header(c)
	header["Content-Type"] = jsonContent
	header["Accept"] = anyAnswer
	// The transport may read the body after it has returned, when the buffer is already
	// reused.
	resp, err = l.endpoint.do(l.endpoint.request(ctx, http.MethodPost, header, bytes.Clone(body)))
	if err != nil {
		return nil, inSession, l.broken(ctx, err)
	}
	return resp, inSession, nil
}

var (
	jsonContent = []string{"application/json"}
	anyAnswer   = []string{"application/json, text/event-stream"}
	eventsOnly  = []string{eventStream}
)

// header returns the headers of every request of the session.
func (l *httpLink) header(c *call) (h http.Header, inSession bool) {
	own := l.endpoint.header()
	h = make(http.Header, 8+len(own))
	for name, values := range own {
		h[http.CanonicalHeaderKey(name)] = values
	}
	l.mu.Lock()
	version, session := l.version, l.session
	l.mu.Unlock()
	if c != nil && c.method == "server/discover" {
		version = mcp.LatestVersion
	}
	// One array for all values.
	values := make([]string, 0, 4+2)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if version >= mcp.Version20250618 {
		set(headerVersion, version.String())
	}
	if session != "" {
		set(headerSession, session)
	}
	if c != nil && version.Modern() {
		set(headerMethod, c.method)
		if c.name != "" {
			set(headerName, peer.HeaderValue(c.name))
		}
		for _, p := range c.headers {
			set(p.name, peer.HeaderValue(p.value))
		}
	}
	return h, session != ""
}

// broken converts an error of the HTTP client. If the request did not reach the server,
// it ends the session: the next request reconnects.
func (l *httpLink) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cause := plainCause(err)
	if isDial(err) || isPermanent(err) {
		l.lose(cause)
		return &lostError{cause: cause, unseen: true}
	}
	return &lostError{cause: cause}
}

// lose ends the session.
func (l *httpLink) lose(err error) {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.in.lost(err)
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

// failure returns the error for a status, or the one in the body.
func (l *httpLink) failure(ctx context.Context, resp *http.Response, c *call, inSession bool) ([]byte, error) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	status := &StatusError{
		Status: resp.StatusCode, Body: l.excerpt(text, resp.Header),
		Challenge: l.challenge(resp), Token: hasToken(resp),
	}
	var m peer.Message
	coded := m.Scan(bytes.TrimSpace(text)) == nil && m.Failure != nil
	handshake := c.method == "initialize" || c.method == "server/discover"
	if coded && handshake && status.Refused() { // the status is more precise than the code
		status.Body = l.line(memberString(m.Failure, "message"))
		return nil, status
	}
	if coded && !(inSession && status.forgotten(true) && aboutSession(&m)) {
		return nil, status.doubts(wireError(m.Failure))
	}
	if status.forgotten(inSession) && !handshake {
		l.lose(status)
		// A proxy may send 503 for a request that was forwarded.
		return nil, &lostError{cause: status, unseen: status.Status != http.StatusServiceUnavailable}
	}
	if c.method == "initialize" && status.handshake() {
		old, err := l.openOld(ctx)
		if err == nil {
			return old.exchange(ctx, c)
		}
	}
	return nil, status.doubts(status)
}

// doubtError is a response of a server that either did not understand the request, and so
// did not act on it, or reports an error of the request itself.
type doubtError struct{ error }

func (e doubtError) Unwrap() error { return e.error }

// doubts marks an error whose status may mean that the server now uses another version:
// after a restart it may be a different server.
func (e *StatusError) doubts(err error) error {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusGone,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
		http.StatusUpgradeRequired, http.StatusNotImplemented:
		return doubtError{err}
	}
	return err
}

// aboutSession reports whether an error is about the session rather than the request.
// Only errors of 2026-07-28 have separate codes for other problems of a POST.
func aboutSession(m *peer.Message) bool {
	switch code := string(jsonscan.Member(m.Failure, "code")); {
	case code == "-32000", code == "-32001", code == "-32600":
		return true
	default:
		return strings.Contains(strings.ToLower(memberString(m.Failure, "message")), "session")
	}
}

// maxChallenge is the maximum length of a WWW-Authenticate header in errors.
const maxChallenge = 400

// challenge returns the requirement of a server that refuses a request.
func (l *httpLink) challenge(resp *http.Response) string {
	if !(&StatusError{Status: resp.StatusCode}).Refused() {
		return ""
	}
	text := l.endpoint.redact(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	if len(text) > maxChallenge {
		text = text[:maxChallenge] + "…"
	}
	return visible.Line(strings.ToValidUTF8(text, "?"))
}

// hasToken reports whether the request of resp had an Authorization header.
func hasToken(resp *http.Response) bool {
	return resp.Request != nil && resp.Request.Header.Get("Authorization") != ""
}

// excerpt returns the start of a text for errors.
func (l *httpLink) excerpt(text []byte, h http.Header) string {
	if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); strings.Contains(kind, "html") {
		return ""
	}
	return l.line(string(text))
}

// line returns the start of the first line of a text, without secrets.
func (l *httpLink) line(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(text, "?")), "\n")
	line = l.endpoint.redact(line)
	if len(line) > 200 {
		line = line[:200] + "…"
	}
	return line
}

func isEventStream(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), eventStream)
}

// answer reads the answer to c from a response.
func (l *httpLink) answer(ctx context.Context, resp *http.Response, c *call) ([]byte, error) {
	if isEventStream(resp) {
		return l.events(ctx, resp, c)
	}
	text, err := l.body(resp)
	if err != nil {
		if errors.Is(err, peer.ErrTooLong) {
			return nil, err
		}
		return nil, l.broken(ctx, err)
	}
	var found *reply
	take := func(text []byte) { l.sort(text, c, &found) }
	if i := bytes.TrimLeft(text, " \t\r\n"); len(i) > 0 && i[0] == '[' {
		err = eachOf(text, take)
	} else {
		take(text)
	}
	switch {
	case found != nil:
		return found.result, found.err
	case err == nil && strings.Contains(strings.ToLower(resp.Header.Get("Content-Type")), "json"):
		err = jsonscan.Valid(text)
	}
	if err != nil {
		return nil, &UnreadableError{err}
	}
	return nil, &StatusError{
		Status: resp.StatusCode,
		Body:   "it holds no answer to the request: " + l.excerpt(text, resp.Header),
	}
}

// sort stores the answer to c in found, and passes other messages to the inbox.
func (l *httpLink) sort(text []byte, c *call, found **reply) {
	var m peer.Message
	err := m.Scan(text)
	if err == nil && m.Method == nil && (peer.Number(m.ID) == c.id || m.ID == nil && m.Failure != nil) {
		result, err := answerOf(&m)
		*found = &reply{result: result, err: err}
		return
	}
	var why *UnreadableError
	switch {
	case err != nil:
	case m.IsRequestAndResponse():
		why = &UnreadableError{errBoth}
	case m.Method == nil:
		why = misaddressed(&m, l.in.sent)
	}
	if why != nil {
		*found = &reply{err: why}
		return
	}
	if err != nil {
		if id, why := unreadable(text, err); why != nil && (id == c.id || id == 0) {
			*found = &reply{err: why}
			return
		}
	}
	l.in.receive(text, c)
}

// body reads a response with a single message.
func (l *httpLink) body(resp *http.Response) ([]byte, error) {
	limit := l.endpoint.maxMessage()
	if resp.ContentLength > int64(limit) {
		return nil, peer.TooLong(limit)
	}
	var text []byte
	var err error
	if n := resp.ContentLength; n >= 0 {
		text = make([]byte, n)
		_, err = io.ReadFull(resp.Body, text)
	} else {
		text, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	}
	if err == nil && len(text) > limit {
		err = peer.TooLong(limit)
	}
	return text, err
}

// drainTime is how long a server may take to end an event stream after its answer.
const drainTime = 50 * time.Millisecond

// finishStream is finishBody for an event stream, which a server may leave open after the
// answer.
func finishStream(body io.ReadCloser) {
	timer := time.AfterFunc(drainTime, func() { _ = body.Close() }) // unblocks the read
	defer timer.Stop()
	finishBody(body)
}

// finishBody makes the connection reusable if that costs little.
func finishBody(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10) // to its end, if that is near
	_ = body.Close()                         // nothing was written
}

// exchange implements link.
func (l *httpLink) exchange(ctx context.Context, c *call) ([]byte, error) {
	mine, cancel := context.WithCancel(ctx)
	defer cancel()
	if !l.begin(c, cancel) {
		return nil, &lostError{cause: errClosed, unseen: true}
	}
	defer l.end(c)
	result, err := l.roundTrip(mine, c)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		l.leave(c)
		return nil, ctx.Err()
	case mine.Err() != nil:
		return nil, &lostError{cause: l.abortCause()}
	}
	return nil, err
}

// abort cancels all calls.
func (l *httpLink) abort(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = why
	for _, cancel := range l.running {
		cancel()
	}
}

func (l *httpLink) abortCause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aborted != nil {
		return l.aborted
	}
	return errClosed
}

// leave notifies a server up to 2025-11-25 that the answer is no longer wanted; later
// ones notice that the connection is closed.
func (l *httpLink) leave(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.old != nil || l.version == 0 || l.version.Modern() {
		return
	}
	l.work.Go(func() { _ = l.tell(l.quit, cancelled(c.id)) }) // no result is needed
}

func (l *httpLink) begin(c *call, cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.running == nil {
		l.running = make(map[*call]context.CancelFunc)
	}
	l.running[c] = cancel
	return true
}

func (l *httpLink) end(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, c)
}

// close implements link. Calls in flight continue, each on its own connection, unless
// final is set.
func (l *httpLink) close(final bool) {
	l.mu.Lock()
	l.closed = true
	if final {
		for _, cancel := range l.running {
			cancel()
		}
	}
	session, old, gone := l.session, l.old, l.gone
	l.mu.Unlock()
	l.stop()
	l.work.Wait()
	if old != nil {
		old.close(final)
	}
	if session != "" && !gone {
		l.delete()
	}
}

// deleteTimeout is how long a server may take to delete a session. The result does not
// matter.
const deleteTimeout = 2 * time.Second

// delete deletes the session on the server.
func (l *httpLink) delete() {
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	header, _ := l.header(nil)
	if resp, err := l.endpoint.do(l.endpoint.request(ctx, http.MethodDelete, header, nil)); err == nil {
		finishBody(resp.Body)
	}
}

// tell sends a notification or a response in a separate POST.
func (l *httpLink) tell(ctx context.Context, msg []byte) error {
	if old := l.older(); old != nil {
		return old.tell(ctx, msg)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	resp, _, err := l.post(ctx, msg, nil)
	if err != nil {
		return err
	}
	defer finishBody(resp.Body)
	if resp.StatusCode > 299 {
		return &StatusError{Status: resp.StatusCode}
	}
	return nil
}
