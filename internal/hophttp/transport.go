package hophttp

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of connections and times.
const (
	maxIdle = 64
	// continueTimeout is how long the body of a request with Expect waits for the other replica to ask for it.
	continueTimeout = time.Second
	// maxJoined is the largest body that is sent in one write with its head.
	maxJoined = 64 << 10
)

// IdleTimeout is how long a [Transport] keeps an idle connection. That of a [Server] must be longer: a request that is
// sent while the server closes the connection may have been served.
const IdleTimeout = time.Minute

// verifyAfter is how long a connection may be idle and still be used at once. Nothing ends the connections to a machine
// that has lost its power, and whether a request sent on one was served is unknown. A shorter time leaves fewer such
// requests, and makes more of them wait for an answer to a ping first.
const verifyAfter = time.Second

// PingPath is the path of a GET request that a [Transport] sends on a connection that was idle for longer. Any answer
// to it shows that the other replica is still there.
const PingPath = "/.slipway/ping"

// NotSentError is the error of a request of which nothing was sent, because there was no connection, a new one failed,
// or the request was cancelled while an idle one was verified, or which arrived when the server had closed its
// connection.
type NotSentError struct{ Err error }

// Error implements error.
func (e *NotSentError) Error() string { return "request not sent: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// fieldClosed is in the answer to no request, which says that the server has closed a connection: it serves nothing
// that has arrived there since its last answer.
const fieldClosed = "Slipway-Closed"

// errClosing is why a request that was sent on such a connection was not served.
var errClosing = errors.New("the server has closed the connection")

// Transport sends requests to one replica. It is safe for concurrent use. A request is never sent twice.
type Transport struct {
	// Dial makes a connection on which requests can be sent.
	Dial func(ctx context.Context) (net.Conn, error)

	mu     sync.Mutex
	idle   []*conn // the one used last is the last
	expiry *time.Timer
}

var _ http.RoundTripper = (*Transport)(nil)

// conn is a connection of a transport. One request uses it at a time.
type conn struct {
	net.Conn

	in    reader
	out   []byte
	since time.Time // when it became idle
	watch watch
}

// RoundTrip implements [http.RoundTripper]. Fields of connections, those of proxies (Forwarded, X-Forwarded-…) and
// those between replicas (Slipway-…) are not sent. The request goes to the replica of t whatever its URL says, and is
// cancelled with the cause of its context. The error is a [NotSentError] if there was no connection. Trailers are
// ignored. As in a request that a server has received, a ContentLength of 0 means that there is no body, and -1 that
// its length is unknown.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.Send(req, nil, nil)
}

// Field is the name and the value of a header field.
type Field = [2]string

// Send is RoundTrip with header fields between replicas. stop, which may be nil, cancels the request as well.
func (t *Transport) Send(req *http.Request, added []Field, stop *Canceler) (*http.Response, error) {
	if stop == nil {
		stop = new(Canceler)
	}
	if req.Body != nil && isJoined(req) && req.GetBody != nil {
		defer req.Body.Close() // a copy of it is sent before RoundTrip returns
	}
	var message []byte // what is written first
	for {
		c, used := t.take(), true
		if c != nil && time.Since(c.since) > verifyAfter && req.URL.Path != PingPath {
			if cause := t.verify(req.Context(), c, stop); cause != nil {
				return nil, &NotSentError{cause}
			}
			continue
		}
		if c == nil {
			var err error
			if c, err = t.connect(req.Context(), stop); err != nil {
				return nil, &NotSentError{err}
			}
			used = false
		}
		x := &exchange{
			transport: t,
			conn:      c,
			ctx:       req.Context(),
			stop:      stop,
		}
		resp, sent, err := x.start(req, added, message)
		if err == nil {
			return resp, nil
		}
		message = c.out // a body that is a part of it cannot be read again
		x.discard()
		cause := x.cause()
		unserved := errors.Is(err, errClosing) && isJoined(req)
		switch {
		case cause != nil && !sent:
			return nil, &NotSentError{cause}
		case cause != nil:
			return nil, cause
		case sent && !unserved:
			return nil, err
		case !used || unserved && message == nil: // its body cannot be written again
			return nil, &NotSentError{err}
		}
		// The other replica has closed the connection since it was found open, and got nothing.
	}
}

// verify keeps an idle connection if the other replica answers there, or else closes all that are idle. The result is
// why the request that needs the connection was cancelled meanwhile, or nil.
func (t *Transport) verify(ctx context.Context, c *conn, stop *Canceler) (cause error) {
	x := &exchange{
		transport: t,
		conn:      c,
		ctx:       ctx,
		stop:      stop,
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://replica"+PingPath, nil)
	if err != nil {
		return err
	}
	resp, _, err := x.start(req, nil, nil)
	if err == nil {
		_, err = io.CopyN(io.Discard, resp.Body, maxHead)
	}
	x.discard() // has no effect once the answer has ended
	cause = x.cause()
	if cause == nil && !errors.Is(err, io.EOF) {
		t.CloseIdleConnections()
	}
	return cause
}

// connect makes a connection.
func (t *Transport) connect(ctx context.Context, stop *Canceler) (*conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !stop.attach(cancel, nil) {
		return nil, stop.Cause()
	}
	raw, err := t.Dial(ctx)
	stop.detach()
	if cause := cmp.Or(stop.Cause(), context.Cause(ctx)); cause != nil {
		if raw != nil {
			_ = raw.Close()
		}
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw}
	c.in.from = raw
	return c, nil
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}

// take returns a connection that the other replica has not closed, or nil.
func (t *Transport) take() *conn {
	for {
		t.mu.Lock()
		n := len(t.idle)
		if n == 0 {
			t.mu.Unlock()
			return nil
		}
		c := t.idle[n-1]
		t.idle[n-1] = nil
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		if c.watch.end(c) {
			return c
		}
		_ = c.Close()
	}
}

// put keeps a connection for other requests.
func (t *Transport) put(c *conn) {
	c.watch.begin(c)
	c.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) >= maxIdle {
		go c.Close() // after the lock
		return
	}
	t.idle = append(t.idle, c)
	if t.expiry == nil {
		t.expiry = time.AfterFunc(IdleTimeout, t.expire)
	}
}

// expire closes connections that were idle for too long.
func (t *Transport) expire() {
	t.mu.Lock()
	now, n := time.Now(), 0
	for n < len(t.idle) && now.Sub(t.idle[n].since) >= IdleTimeout {
		n++
	}
	old := slices.Clone(t.idle[:n])
	t.idle = slices.Delete(t.idle, 0, n)
	t.expiry = nil
	if len(t.idle) > 0 {
		t.expiry = time.AfterFunc(IdleTimeout-now.Sub(t.idle[0].since), t.expire)
	}
	t.mu.Unlock()
	for _, c := range old {
		_ = c.Close()
	}
}

// abort makes reads and writes fail.
func (c *conn) abort() { _ = c.SetDeadline(time.Unix(1, 0)) }

// Close implements [net.Conn]. It does not wait for the other replica.
func (c *conn) Close() error { return c.system().Close() }

// system returns the connection below TLS. Closing it sends no TLS close message, which could block.
func (c *conn) system() net.Conn {
	if wrapper, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		return wrapper.NetConn()
	}
	return c.Conn
}

// reset closes the connection and discards what the system has not transmitted yet: otherwise, after a partition, the
// other replica would serve a request that was cancelled long before.
func (c *conn) reset() {
	system := c.system()
	if tcp, ok := system.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = system.Close()
}

// exchange is one request and its answer. Its Read and Close are those of the body of the answer.
type exchange struct {
	transport *Transport
	conn      *conn
	ctx       context.Context
	stop      *Canceler
	unfollow  func() bool // ends the cancellation by ctx

	uploading chan error    // receives the outcome of sending a body besides reading its answer
	proceed   chan struct{} // closed once the other replica has asked for that body; nil afterwards
	over      chan struct{} // closed at the end

	content content
	reuse   bool // the connection can serve another request
	mu      sync.Mutex
	ended   bool
}

// start is run for a request that was not cancelled before. Until end, its context and its Canceler abort the
// connection.
func (x *exchange) start(req *http.Request, added []Field, message []byte) (resp *http.Response, sent bool, err error) {
	x.unfollow = context.AfterFunc(x.ctx, x.follow)
	if !x.stop.attach(nil, x.conn) {
		return nil, false, x.stop.Cause()
	}
	return x.run(req, added, message)
}

// follow cancels the request with its context.
func (x *exchange) follow() { x.stop.Cancel(context.Cause(x.ctx)) }

// cause returns why the request was cancelled, or nil.
func (x *exchange) cause() error {
	if cause := x.stop.Cause(); cause != nil {
		return cause
	}
	return context.Cause(x.ctx)
}

// run sends a request and reads the head of its answer. message is what an earlier run has prepared for the request,
// or nil; what is prepared is in x.conn.out. sent is false if the other replica cannot have received the request.
func (x *exchange) run(req *http.Request, added []Field, message []byte) (resp *http.Response, sent bool, err error) {
	c := x.conn
	joined := isJoined(req)
	if message == nil {
		if message, err = appendHead(c.out[:0], req, added); err != nil {
			return nil, true, err
		}
		if joined && req.Body != nil && req.ContentLength > 0 {
			n := len(message)
			message = append(message, make([]byte, req.ContentLength)...)
			if _, err := io.ReadFull(req.Body, message[n:]); err != nil {
				return nil, true, fmt.Errorf("read body: %w", err)
			}
		}
	}
	c.out = message
	if n, err := c.Write(message); err != nil {
		return nil, n > 0, err
	}
	if cap(c.out) > 2*bufferSize {
		c.out = nil // that of a large request
	}
	if !joined {
		x.upload(req)
	}
	if resp, err = x.answer(req); err != nil && x.uploading != nil {
		select {
		case failed := <-x.uploading:
			x.uploading <- failed // for end
			err = cmp.Or(failed, err)
		default:
		}
	}
	return resp, true, err
}

// isJoined reports whether the body of a request, if any, is sent in one write with its head.
func isJoined(req *http.Request) bool {
	return req.Body == nil || req.ContentLength == 0 ||
		req.GetBody != nil && req.ContentLength > 0 && req.ContentLength <= maxJoined
}

// upload sends the body of a request in another goroutine, which ends with the exchange.
func (x *exchange) upload(req *http.Request) {
	x.uploading, x.proceed, x.over = make(chan error, 1), make(chan struct{}), make(chan struct{})
	wait := req.Header["Expect"] != nil
	go func(proceed <-chan struct{}) {
		if wait {
			timer := time.NewTimer(continueTimeout)
			defer timer.Stop()
			select {
			case <-proceed:
			case <-timer.C:
			case <-x.over: // it does not want the body
				x.uploading <- errUnwanted
				return
			}
		}
		x.uploading <- x.sendBody(req)
	}(x.proceed)
}

// errUnwanted is the outcome of sending a body that was not asked for.
var errUnwanted = errors.New("the body was not sent")

// sendBody writes a body in pieces. If it cannot be read to its end, the exchange is aborted; if it cannot be
// written, the answer says why, or its absence.
func (x *exchange) sendBody(req *http.Request) error {
	chunked := req.ContentLength < 0
	left := req.ContentLength
	out := bufio.NewWriterSize(x.conn, 33<<10)
	buf := make([]byte, 32<<10)
	for {
		if !chunked {
			buf = buf[:min(int64(len(buf)), left)]
		}
		n, err := req.Body.Read(buf)
		left -= int64(n)
		if n > 0 && chunked {
			fmt.Fprintf(out, "%x\r\n", n)
		}
		_, _ = out.Write(buf[:n]) // Flush returns its error
		if n > 0 && chunked {
			_, _ = out.WriteString("\r\n")
		}
		end := errors.Is(err, io.EOF) || left == 0
		switch {
		case end && left > 0:
			err = io.ErrUnexpectedEOF
		case end && chunked:
			_, _ = out.WriteString("0\r\n\r\n")
		}
		if !end && err != nil || errors.Is(err, io.ErrUnexpectedEOF) {
			x.conn.abort()
			return fmt.Errorf("read body: %w", err)
		}
		if err := out.Flush(); err != nil || end {
			return err
		}
	}
}

// answer reads the head of the answer.
func (x *exchange) answer(req *http.Request) (*http.Response, error) {
	for {
		text, err := x.conn.in.until("\r\n\r\n", maxHead)
		if err != nil {
			return nil, unexpected(err)
		}
		line, rest, _ := strings.Cut(string(text), "\r\n")
		status, err := parseStatus(line)
		if err != nil {
			return nil, err
		}
		if status < 200 && status != http.StatusSwitchingProtocols {
			if status == http.StatusContinue && x.proceed != nil {
				close(x.proceed)
				x.proceed = nil
			}
			continue
		}
		var f fields
		if err := f.parse(rest); err != nil {
			return nil, err
		}
		if status == http.StatusServiceUnavailable && len(f.header[fieldClosed]) > 0 {
			return nil, errClosing
		}
		return x.response(req, status, &f)
	}
}

// parseStatus parses the first line of an answer.
func parseStatus(line string) (status int, err error) {
	const protocol = "HTTP/1.1 "
	rest, ok := strings.CutPrefix(line, protocol)
	if ok && isValue(rest) && len(rest) >= 3 && (len(rest) == 3 || rest[3] == ' ') {
		if n, err := strconv.ParseUint(rest[:3], 10, 16); err == nil && n >= 100 {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("%w: %.40q", errMessage, line)
}

// response returns the answer, whose body is read from the connection.
func (x *exchange) response(req *http.Request, status int, f *fields) (*http.Response, error) {
	x.reuse = !f.close
	x.content.in = &x.conn.in
	switch {
	case status == http.StatusSwitchingProtocols:
		if f.upgrade == "" || req.Header["Upgrade"] == nil {
			return nil, fmt.Errorf("%w: it switches protocols", errMessage)
		}
		f.header["Connection"], f.header["Upgrade"] = []string{"Upgrade"}, []string{f.upgrade}
		x.content.open = true
		x.reuse = false
	case req.Method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified:
		x.content.over = true
	case f.chunked:
		x.content.chunked = true
	case f.length >= 0:
		x.content.left = f.length
		x.content.over = f.length == 0
	default:
		x.content.open = true
		x.reuse = false
	}
	resp := &http.Response{
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        f.header,
		ContentLength: f.length,
		Body:          x,
		Request:       req,
	}
	if x.content.over {
		x.end(true)
	}
	return resp, nil
}

// Read implements [io.Reader]. At the end of the answer, the connection is free for other requests.
func (x *exchange) Read(b []byte) (n int, err error) {
	if x.content.over {
		return 0, io.EOF
	}
	n, err = x.content.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		x.end(true)
	case err != nil:
		err = cmp.Or(x.cause(), err)
	}
	return n, err
}

// Write implements [io.Writer], for the body of an answer that switches protocols.
func (x *exchange) Write(b []byte) (int, error) { return x.conn.Write(b) }

// Buffered reports whether a part of the answer has arrived that was not read yet.
func (x *exchange) Buffered() bool { return x.content.buffered() }

// Close implements [io.Closer]. The connection is closed unless the answer was read to its end.
func (x *exchange) Close() error {
	x.end(false)
	return nil
}

// end gives up the connection. complete means that the answer was read.
func (x *exchange) end(complete bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	if x.uploading != nil {
		close(x.over)
		select {
		case err := <-x.uploading:
			x.reuse = x.reuse && err == nil
		default:
			x.reuse = false // the answer came first
		}
	}
	// Otherwise abort has been called or will be, whatever the connection is used for then.
	followed := x.unfollow()
	switch detached := x.stop.detach(); {
	case !detached && x.ctx.Err() == nil: // a client that goes away does not cancel what it has sent
		x.conn.reset()
	case detached && followed && complete && x.reuse && x.conn.in.start == x.conn.in.end:
		x.transport.put(x.conn)
	default:
		_ = x.conn.Close()
	}
}

// discard ends a failed exchange.
func (x *exchange) discard() { x.end(false) }

// appendHead appends the head of a request.
func appendHead(b []byte, req *http.Request, added []Field) ([]byte, error) {
	b = append(b, req.Method...)
	b = append(b, ' ')
	b = append(b, req.URL.RequestURI()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	b = append(b, host...)
	if !isToken(req.Method) || !isValue(host) {
		return nil, fmt.Errorf("%w: method %.40q, host %.40q", errMessage, req.Method, host)
	}
	switch joinable := req.Body != nil && req.Body != http.NoBody; {
	case joinable && req.ContentLength < 0:
		b = append(b, "\r\nTransfer-Encoding: chunked"...)
	case joinable && req.ContentLength > 0 || req.Method == http.MethodPost:
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, req.ContentLength, 10)
	}
	var err error
	if protocol := req.Header["Upgrade"]; len(protocol) > 0 {
		b = append(b, "\r\nConnection: Upgrade"...)
		if b, err = appendField(b, "Upgrade", protocol[0]); err != nil {
			return nil, err
		}
	}
	named := namedByConnection(req.Header["Connection"])
	for name, values := range req.Header {
		if !forwards(name) || named[name] || name == "Expect" && isJoined(req) {
			continue
		}
		for _, value := range values {
			if b, err = appendField(b, name, value); err != nil {
				return nil, err
			}
		}
	}
	for _, field := range added {
		if b, err = appendField(b, field[0], field[1]); err != nil {
			return nil, err
		}
	}
	return append(b, "\r\n\r\n"...), nil
}

// appendField appends a field after a line without its end.
func appendField(b []byte, name, value string) ([]byte, error) {
	if !isToken(name) || !isValue(value) {
		return nil, fmt.Errorf("%w: header field %.40q", errMessage, name)
	}
	b = append(b, "\r\n"...)
	b = append(b, name...)
	b = append(b, ": "...)
	return append(b, value...), nil
}

// forwards reports whether a field of a request is sent.
func forwards(name string) bool {
	return !OfHop(name) && !strings.HasPrefix(name, prefixBetween)
}

// namedByConnection returns the fields that Connection names, mostly nil.
func namedByConnection(values []string) map[string]bool {
	var names []string
	for _, value := range values {
		names = appendNamed(names, "Connection", value)
	}
	if names == nil {
		return nil
	}
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}
