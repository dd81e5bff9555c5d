package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// pipe is one client on one connection.
//
// One goroutine leads: it reads a message and runs it itself, which saves the
// wake-up of another. A timer watches it. If the message takes longer than
// patience, the timer's goroutine becomes the leader and reads on, and the old
// leader ends once its answer is written. So a slow request never keeps others,
// or its own cancellation, from being read. Whether the timer could still be
// stopped is whether leadership is still held.
type pipe struct {
	server *Server
	ctx    context.Context // of start, which outlives every request
	// reading ends once everything is over: until then the client may be needed.
	reading     context.Context
	stopReading context.CancelFunc
	opts        ConnOptions
	session     *Session
	link        link // the leader reads from it
	news        teller
	subs        subscribers // its subscriptions/listen requests

	work  workload
	slots chan struct{} // one for each request that has outlived its leader's patience

	ended   chan struct{} // closed by the last leader
	readErr error         // set before ended is closed

	// Nobody waits for the end, as the connections at rest are many: whoever
	// notices it winds up.
	onEnd   func(error)
	unwatch func() bool // the context

	booked bool // used before start only

	mu            sync.Mutex // held by start
	winding       bool
	started, shed bool // shed: given up, to make room
}

// patience is how long a request may hold up the reader.
const patience = 200 * time.Microsecond

// start serves the connection on goroutines of its own. ended is called when
// everything is over.
func (c *pipe) start(ended func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onEnd = ended
	if !c.book() {
		c.winding = true
		c.stopReading()
		go ended(errBudget)
		return
	}
	c.started = true
	if c.shed {
		go c.windUp()
	}
	c.unwatch = context.AfterFunc(c.ctx, c.windUp)
	c.session.setOnNews(c.signal)
	c.session.setDirect(c)
	if c.server.hub.watched() {
		c.server.hub.add(c.session)
	}
	go c.lead()
}

// client names the client in the ledger.
func (c *pipe) client() string { return accountName(PrincipalFrom(c.ctx), c.opts.Remote) }

// book enters the connection into the ledger, unless it is there, and reports whether
// it fits.
func (c *pipe) book() bool {
	c.booked = c.booked || c.server.ledger.book(&c.session.kept, c.client(), keptConnection, 1, costConnection, c)
	return c.booked
}

// giveUp implements keeper: the connection ends as if the server did.
func (c *pipe) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shed = true
	if c.started {
		go c.windUp()
	}
}

// flush sends what is queued. If that fails, nobody can be told anything.
func (c *pipe) flush() error {
	err := c.link.flush()
	if err != nil {
		go c.windUp()
	}
	return err
}

// windUp ends what serves the connection, and waits for it. Only the first call counts.
func (c *pipe) windUp() {
	c.mu.Lock()
	again, shed := c.winding, c.shed
	c.winding = true
	c.mu.Unlock()
	if again {
		return
	}
	c.unwatch()
	var readErr error
	select {
	case <-c.ended:
		if c.ctx.Err() != nil {
			break // reading ended because serving does
		}
		readErr = c.readErr
	default:
	}
	c.server.hub.remove(c.session)
	c.server.ledger.release(&c.session.kept)
	_, _ = c.session.close(c.server.ledger) // it has neither a stream nor logs
	settled := make(chan error, 1)
	go func() {
		c.news.close()
		c.subs.end(c)
		c.drain()
		settled <- c.link.flush()
	}()
	stuck := time.NewTimer(c.opts.DrainTimeout + stuckAfter)
	defer stuck.Stop()
	var err error
	select {
	case err = <-settled:
	case <-stuck.C:
		err = errStuck
	}
	c.server.sessionEnded(c.session, c.opts.Transport, time.Since(time.Unix(0, c.session.began)))
	if shed {
		err = errors.Join(err, errBudget)
	}
	c.onEnd(errors.Join(readErr, err))
	c.stopReading()
}

// stuckAfter is how long after the drain a connection is given up whose client
// does not read what is written to it, or whose requests ignore their end.
const stuckAfter = time.Second

var errStuck = errors.New("the connection could not be wound up in time: its client does not read, or a request does not end")

// drain waits for the requests in flight, and cancels them when time is up or
// the client has gone. Until then the leader reads on: they may wait for an
// answer of the client.
func (c *pipe) drain() {
	idle := c.work.drain()
	timeout := time.NewTimer(c.opts.DrainTimeout)
	defer timeout.Stop()
	var gone <-chan struct{}
	if c.opts.cancelAtEnd {
		gone = c.ended
	}
	failed := c.link.failed()
	for {
		select {
		case <-idle:
			return
		case <-timeout.C:
		case <-gone:
			gone = nil
		case <-failed:
			failed = nil
		}
		c.session.cancelAll()
	}
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
		text, err := c.link.read(c.reading)
		if err != nil && err != errTooLong {
			if err != io.EOF {
				c.readErr = err
			}
			close(c.ended)
			c.windUp()
			return
		}
		if !c.work.begin() {
			return
		}
		leads := c.message(t, text, err != nil)
		c.work.end()
		if !leads {
			return
		}
		if !c.link.pending() {
			_ = c.flush()
		}
	}
}

// takeOver is what the timer of a leader does: let go of what has been
// answered, make the slow request cancellable, and lead in its place.
func (c *pipe) takeOver(slow *requestContext) {
	if slow != nil {
		c.session.track(slow)
		select {
		case <-c.link.failed():
			slow.cancel() // it was not there to be cancelled with the others
		default:
		}
	}
	_ = c.flush()
	c.slots <- struct{}{}
	c.lead()
}

// message serves one message and reports whether this goroutine still leads.
func (c *pipe) message(t *turn, text []byte, tooLong bool) (leads bool) {
	a := newAnswer()
	defer a.free()
	rc := &requestContext{
		parent: c.ctx, detached: true, server: c.server, version: c.session.Version(), remote: c.opts.Remote,
	}
	if tooLong {
		return c.refuse(rc, a, invalidRequest("the message is longer than %d bytes", c.link.limit()))
	}
	i := jsonscan.Space(text, 0)
	if i == len(text) {
		return true // an empty line is no message
	}
	var held heldBody
	defer c.server.bodies.release(&held)
	if text[i] == '[' && c.session.Version() == Version20250326 {
		if e := c.busy(&held, len(text)); e != nil {
			return c.refuse(rc, a, e)
		}
		return c.batch(t, text, a)
	}
	if e := c.admit(rc, text); e != nil {
		return c.refuse(rc, a, e)
	}
	if !rc.msg.isRequest() {
		c.notified(rc, a)
		return true
	}
	if e := c.busy(&held, len(text)); e != nil {
		return c.refuse(rc, a, e)
	}
	if rc.msg.is("initialize") {
		// Everything behind it depends on it, so nobody reads on until it is done.
		c.server.handle(rc, a)
		return c.write(a)
	}
	t.rc = rc
	t.timer.Reset(patience)
	c.server.handle(rc, a)
	c.server.bodies.release(&held) // before the client can see the answer
	if t.timer.Stop() {
		t.rc = nil // a connection at rest need not remember it
		return c.write(a)
	}
	<-c.slots // the new leader has tracked rc
	c.session.untrack(rc)
	c.write(a) // from here on the client may use the id again
	_ = c.flush()
	return false
}

// busy returns the refusal of a request of size bytes, which it reserves in held, if
// too many are in flight already. Where the end of the input says nothing, reading
// waits for their number instead.
func (c *pipe) busy(held *heldBody, size int) *Error {
	if c.opts.cancelAtEnd && len(c.slots) == cap(c.slots) {
		return Errorf(CodeToolBusy, "%d requests are in flight already", cap(c.slots))
	}
	if !c.server.bodies.reserve(c.ctx, c.opts.Remote, held, int64(size)) {
		return errBodies
	}
	return nil
}

// refuse answers what is no request. It returns true, as what message returns
// for a leader.
func (c *pipe) refuse(rc *requestContext, a *answer, e *Error) bool {
	a.failure(rc, e)
	c.server.refused(rc, c.opts.Transport, e, 0)
	return c.write(a)
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
		c.server.opts.Clients.begin(c.session)
	case rc.version == 0:
		rc.version = LatestLegacyVersion
		fallthrough
	default:
		rc.session = c.session
	}
	if rc.msg.isRequest() && c.session.tracks(rc.msg.id) {
		return invalidRequest("a request with this id is in flight already")
	}
	if rc.msg.isRequest() && c.work.ending() {
		return errEnding
	}
	return nil
}

// batch serves an array of messages and answers with an array.
func (c *pipe) batch(t *turn, text []byte, a *answer) (leads bool) {
	out := []byte{'['}
	t.rc = nil
	t.timer.Reset(patience)
	e := eachMessage(text, func(element []byte) {
		a.buf, a.body = a.buf[:0], nil
		c.element(element, len(out), a)
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
		_ = c.flush()
		<-c.slots
	}
	return leads
}

// element serves one message of a batch, whose answers have held bytes so far.
func (c *pipe) element(text []byte, held int, a *answer) {
	rc := &requestContext{parent: c.ctx, detached: true, server: c.server, remote: c.opts.Remote}
	e := c.admit(rc, text)
	if e == nil {
		e = rc.fitsBatch(held)
	}
	if e != nil {
		a.failure(rc, e)
		c.server.refused(rc, c.opts.Transport, e, 0)
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
				c.server.ledger.release(&l.sub.kept)
			}
		}
	}
	c.server.handle(rc, a)
}

// write queues an answer, if there is one. It returns true, as what message
// returns for a leader.
func (c *pipe) write(a *answer) bool {
	if !a.empty() {
		c.link.write(a.line())
	}
	return true
}

// send implements stream.
func (c *pipe) send(msg []byte) error {
	if bytes.IndexByte(msg, '\n') >= 0 {
		msg = jsonscan.AppendCompact(nil, msg)
	}
	c.link.write(msg)
	return c.flush()
}

// signal makes sure that what changed is told, without waiting.
func (c *pipe) signal() { c.news.signal(c.tell) }

// tell sends the notifications that are due.
func (c *pipe) tell() {
	for _, msg := range c.session.messages() {
		_ = c.send(msg)
	}
	for _, l := range c.subs.all() {
		if !l.sub.acknowledged.Load() {
			continue // it signals again when it is
		}
		for _, msg := range l.sub.messages() {
			_ = c.send(msg)
		}
	}
}

// teller runs a function on a goroutine of its own whenever it is signalled:
// one at a time, and none while there is nothing to tell.
type teller struct {
	mu             sync.Mutex
	running, again bool
	closed         bool
	idle           sync.Cond
}

func (t *teller) signal(tell func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
	case t.running:
		t.again = true
	default:
		t.running = true
		go t.run(tell)
	}
}

func (t *teller) run(tell func()) {
	for {
		tell()
		t.mu.Lock()
		if !t.again || t.closed {
			t.running = false
			t.idle.Broadcast()
			t.mu.Unlock()
			return
		}
		t.again = false
		t.mu.Unlock()
	}
}

// close lets nothing more be told and waits for what is being told.
func (t *teller) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for t.running {
		t.idle.Wait()
	}
}

// listen implements listenSurface.
func (c *pipe) listen(rc *requestContext, sub *subscription) error {
	l := &subscriber{sub, c.signal}
	if !c.subs.add(string(rc.msg.id), l) {
		return invalidRequest("a request with this id is in flight already")
	}
	c.server.hub.add(l) // first: the client may rely on the acknowledgment
	_ = c.send(sub.acknowledgment())
	sub.acknowledged.Store(true)
	sub.onGiveUp(func() { go c.endSubscription(l) }) // its client may not read
	c.signal()
	return nil
}

// endSubscription ends a subscription on the server's initiative.
func (c *pipe) endSubscription(l *subscriber) {
	if c.subs.remove(l.sub.id) != nil {
		c.server.hub.remove(l)
		c.link.write(l.sub.end())
		_ = c.flush()
	}
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
		c.server.ledger.release(&l.sub.kept)
		c.link.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, l.sub.id))
		c.link.write(l.sub.end())
	}
}

// workload counts the messages being served. Once the end has been asked for,
// it is over as soon as there are none.
type workload struct {
	mu             sync.Mutex
	n              int
	draining, over bool
	idle           chan struct{} // closed when it is over
}

// begin reports whether a message may still be served.
func (w *workload) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false
	}
	w.n++
	return true
}

func (w *workload) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	w.settle()
}

// ending reports whether the end has been asked for.
func (w *workload) ending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

// drain asks for the end and returns a channel that is closed when it is there.
func (w *workload) drain() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	w.idle = make(chan struct{})
	w.settle()
	return w.idle
}

func (w *workload) settle() {
	if w.n == 0 && w.draining && !w.over {
		w.over = true
		close(w.idle)
	}
}
