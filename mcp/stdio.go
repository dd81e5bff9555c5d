package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// StdioOptions configure [Server.ServeStdio]. The zero value and nil are the defaults.
type StdioOptions struct {
	// MaxLine is the longest message in bytes; 0 stands for 4 MiB. A longer one
	// is answered with an error and skipped.
	MaxLine int
	// MaxInFlight is how many requests may run at once; beyond it, reading waits.
	// 0 stands for 1,000.
	MaxInFlight int
	// DrainTimeout is how long requests in flight may take after the input has
	// ended or ctx is done, before they are cancelled; 0 stands for 10 seconds.
	DrainTimeout time.Duration
}

// ServeStdio serves one client over a pair of streams, one message on each
// line, until in ends or ctx is done. Then it waits for the requests in flight
// and returns nil, or the error that reading or writing met with. A message
// that is malformed gets an error for an answer; the stream goes on.
//
// A Read of in that is blocked when ctx ends is left behind, as there is no way
// to interrupt it: close in, or leave the process. opts may be nil.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, opts *StdioOptions) error {
	var o StdioOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxBody
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 1000
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = 10 * time.Second
	}
	c := &pipe{
		server:  s,
		ctx:     ctx,
		opts:    o,
		session: newSession(""),
		in:      bufio.NewReaderSize(in, 64<<10),
		ended:   make(chan struct{}),
		slots:   make(chan struct{}, o.MaxInFlight),
		news:    make(chan struct{}, 1),
		out:     lineWriter{w: out, broken: make(chan struct{})},
	}
	return c.serve()
}

// pipe is one client on a pair of streams.
//
// One goroutine leads: it reads a message and runs it itself, which saves the
// wake-up of another. A timer watches it. If the message takes longer than
// patience, the timer's goroutine becomes the leader and reads on, and the old
// leader ends once its answer is written. So a slow request never keeps others,
// or its own cancellation, from being read. Whether the timer could still be
// stopped is whether leadership is still held.
type pipe struct {
	server  *Server
	ctx     context.Context // of ServeStdio, which outlives every request
	opts    StdioOptions
	session *Session
	in      *bufio.Reader // belongs to the leader
	out     lineWriter

	news chan struct{} // there is something to tell the client
	subs subscribers   // its subscriptions/listen requests

	work  workload
	slots chan struct{} // one for each request that has outlived its leader's patience

	ended   chan struct{} // closed by the last leader
	readErr error         // set before ended is closed
}

// patience is how long a request may hold up the reader.
const patience = 200 * time.Microsecond

func (c *pipe) serve() error {
	if c.server.hub.watched() && c.server.hub.add(c.session) {
		c.session.setOnNews(c.signal)
		stop, told := make(chan struct{}), make(chan struct{})
		go c.tell(stop, told)
		defer func() {
			c.server.hub.remove(c.session)
			close(stop)
			<-told
		}()
	}
	go c.lead()
	var readErr error
	select {
	case <-c.ended:
		readErr = c.readErr
	case <-c.ctx.Done():
	case <-c.out.broken:
		c.session.cancelAll() // nobody can be told
	}
	c.subs.end(c)
	c.drain()
	return errors.Join(readErr, c.out.flush())
}

// drain waits for the requests in flight, and cancels them when time is up.
func (c *pipe) drain() {
	idle := c.work.drain()
	timeout := time.NewTimer(c.opts.DrainTimeout)
	defer timeout.Stop()
	select {
	case <-idle:
		return
	case <-timeout.C:
	}
	c.session.cancelAll()
	<-idle
}

// turn is one goroutine's time as the leader.
type turn struct {
	timer *time.Timer
	rc    *requestContext // what runs now; nil for a batch
}

// lead reads and serves messages until the input ends or leadership passes on.
func (c *pipe) lead() {
	t := &turn{}
	t.timer = time.AfterFunc(time.Hour, func() { c.takeOver(t.rc) })
	t.timer.Stop()
	for {
		line, tooLong, err := c.readLine()
		if err != nil {
			if err != io.EOF {
				c.readErr = err
			}
			close(c.ended)
			return
		}
		if !c.work.begin() {
			return
		}
		leads := c.message(t, line, tooLong)
		c.work.end()
		if !leads {
			return
		}
		if !c.lineBuffered() {
			// What went wrong is seen by serve, which ends the stream.
			_ = c.out.flush()
		}
	}
}

// takeOver is what the timer of a leader does: let go of what has been
// answered, make the slow request cancellable, and lead in its place.
func (c *pipe) takeOver(slow *requestContext) {
	if slow != nil {
		c.session.track(slow)
	}
	_ = c.out.flush()
	c.slots <- struct{}{}
	c.lead()
}

// readLine returns the next line in memory of its own, so that a Source may
// keep what it is given.
func (c *pipe) readLine() (line []byte, tooLong bool, err error) {
	for {
		part, err := c.in.ReadSlice('\n')
		switch {
		case tooLong:
		case len(line)+len(bytes.TrimSuffix(part, newline)) > c.opts.MaxLine:
			line, tooLong = nil, true
		default:
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return line, tooLong, nil
		case err == bufio.ErrBufferFull:
		case err == io.EOF && (len(line) > 0 || tooLong):
			return line, tooLong, nil
		default:
			return nil, false, err
		}
	}
}

var newline = []byte{'\n'}

// lineBuffered reports whether the next message is here already, so that its
// answer can leave together with those before it. A part of a line is not
// enough: the rest may take for ever.
func (c *pipe) lineBuffered() bool {
	buffered, _ := c.in.Peek(c.in.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// message serves one line and reports whether this goroutine still leads.
func (c *pipe) message(t *turn, line []byte, tooLong bool) (leads bool) {
	a := newAnswer()
	defer a.free()
	rc := &requestContext{parent: c.ctx, detached: true, server: c.server, version: c.session.Version()}
	if tooLong {
		a.failure(rc, invalidRequest("the message is longer than %d bytes", c.opts.MaxLine))
		return c.write(a)
	}
	i := jsonscan.Space(line, 0)
	if i == len(line) {
		return true // an empty line is no message
	}
	if line[i] == '[' && c.session.Version() == Version20250326 {
		return c.batch(t, line, a)
	}
	if e := c.admit(rc, line); e != nil {
		a.failure(rc, e)
		return c.write(a)
	}
	if !rc.msg.isRequest() {
		c.notified(rc, a)
		return true
	}
	if rc.msg.is("initialize") {
		// Everything behind it depends on it, so nobody reads on until it is done.
		c.server.handle(rc, a)
		return c.write(a)
	}
	t.rc = rc
	t.timer.Reset(patience)
	c.server.handle(rc, a)
	if t.timer.Stop() {
		return c.write(a)
	}
	<-c.slots // the new leader has tracked rc
	c.session.untrack(rc)
	c.write(a) // from here on the client may use the id again
	_ = c.out.flush()
	return false
}

// admit scans a message and decides its era.
func (c *pipe) admit(rc *requestContext, text []byte) *Error {
	rc.version = c.session.Version()
	if e := rc.msg.scan(text); e != nil {
		return e
	}
	if e := rc.meta.scan(rc.msg.meta); e != nil {
		return e
	}
	rc.stream = c
	rc.listChanged = c.server.hub.watched()
	switch {
	case rc.isModern(""):
		rc.version = LatestVersion
	case rc.version == 0:
		rc.version = LatestLegacyVersion
		fallthrough
	default:
		rc.session = c.session
	}
	if rc.msg.isRequest() && c.session.tracks(rc.msg.id) {
		return invalidRequest("a request with this id is in flight already")
	}
	return nil
}

// batch serves an array of messages and answers with an array.
func (c *pipe) batch(t *turn, line []byte, a *answer) (leads bool) {
	out := []byte{'['}
	t.rc = nil
	t.timer.Reset(patience)
	e := eachMessage(line, func(element []byte) {
		a.buf, a.body = a.buf[:0], nil
		c.element(element, a)
		if msg := a.line(); len(msg) > 0 {
			out = append(append(out, msg...), ',')
		}
	})
	leads = t.timer.Stop()
	a.buf, a.body = a.buf[:0], nil
	switch {
	case e != nil:
		a.failure(&requestContext{version: c.session.Version()}, e)
	case len(out) > 1:
		a.buf = append(append(a.buf, out[:len(out)-1]...), ']')
	}
	c.write(a)
	if !leads {
		_ = c.out.flush()
		<-c.slots
	}
	return leads
}

func (c *pipe) element(text []byte, a *answer) {
	rc := &requestContext{parent: c.ctx, detached: true, server: c.server}
	e := c.admit(rc, text)
	if e == nil && rc.msg.is("initialize") {
		e = invalidRequest("initialize cannot be part of a batch")
	}
	if e != nil {
		a.failure(rc, e)
		return
	}
	if !rc.msg.isRequest() {
		c.notified(rc, a)
		return
	}
	if c.session.track(rc) {
		defer c.session.untrack(rc)
	}
	c.server.handle(rc, a)
}

// notified handles a notification or a response. Both belong to the connection,
// whatever their era.
func (c *pipe) notified(rc *requestContext, a *answer) {
	rc.session = c.session
	if rc.msg.is("notifications/cancelled") {
		if id, ok := rc.param("requestId"); ok {
			if l := c.subs.remove(id); l != nil {
				c.server.hub.remove(l)
			}
		}
	}
	c.server.handle(rc, a)
}

// write queues an answer, if there is one. It returns true, as what message
// returns for a leader.
func (c *pipe) write(a *answer) bool {
	if !a.empty() {
		c.out.append(a.line())
	}
	return true
}

// send implements stream.
func (c *pipe) send(msg []byte) error {
	if bytes.IndexByte(msg, '\n') >= 0 {
		msg = jsonscan.AppendCompact(nil, msg)
	}
	c.out.append(msg)
	return c.out.flush()
}

// signal wakes tell, without waiting.
func (c *pipe) signal() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// tell sends notifications of changes until stop is closed.
func (c *pipe) tell(stop <-chan struct{}, told chan<- struct{}) {
	defer close(told)
	for {
		select {
		case <-stop:
			return
		case <-c.news:
		}
		for _, msg := range c.session.news.messages("") {
			_ = c.send(msg)
		}
		for _, l := range c.subs.all() {
			for _, msg := range l.sub.messages() {
				_ = c.send(msg)
			}
		}
	}
}

// listen implements listenSurface.
func (c *pipe) listen(rc *requestContext, sub *subscription) error {
	l := &subscriber{sub, c.signal}
	if !c.subs.add(string(rc.msg.id), l) {
		return invalidRequest("a request with this id is in flight already")
	}
	_ = c.send(sub.acknowledgment())
	c.server.hub.add(l)
	c.signal()
	return nil
}

// subscribers are the subscriptions of one connection by the raw id of their request.
type subscribers struct {
	mu   sync.Mutex
	byID map[string]*subscriber
}

func (s *subscribers) add(id string, l *subscriber) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byID[id]; ok {
		return false
	}
	if s.byID == nil {
		s.byID = make(map[string]*subscriber)
	}
	s.byID[id] = l
	return true
}

// remove ends a subscription that the client has cancelled.
func (s *subscribers) remove(id []byte) *subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byID[string(id)]
	delete(s.byID, string(id))
	return l
}

func (s *subscribers) all() []*subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*subscriber, 0, len(s.byID))
	for _, l := range s.byID {
		all = append(all, l)
	}
	return all
}

// end tells the client that the server ends its subscriptions.
func (s *subscribers) end(c *pipe) {
	for _, l := range s.all() {
		c.server.hub.remove(l)
		c.out.append(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, l.sub.id))
		c.out.append(l.sub.end())
	}
}

// workload counts the messages being served, and lets nothing begin once the
// end has been asked for.
type workload struct {
	mu       sync.Mutex
	n        int
	draining bool
	idle     chan struct{}
}

// begin reports whether a message may still be served.
func (w *workload) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return false
	}
	w.n++
	return true
}

func (w *workload) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.draining {
		close(w.idle)
	}
}

// drain returns a channel that is closed when nothing is being served any more.
func (w *workload) drain() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	w.idle = make(chan struct{})
	if w.n == 0 {
		close(w.idle)
	}
	return w.idle
}

// lineWriter gathers messages and writes them a line each, from any goroutine.
type lineWriter struct {
	w      io.Writer
	broken chan struct{} // closed when writing has failed

	mu  sync.Mutex
	buf []byte
	err error
}

// gather is how many bytes may wait for company.
const gather = 64 << 10

func (l *lineWriter) append(msg []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(append(l.buf, msg...), '\n')
	if len(l.buf) >= gather {
		l.flushLocked()
	}
}

func (l *lineWriter) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushLocked()
	return l.err
}

func (l *lineWriter) flushLocked() {
	if len(l.buf) > 0 && l.err == nil {
		if _, l.err = l.w.Write(l.buf); l.err != nil {
			close(l.broken)
		}
	}
	l.buf = l.buf[:0]
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
}
