package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// notificationStream is an event stream that waits for news: the GET of a session, or a
// subscriptions/listen request. Over HTTP/1.1 it has taken over the connection and has no
// goroutine; otherwise the handler waits until the stream is closed.
type notificationStream struct {
	// hub has the writer of all streams.
	hub *hub
	// messages returns the messages that are due.
	messages func() [][]byte
	// send writes one message.
	send func(msg []byte) error
	// resumable means that send keeps the messages that it cannot write, for the client's next connection.
	resumable bool
	// touch marks the client's session as used.
	touch func()
	// valid reports whether the client may keep the stream; nil: always.
	valid func() bool

	// State of the writer, guarded by hub.mu.
	queued  bool // it is due
	idle    bool // and nothing else has been written for a while
	writing bool // a goroutine is writing to it
	again   bool // and must write again

	// last returns the final message, which is sent if the server closes the stream; nil for
	// none.
	last func() []byte

	out    eventWriter
	tap    *tap.Stream // nil if nothing is tapped
	closed chan struct{}
	once   sync.Once

	kept    kept
	ledger  *ledger
	opened  atomic.Bool // out is set
	givenUp atomic.Bool
	// onClose undoes registrations elsewhere.
	onClose func()
}

// newNotificationStream returns a stream that sends messages to the client of ctx, once it is open.
func (h *HTTPHandler) newNotificationStream(ctx context.Context, messages func() [][]byte) *notificationStream {
	st := &notificationStream{
		hub:      h.server.hub,
		ledger:   h.server.ledger,
		messages: messages,
		valid:    h.revalidator(ctx),
		closed:   make(chan struct{}),
	}
	st.send = func(msg []byte) error {
		return st.out.writeEvents(appendEvent(nil, "", msg))
	}
	return st
}

// signal schedules st for the writer.
func (s *notificationStream) signal() { s.hub.markDirty(s) }

// admit books the stream and adds its listener to the hub.
func (s *notificationStream) admit(client string, l listener) *mcp.Error {
	if !s.ledger.book(&s.kept, client, keptStream, 1, costStream, s) {
		return errBudget
	}
	if !s.hub.add(l) {
		s.ledger.release(&s.kept)
		return errEnding
	}
	return nil
}

// giveUp implements keeper. The client may open another stream.
func (s *notificationStream) giveUp() {
	s.givenUp.Store(true)
	if s.opened.Load() {
		s.close(false)
	}
}

// flush writes the messages that are due, or a comment if the stream is idle.
func (s *notificationStream) flush(idle bool) {
	if s.isClosed() {
		return
	}
	if idle && s.valid != nil && !s.valid() {
		s.close(true)
		return
	}
	due := s.messages()
	var err error
	for _, msg := range due {
		switch {
		case err == nil:
			err = s.sendTapped(msg)
		case s.resumable:
			_ = s.send(msg) // kept for the next connection
		}
	}
	if idle && len(due) == 0 {
		err = s.out.writeEvents([]byte(":\n\n"))
	}
	if err != nil {
		s.close(false)
		return
	}
	if idle && s.touch != nil {
		s.touch()
	}
}

// isClosed reports whether close has been called.
func (s *notificationStream) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// close closes the stream, on the server's initiative or because the client has
// disconnected.
func (s *notificationStream) close(graceful bool) {
	s.once.Do(func() {
		close(s.closed)
		s.ledger.release(&s.kept)
		s.hub.release(s)
		if graceful && s.last != nil {
			_ = s.sendTapped(s.last())
		}
		s.onClose()
		s.out.endEvents()
	})
}

// sendTapped writes one message, and taps it.
func (s *notificationStream) sendTapped(msg []byte) error {
	if s.tap != nil {
		s.tap.Sends(msg)
	}
	return s.send(msg)
}

// endNotificationStreams closes streams on the server's initiative. It closes them concurrently
// because some clients may not read, and without a final message when ctx ends.
func endNotificationStreams(ctx context.Context, streams []*notificationStream) {
	var group sync.WaitGroup
	for _, s := range streams {
		group.Go(func() {
			defer context.AfterFunc(ctx, s.out.cut)()
			s.close(true)
		})
	}
	group.Wait()
}

// setNotifications makes st the session's notification stream and returns the previous one.
func (s *session) setNotifications(st *notificationStream, onNews func()) (old *notificationStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.ensureOutgoing()
	old = o.notifications
	o.notifications = st
	o.onNews = onNews
	return old
}

// clearNotifications removes the stream from its session, unless a newer one has replaced
// it.
func (s *session) clearNotifications(st *notificationStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.ensureOutgoing(); o.notifications == st {
		o.notifications = nil
		o.onNews = nil
	}
}

// listen implements listenSurface.
func (x *exchange) listen(rc *request, sub *subscription) error {
	h := x.handler
	st := h.newNotificationStream(x.ctx, sub.messages)
	st.last = sub.end
	l := &subscriber{sub, st.signal}
	st.onClose = func() {
		st.hub.remove(l)
		st.ledger.release(&sub.kept)
	}
	if e := st.admit(rc.Client(), l); e != nil {
		return e
	}
	sub.onGiveUp(st.giveUp)
	rc.dropBody(sub.id)
	r := x.r.WithContext(x.ctx)
	wait, err := h.open(x.w, r, st)
	if err == nil {
		err = st.sendTapped(sub.acknowledgment())
	}
	h.hold(r, st, wait, err)
	return nil
}

// dropBody releases the request's body, which may be large, since the handler may wait as
// long as its stream is open.
func (rc *request) dropBody(id []byte) {
	rc.msg = message{
		id:     id,
		method: bytes.Clone(rc.msg.method),
		size:   rc.msg.size,
	}
	rc.meta = requestMeta{}
}

// get opens the notification stream of a session, or resumes a stream after a disconnect.
func (h *HTTPHandler) get(w http.ResponseWriter, r *http.Request) {
	id, ok := first(r.Header, headerSession)
	version, _ := first(r.Header, headerVersion)
	asked, spoken := mcp.ParseVersion(version)
	listOnly := !ok && spoken && h.canNotify()
	if !ok && !listOnly || h.opts.NoSessions || h.access.Load().postOnly ||
		version >= mcp.Version20260728.String() {
		h.methodNotAllowed(w, r)
		return
	}
	if acceptOf(r.Header["Accept"])&acceptsStream == 0 {
		h.reject(w, http.StatusNotAcceptable,
			invalidRequest("Accept must allow text/event-stream"))
		return
	}
	if listOnly {
		h.serveListChanges(w, r, asked)
		return
	}
	session := h.server.sessions.get(id, mcp.PrincipalFrom(r.Context()))
	if session == nil {
		h.reject(w, http.StatusNotFound,
			invalidRequest("no such session, initialize again"))
		return
	}
	if e := h.server.resubscribe(r.Context(), r.RemoteAddr, session); e != nil {
		h.reject(w, e.Status, e)
		return
	}
	last, ok := first(r.Header, "Last-Event-Id")
	if !ok {
		h.serveNotifications(w, r, session, -1)
		return
	}
	client := accountName(mcp.PrincipalFrom(r.Context()), r.RemoteAddr)
	if n, ok := session.resumesElsewhere(h.server.ledger, client, last); ok {
		h.serveNotifications(w, r, session, n)
		return
	}
	log, n, ok := session.logOf(last)
	switch {
	case ok && log.stream == 0:
		h.serveNotifications(w, r, session, n)
		return
	case ok:
		if e := h.mayContinue(r.Context(), log); e != nil {
			h.reject(w, cmp.Or(e.Status, http.StatusForbidden), e)
			return
		}
		out := newResponse(w)
		if log.attach(out, n) {
			_ = out.writeEvents(nil)
			stop := repeat(keepAlive, h.revalidating(r.Context(), out.endEvents))
			out.wait(r)
			stop()
			log.detach(out)
			return
		}
	}
	h.reject(w, http.StatusBadRequest,
		invalidRequest("the events after this Last-Event-ID are no longer kept"))
}

// mayContinue returns an error if a client may not resume an event stream of its session:
// a token with fewer permissions must not receive the answers to calls it is not allowed
// to make.
func (h *HTTPHandler) mayContinue(ctx context.Context, log *eventLog) *mcp.Error {
	for _, f := range log.requests() {
		if err := h.server.mayFollow(ctx, f, TransportHTTP); err != nil {
			return asError(err, mcp.LatestLegacyVersion, nil)
		}
	}
	return nil
}

// revalidator returns a function that reports whether the client of a stream opened under
// ctx may keep it, or nil if it always may.
func (h *HTTPHandler) revalidator(ctx context.Context) func() bool {
	if h.opts.Revalidate == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	return func() bool { return h.opts.Revalidate(ctx) }
}

// revalidating returns a function that reports whether the client may keep its stream,
// and calls end if not.
func (h *HTTPHandler) revalidating(ctx context.Context, end func()) func() bool {
	valid := h.revalidator(ctx)
	return func() bool {
		if valid == nil || valid() {
			return true
		}
		end()
		return false
	}
}

// repeat calls do at the interval, on a timer's goroutine, until do returns false or stop
// is called.
func repeat(interval time.Duration, do func() bool) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	stopped := false
	var tick func()
	tick = func() {
		more := do()
		mu.Lock()
		defer mu.Unlock()
		if more && !stopped {
			timer = time.AfterFunc(interval, tick)
		}
	}
	mu.Lock()
	timer = time.AfterFunc(interval, tick)
	mu.Unlock()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// serveNotifications serves the notification stream of a session, starting after event number after;
// negative means a new stream.
func (h *HTTPHandler) serveNotifications(w http.ResponseWriter, r *http.Request, session *session, after int) {
	client := accountName(mcp.PrincipalFrom(r.Context()), r.RemoteAddr)
	log := session.notificationLog(h.server.ledger, client)
	st := h.newNotificationStream(r.Context(), session.messages)
	st.send = log.append
	st.resumable = true
	st.touch = func() { h.server.sessions.touch(session) }
	st.onClose = func() {
		log.detach(st.out)
		session.clearNotifications(st)
	}
	if !h.admitStream(w, st, client, session) {
		return
	}
	wait, err := h.open(w, r, st)
	if old := session.setNotifications(st, st.signal); old != nil {
		old.close(false)
	}
	if err == nil && session.hasEnded() {
		err = errSessionOver // it has not closed this stream
	}
	if err == nil && !log.attach(st.out, after) {
		log.attachNew(st.out)
		if session.Version() >= mcp.Version20251125 {
			err = log.prime()
		}
	}
	h.hold(r, st, wait, err)
}

// serveListChanges serves the stream of a client that does not name its session, as some never
// do. It only notifies the client of list changes, which are the same for all clients. A
// client that names no version either may be one of 2024-11-05 and expect another kind of
// stream, so it gets an error instead.
func (h *HTTPHandler) serveListChanges(w http.ResponseWriter, r *http.Request, v mcp.Version) {
	session := newSession("")
	session.begin(v, nil, nil)
	session.setInitialized()
	st := h.newNotificationStream(r.Context(), session.messages)
	st.onClose = func() { st.hub.remove(session) }
	if !h.admitStream(w, st,
		accountName(mcp.PrincipalFrom(r.Context()), r.RemoteAddr), session) {
		return
	}
	wait, err := h.open(w, r, st)
	session.setNotifications(st, st.signal)
	h.hold(r, st, wait, err)
}

// admitStream admits the stream of a session, or answers with an error.
func (h *HTTPHandler) admitStream(w http.ResponseWriter, st *notificationStream, client string, session *session) bool {
	e := st.admit(client, session)
	if e == nil && session.hasEnded() {
		st.hub.remove(session)
		st.ledger.release(&st.kept)
		e = errSessionOver
	}
	if e != nil {
		h.reject(w, cmp.Or(e.Status, http.StatusServiceUnavailable), e)
	}
	return e == nil
}

// open makes the response of a request the connection of a notification stream. If the
// connection cannot be taken over, wait is not nil: the handler must wait.
func (h *HTTPHandler) open(w http.ResponseWriter, r *http.Request, st *notificationStream) (wait *response, err error) {
	st.tap = h.server.tapOf(w).On(tap.SSE)
	taken, err := takeOver(w, r)
	if taken != nil {
		st.out = taken
		return nil, err
	}
	wait = newResponse(w)
	st.out = wait
	return wait, wait.writeEvents(nil)
}

// hold serves a notification stream from now on; err is an error from opening it.
func (h *HTTPHandler) hold(r *http.Request, st *notificationStream, wait *response, err error) {
	st.opened.Store(true)
	if err != nil || st.givenUp.Load() || !h.server.hub.hold(st) {
		st.close(err == nil)
		return
	}
	h.server.hub.markDirty(st) // for changes in between
	if wait != nil {
		wait.wait(r)
		st.close(false)
	}
}

// writePatience is how long a write may wait for a client that does not read. By then its
// socket buffer is full.
const writePatience = 2 * time.Second

// takenConn is an HTTP/1.1 connection taken over from net/http. The body ends with the
// connection.
type takenConn struct {
	conn net.Conn
	mu   sync.Mutex
}

// takeOver hijacks the connection of a request and writes the header of an event stream.
// It fails if the protocol or a wrapper does not support this.
func takeOver(w http.ResponseWriter, r *http.Request) (*takenConn, error) {
	if r.ProtoMajor != 1 {
		return nil, errors.ErrUnsupported
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n" +
		"X-Accel-Buffering: no\r\nConnection: close\r\n")
	for key, values := range w.Header() {
		for _, value := range values {
			head = fmt.Appendf(head, "%s: %s\r\n", key, value)
		}
	}
	t := &takenConn{conn: conn}
	_ = conn.SetReadDeadline(time.Time{})
	return t, t.writeEvents(append(head, '\r', '\n'))
}

// writeEvents writes with a deadline, because a client that does not read must not block
// the writer of all streams.
func (t *takenConn) writeEvents(b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.conn.SetWriteDeadline(time.Now().Add(writePatience))
	_, err := t.conn.Write(b)
	return err
}

func (t *takenConn) cut()       { _ = t.conn.Close() }
func (t *takenConn) endEvents() { _ = t.conn.Close() }
