package hophttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Server serves the requests of other replicas. Its fields must not change while it serves.
//
// A handler has of http.ResponseWriter what net/http offers over HTTP/1.1: Flush, Hijack and deadlines by
// [http.ResponseController]. The connection is in full duplex. The context of a request ends within a few
// milliseconds after the other replica has closed the connection.
type Server struct {
	Handler http.Handler
	// Context derives the context of a request from the fields between replicas that have arrived with it, whose
	// names begin with Slipway-. The header does not have them then. Nil leaves them in the header.
	Context func(ctx context.Context, between []Field) context.Context
	// MaxHeader is the largest head of a request in bytes; 0 means 64 KiB.
	MaxHeader int
	// ReadHeaderTimeout and ReadTimeout are how long a head, and a whole request, may take to arrive, and
	// IdleTimeout is how long a connection may be idle, or up to half as long again. 0 means no limit.
	ReadHeaderTimeout, ReadTimeout, IdleTimeout time.Duration
	// Log receives messages for developers; nil discards them.
	Log *slog.Logger

	notice   time.Duration // instead of noticeAfter in tests
	closing  atomic.Bool   // set with mu; see setActive
	mu       sync.Mutex
	listener net.Listener
	conns    map[*serverConn]struct{}
	empty    chan struct{} // closed once closing is set and no connection is left
}

// Limits of the server.
const (
	defaultMaxHeader = 64 << 10
	// noticeAfter is how long a request is served before its connection is watched: most are answered by then.
	noticeAfter = 5 * time.Millisecond
	// maxUnread is how much of a body that the handler has not read is read, so that the connection can be kept or
	// the answer arrives; maxLinger bounds the time.
	maxUnread = 256 << 10
	maxLinger = 500 * time.Millisecond
	// closedLinger is how long a request may be on its way to a connection that says that it is closed.
	closedLinger = 100 * time.Millisecond
)

// Serve accepts connections until the listener is closed. The error is never nil.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	s.listener = ln
	closing := s.closing.Load()
	s.mu.Unlock()
	if closing {
		_ = ln.Close()
		return http.ErrServerClosed
	}
	for pause := time.Duration(0); ; {
		c, err := ln.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case err == nil:
			pause = 0
			go s.serve(c)
		case errors.As(err, &temporary) && temporary.Temporary(): // no file descriptors are left
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			time.Sleep(pause)
		default:
			return err
		}
	}
}

// Shutdown closes the listener and idle connections, and waits for the requests in flight, or until ctx ends. A
// connection that is closed says so first: a [Transport] that has just sent a request on it learns that it was not
// served.
func (s *Server) Shutdown(ctx context.Context) error {
	empty := s.close(false)
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the listener and all connections.
func (s *Server) Close() error {
	s.close(true)
	return nil
}

// close makes no connection accept further requests, and closes those that are idle, or all.
func (s *Server) close(all bool) (empty chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing.Swap(true) {
		s.empty = make(chan struct{})
		if len(s.conns) == 0 {
			close(s.empty)
		}
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for c := range s.conns {
		switch {
		case all:
			_ = closeNow(c.conn)
		case c.shaking.Load():
			// A client that has finished its part may have sent a request, and is to learn that it is not served.
			_ = c.conn.SetReadDeadline(time.Now().Add(maxLinger))
		case !c.active.Load():
			_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // read returns, and its goroutine closes the connection
		}
	}
	return s.empty
}

// add adds a connection, unless the server is closing.
func (s *Server) add(c *serverConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	if s.conns == nil {
		s.conns = make(map[*serverConn]struct{})
	}
	s.conns[c] = struct{}{}
	return true
}

// setActive records whether a connection serves a request. It returns false if the server is closing. Either it sees
// that, or close sees what it has recorded.
func (s *Server) setActive(c *serverConn, active bool) bool {
	c.active.Store(active)
	return !s.closing.Load()
}

// remove removes a connection that was closed, or belongs to a handler.
func (s *Server) remove(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.conns[c]; !known {
		return
	}
	delete(s.conns, c)
	if s.closing.Load() && len(s.conns) == 0 {
		close(s.empty)
	}
}

func (s *Server) debug(message string, args ...any) {
	if s.Log != nil {
		s.Log.Debug(message, args...)
	}
}

// serverConn is a connection of a server. One goroutine serves its requests.
type serverConn struct {
	server  *Server
	conn    net.Conn
	context context.Context // that of each request ends with next
	remote  string
	tls     *tls.ConnectionState
	in      reader
	out     []byte
	pending []byte // the buffer of answers
	second  int64  // of date, the Date of answers
	date    string
	shaking atomic.Bool // its handshake is not complete
	active  atomic.Bool
	idleBy  time.Time // the read deadline while it waits for a request; zero if another one is set

	mu       sync.Mutex
	raw      syscall.RawConn    // nil if the system cannot be asked
	notice   *time.Timer        // watches the connection once a request takes long; see watch
	cancel   context.CancelFunc // of the request; not nil from arm until unwatch: its body has been read
	watching chan struct{}      // not nil once watch runs; closed at its end
	broken   bool               // the other replica has closed the connection
	hijacked bool
}

// serve serves a connection until it is closed or hijacked.
func (s *Server) serve(conn net.Conn) {
	c := &serverConn{
		server: s,
		conn:   conn,
		remote: conn.RemoteAddr().String(),
	}
	_, secure := conn.(*tls.Conn)
	c.shaking.Store(secure)
	if !s.add(c) {
		_ = conn.Close()
		return
	}
	defer func() {
		s.remove(c)
		if !c.isHijacked() {
			_ = closeNow(conn)
		}
	}()
	c.context = context.WithValue(context.Background(), http.LocalAddrContextKey, conn.LocalAddr())
	if t, ok := conn.(*tls.Conn); ok {
		_ = conn.SetDeadline(deadline(s.ReadHeaderTimeout))
		if err := t.Handshake(); err != nil {
			s.debug("connection of another replica refused", "remote", c.remote, "error", err)
			return
		}
		c.shaking.Store(false)
		_ = conn.SetDeadline(time.Time{})
		state := t.ConnectionState()
		c.tls = &state
	}
	c.in.from = conn
	c.raw = rawConn(conn)
	c.notice = time.AfterFunc(time.Hour, c.watch)
	c.notice.Stop()
	for c.next() {
	}
}

func deadline(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// next serves a request, and reports whether another one may follow.
func (c *serverConn) next() bool {
	if err := c.await(); err != nil {
		c.refuse(err)
		return false
	}
	ctx, cancel := context.WithCancel(c.context)
	defer cancel()
	r, body, err := c.read(ctx)
	if err != nil {
		c.refuse(err)
		return false
	}
	w := &response{
		conn:    c,
		request: r,
		body:    body,
		pending: c.pending[:0],
	}
	body.response, body.cancel = w, cancel
	if body.over {
		c.arm(cancel)
	}
	complete := w.handle(c.server.Handler, r)
	w.over.Store(true)
	body.end()
	if !c.unwatch() || !complete || !w.finish() {
		return false
	}
	if !c.server.setActive(c, false) {
		c.refuse(errClosing)
		return false
	}
	return true
}

// await waits until a part of a request has arrived.
func (c *serverConn) await() error {
	s := c.server
	if c.in.start == c.in.end {
		if now := time.Now(); s.IdleTimeout > 0 && c.idleBy.Sub(now) < s.IdleTimeout {
			c.idleBy = now.Add(s.IdleTimeout + s.IdleTimeout/2)
			_ = c.conn.SetReadDeadline(c.idleBy)
		}
		if s.closing.Load() { // its deadline may have been replaced
			return errClosing
		}
		if err := c.in.fill(); err != nil {
			if s.closing.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
				err = errClosing
			}
			return err
		}
	}
	if !s.setActive(c, true) {
		return errClosing // what has arrived is not served
	}
	return nil
}

// read reads the head of a request. Its context is ctx, or derived from it.
func (c *serverConn) read(ctx context.Context) (r *http.Request, body *requestBody, err error) {
	s := c.server
	limit := s.MaxHeader
	if limit <= 0 {
		limit = defaultMaxHeader
	}
	text, whole := c.in.arrived("\r\n\r\n", 0)
	if !whole {
		c.setReadDeadline(deadline(s.ReadHeaderTimeout))
		if text, err = c.in.until("\r\n\r\n", limit); err != nil {
			return nil, nil, unexpected(err)
		}
	}
	line, rest, _ := strings.Cut(string(text), "\r\n")
	f := fields{request: true, apart: s.Context != nil}
	if err := f.parse(rest); err != nil {
		return nil, nil, err
	}
	if f.apart {
		ctx = s.Context(ctx, f.between)
	}
	if r, err = parseRequestLine(ctx, line); err != nil {
		return nil, nil, err
	}
	if f.hosts != 1 {
		return nil, nil, fmt.Errorf("%w: %d Host fields", errMessage, f.hosts)
	}
	if f.upgrade != "" {
		f.header["Connection"], f.header["Upgrade"] = []string{"Upgrade"}, []string{f.upgrade}
	}
	r.Host, r.Header, r.RemoteAddr, r.TLS, r.Close = f.host, f.header, c.remote, c.tls, f.close
	r.Body, r.ContentLength = http.NoBody, max(f.length, 0)
	body = &requestBody{conn: c}
	body.in = &c.in
	switch {
	case f.chunked:
		r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
		body.chunked = true
		r.Body = body
	case f.length > 0:
		body.left = f.length
		r.Body = body
	default:
		body.over = true
	}
	if !body.over && (f.chunked || int64(c.in.end-c.in.start) < f.length) {
		c.setReadDeadline(deadline(s.ReadTimeout)) // until watch or the next request sets another one
	} else if !whole {
		c.setReadDeadline(time.Time{})
	}
	body.expected = r.Body != http.NoBody && strings.EqualFold(f.header.Get("Expect"), "100-continue")
	return r, body, nil
}

// setReadDeadline sets a deadline other than that of an idle connection.
func (c *serverConn) setReadDeadline(t time.Time) {
	c.idleBy = time.Time{}
	_ = c.conn.SetReadDeadline(t)
}

// blank is copied to make a request with a context.
var blank http.Request

// parseRequestLine parses the first line of a request.
func parseRequestLine(ctx context.Context, line string) (*http.Request, error) {
	method, rest, _ := strings.Cut(line, " ")
	target, protocol, _ := strings.Cut(rest, " ")
	if protocol != "HTTP/1.1" || !isToken(method) || !isValue(target) || !strings.HasPrefix(target, "/") {
		return nil, fmt.Errorf("%w: %.40q", errMessage, line)
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	r := blank.WithContext(ctx)
	r.Method, r.URL, r.RequestURI = method, u, target
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	return r, nil
}

// refuse says why a connection ends, if the other replica can read it: it has sent what is not a request, or what it
// may have sent is not served any more.
func (c *serverConn) refuse(err error) {
	said, wait := "400 Bad Request", maxLinger
	switch {
	case errors.Is(err, errMessage):
		c.server.debug("request of another replica refused", "remote", c.remote, "error", err)
	case errors.Is(err, errClosing):
		said, wait = "503 Service Unavailable\r\n"+fieldClosed+": 1", closedLinger
	default:
		return
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(maxLinger))
	_, _ = io.WriteString(c.conn, "HTTP/1.1 "+said+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	c.linger(wait)
}

// arm makes watch begin soon, because the body of the request has been read. It begins at once if the other replica
// may have gone already: a replica that was suspended finds requests whose clients have given up, and must not
// serve them next to what their clients have sent since.
func (c *serverConn) arm(cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hijacked {
		c.cancel = cancel
		after := cmp.Or(c.server.notice, noticeAfter)
		if c.raw == nil || !nothingArrived(c.raw) {
			after = 0
		}
		c.notice.Reset(after)
	}
}

// watch reads the connection while a request is served, to notice that the other replica has gone. It is the
// function of notice.
func (c *serverConn) watch() {
	c.mu.Lock()
	if c.cancel == nil || c.hijacked || c.watching != nil {
		c.mu.Unlock()
		return
	}
	done := make(chan struct{})
	c.watching = done
	cancel := c.cancel
	c.setReadDeadline(time.Time{}) // that of an idle connection may be near
	c.mu.Unlock()
	defer close(done)
	if c.in.start < c.in.end {
		return // a request that has arrived early waits until this one is answered
	}
	if err := c.in.fill(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.mu.Lock()
		c.broken = true
		c.mu.Unlock()
		cancel()
	}
}

// unwatch ends the watch, so that the buffer belongs to the caller. It returns false if the connection cannot be
// used any more.
func (c *serverConn) unwatch() bool {
	c.notice.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatchLocked()
	return !c.broken && !c.hijacked
}

func (c *serverConn) unwatchLocked() {
	c.cancel = nil // a watch that begins late has nothing to do
	done := c.watching
	if done == nil {
		return
	}
	select {
	case <-done:
	default:
		c.setReadDeadline(time.Unix(1, 0))
		c.mu.Unlock()
		<-done
		c.mu.Lock()
		c.setReadDeadline(time.Time{})
	}
	c.watching = nil
}

// interrupt makes a read that another goroutine has begun fail.
func (c *serverConn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hijacked {
		c.setReadDeadline(time.Unix(1, 0))
	}
}

func (c *serverConn) isHijacked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hijacked
}

// linger lets the other replica read what was written, although it may still send something: a connection that is
// closed with unread input would be reset.
func (c *serverConn) linger(wait time.Duration) {
	half, ok := c.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.setReadDeadline(time.Now().Add(wait))
	_, _ = io.CopyN(io.Discard, c.conn, maxUnread)
}

// requestBody is the body of a request.
type requestBody struct {
	content

	conn     *serverConn
	response *response
	cancel   context.CancelFunc
	expected bool // the other replica waits until it is asked for the body

	mu     sync.Mutex // guards the content until end
	closed bool
	cut    bool // end has interrupted a Read
}

// Read implements [io.Reader]. At the end, the connection is watched.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case b.expected && !b.response.sent:
		b.expected = false
		if _, err := io.WriteString(b.conn.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return 0, err
		}
	}
	before := b.over
	n, err = b.content.Read(p)
	if b.over && !before {
		b.conn.arm(b.cancel)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// end makes Read fail after the handler has returned. A goroutine that forwards the body may still be reading it, and
// would take what belongs to the next request, so it is interrupted.
func (b *requestBody) end() {
	if !b.mu.TryLock() {
		b.conn.interrupt()
		b.mu.Lock()
		b.cut = true
	}
	b.closed = true
	b.mu.Unlock()
}

// skip reads the rest of a body. It returns false if that is too long.
func (b *requestBody) skip() bool {
	switch {
	case b.cut:
		return false
	case b.over:
		return true
	}
	if b.expected || b.left > maxUnread {
		return false
	}
	b.conn.setReadDeadline(time.Now().Add(maxLinger))
	n, err := io.CopyN(io.Discard, &b.content, maxUnread)
	b.conn.setReadDeadline(time.Time{})
	return n < maxUnread && errors.Is(err, io.EOF)
}

// handle calls the handler. It returns false if that was aborted.
func (w *response) handle(h http.Handler, r *http.Request) (complete bool) {
	defer func() {
		if failure := recover(); failure != nil {
			if failure != http.ErrAbortHandler && w.conn.server.Log != nil {
				w.conn.server.Log.Error("handler failed", "remote", w.conn.remote, "error", failure, "stack", string(debug.Stack()))
			}
			complete = false
		}
	}()
	h.ServeHTTP(w, r)
	return true
}

// closeNow closes a connection without telling the other end first, which could block.
func closeNow(c net.Conn) error {
	if wrapper, ok := c.(interface{ NetConn() net.Conn }); ok {
		return wrapper.NetConn().Close()
	}
	return c.Close()
}
