package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// pipe is one client on one connection.
//
// One goroutine leads: it reads a message and serves it itself, which saves waking up
// another goroutine. A timer watches it. If the message takes longer than patience, the
// timer's goroutine becomes the leader and continues reading, and the old leader ends
// when its answer has been written. So a slow request never prevents other requests, or
// its own cancellation, from being read. A goroutine still leads if it could stop its
// timer.
type pipe struct {
	// server answers the messages.
	server *Server
	ctx    context.Context // of start, which outlives every request
	// reading ends when everything has ended: until then the client may be needed.
	reading     context.Context
	stopReading context.CancelFunc
	opts        ConnOptions
	session     *session
	link        *link // the leader reads from it
	news        notifier
	subs        registry[string, *subscriber] // its subscriptions/listen requests, by raw id

	work     inflight // messages being served
	draining atomic.Bool
	slots    chan struct{} // one for each request that has exceeded its leader's patience
	writing  atomic.Int32  // how many of them are writing their answers

	ended   chan struct{} // closed by the last leader
	readErr error         // set before ended is closed

	// Idle connections are numerous and have no goroutine that waits for the end, so
	// whichever call notices the end runs windUp.
	onEnd   func(error)
	unwatch func() bool // stops watching the context

	booked bool // only used before start

	mu            sync.Mutex // held by start
	winding       bool
	started, shed bool // shed: given up, to make room
}

// patience is how long a request may block the reader.
const patience = 200 * time.Microsecond

// start serves the connection on its own goroutines. ended is called when everything has
// ended.
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

// client returns the client's name in the ledger.
func (c *pipe) client() string {
	return accountName(mcp.PrincipalFrom(c.ctx), c.opts.Remote)
}

// book enters the connection into the ledger unless it is already booked, and reports
// whether it fits.
func (c *pipe) book() bool {
	c.booked = c.booked ||
		c.server.ledger.book(&c.session.kept, c.client(), keptConnection, 1,
			costConnection, c)
	return c.booked
}

// giveUp implements keeper: the connection ends as if the server were shutting down.
func (c *pipe) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shed = true
	if c.started {
		go c.windUp()
	}
}

// flush sends the queued messages. If that fails, the client cannot be reached, and the
// connection ends.
func (c *pipe) flush() error {
	err := c.link.flush()
	if err != nil {
		go c.windUp()
	}
	return err
}

// windUp ends everything that serves the connection, and waits for it. Calls after the
// first have no effect.
func (c *pipe) windUp() {
	c.mu.Lock()
	again := c.winding
	shed := c.shed
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
			break // reading ended because the server is stopping
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
		c.endSubscriptions()
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
	c.server.sessionEnded(c.session, c.opts.Transport,
		time.Since(time.Unix(0, c.session.began)))
	if shed {
		err = errors.Join(err, errBudget)
	}
	c.onEnd(errors.Join(readErr, err))
	c.stopReading()
}

// stuckAfter is how long after the drain the server abandons a connection whose client
// does not read, or whose requests ignore their cancellation.
const stuckAfter = time.Second

var errStuck = errors.New(
	"the connection could not be closed in time: its client does not read, or a request does not end")

// drain waits for the requests in flight, and cancels them on timeout or when the client
// has disconnected. The leader continues reading, because the requests may wait
// for answers from the client.
func (c *pipe) drain() {
	c.draining.Store(true)
	timeout := time.NewTimer(c.opts.DrainTimeout)
	defer timeout.Stop()
	var gone <-chan struct{}
	if c.opts.cancelAtEnd {
		gone = c.ended
	}
	failed := c.link.failed
	for idle := c.work.signal(); !c.work.close(); {
		select {
		case <-idle:
			idle = c.work.signal()
			continue
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
	timer  *time.Timer
	rc     *request // the request being served; nil for a batch
	memory heldBody // of the message being served
	// tracked is done once the next leader has tracked rc.
	tracked sync.WaitGroup
}

// lead reads and serves messages until the input ends or another goroutine leads.
func (c *pipe) lead() {
	t := &turn{}
	t.tracked.Add(1)
	t.timer = time.AfterFunc(time.Hour, func() { c.takeOver(t) })
	t.timer.Stop()
	for {
		text, err := c.link.conn.ReadMessage(c.reading)
		tooLong, _ := err.(*tooLongError)
		if err != nil && tooLong == nil {
			if err != io.EOF {
				c.readErr = err
			}
			close(c.ended)
			c.windUp()
			return
		}
		if c.link.tap != nil && tooLong == nil {
			c.link.tap.Received(text, tap.Junk)
		}
		if !c.work.begin() {
			return
		}
		leads := c.message(t, text, tooLong)
		c.work.end()
		if !leads {
			return
		}
		if !c.link.pending() {
			_ = c.flush()
		}
	}
}

// takeOver runs when the timer of a leader fires: it flushes finished answers, makes the
// slow request cancellable, and becomes the leader.
func (c *pipe) takeOver(t *turn) {
	if slow := t.rc; slow != nil {
		c.session.track(slow)
		select {
		case <-c.link.failed:
			slow.cancel() // it was not tracked yet when the others were cancelled
		default:
		}
	}
	t.tracked.Done()
	_ = c.flush()
	c.slots <- struct{}{}
	c.lead()
}

// newRequest implements surface. The end of the connection does not end the requests at
// once: windUp drains them.
func (c *pipe) newRequest() *request {
	rc := c.server.newRequest(c.ctx, c.opts.Remote, c.opts.Transport)
	rc.detached = true
	rc.version = c.session.Version()
	return rc
}

// message serves one message and reports whether this goroutine still leads.
func (c *pipe) message(t *turn, text []byte, tooLong *tooLongError) (leads bool) {
	a := newAnswer()
	defer a.free()
	rc := c.newRequest()
	defer rc.leave()
	if tooLong != nil {
		return c.refuse(rc, a, invalidRequest("%v", tooLong))
	}
	i := jsonscan.Space(text, 0)
	if i == len(text) {
		return true // an empty line is not a message
	}
	rc.memory = &t.memory
	defer c.server.bodies.release(rc.memory)
	if text[i] == '[' && c.session.Version() == mcp.Version20250326 {
		if e := c.busy(rc, len(text)); e != nil {
			return c.refuse(rc, a, e)
		}
		return c.batch(t, text, a)
	}
	if e := rc.accept(text, c); e != nil {
		return c.refuse(rc, a, e)
	}
	if !rc.msg.isRequest() {
		c.notified(rc, a)
		return true
	}
	if e := c.busy(rc, len(text)); e != nil {
		return c.refuse(rc, a, e)
	}
	if rc.msg.is("initialize") {
		// All later messages depend on initialize, so reading waits for it.
		c.server.handle(rc, a)
		return c.write(a)
	}
	t.rc = rc
	t.timer.Reset(patience)
	c.server.handle(rc, a)
	msg := c.server.lineOf(rc, a)
	c.server.bodies.shrink(rc.memory, int64(len(msg))) // before the client can see the answer
	if t.timer.Stop() {
		t.rc = nil // an idle connection need not keep it in memory
		c.answer(rc, msg)
		return true
	}
	t.tracked.Wait()
	c.session.untrack(rc)
	if c.opts.Queues {
		<-c.slots
		c.answer(rc, msg) // from here on the client may reuse the id
		_ = c.flush()
		return false
	}
	c.writing.Add(1)
	c.answer(rc, msg)
	c.written()
	return false
}

// written flushes an answer and frees its slot.
func (c *pipe) written() {
	_ = c.flush()
	<-c.slots
	c.writing.Add(-1) // last, see busy
}

// answer writes the answer to rc, or queues it, if there is one. If the connection queues it, the
// server does not count it any more.
func (c *pipe) answer(rc *request, msg []byte) {
	if len(msg) == 0 {
		return
	}
	if c.opts.Queues {
		rc.leave()
		c.server.bodies.release(rc.memory)
	}
	c.link.answer(msg, rc)
}

// busy reserves size bytes for a request. It returns an error if too many requests are in
// flight. On connections whose end of input is not a disconnect, reading waits for a free slot
// instead, and also while an answer is being written, which the client may have already.
func (c *pipe) busy(rc *request, size int) *mcp.Error {
	writing := c.writing.Load() > 0 // first: what is written later, the client did not have
	if c.opts.cancelAtEnd && len(c.slots) == cap(c.slots) {
		if !writing {
			return busy("%d requests are already in flight", cap(c.slots))
		}
		c.slots <- struct{}{}
		<-c.slots
	}
	if !c.server.bodies.reserve(c.ctx, c.opts.Remote, rc.memory, int64(size)) {
		return errBodies
	}
	return nil
}

// refuse answers a message that is not a valid request. It returns true, the result of
// message for a leader.
func (c *pipe) refuse(rc *request, a *answer, e *mcp.Error) bool {
	a.failure(rc, e)
	c.server.refused(rc, e, 0)
	return c.write(a)
}

// admit implements surface.
func (c *pipe) admit(rc *request) *mcp.Error {
	if e := rc.readMeta(); e != nil {
		return e
	}
	rc.stream = c
	rc.listChanged = c.server.hub.watched()
	switch {
	case rc.isModern(""):
		rc.version = mcp.LatestVersion
		c.server.opts.Clients.begin(c.session)
	case rc.version == 0:
		rc.version = mcp.LatestLegacyVersion
		fallthrough
	default:
		rc.session = c.session
	}
	if rc.msg.isRequest() && c.session.tracks(rc.msg.id) {
		return errInFlight
	}
	if rc.msg.isRequest() && c.draining.Load() {
		return errEnding
	}
	return nil
}

// batchOnPipe is the surface of a batch, whose memory its requests share.
type batchOnPipe struct {
	*pipe
	memory *heldBody
}

// newRequest implements surface.
func (b batchOnPipe) newRequest() *request {
	rc := b.pipe.newRequest()
	rc.memory = b.memory
	return rc
}

// batch serves an array of messages and answers with an array.
func (c *pipe) batch(t *turn, text []byte, a *answer) (leads bool) {
	out := []byte{'['}
	t.rc = nil
	t.timer.Reset(patience)
	e := serveBatch(text, batchOnPipe{c, &t.memory}, a, func(msg []byte) (held int) {
		out = append(append(out, msg...), ',')
		return len(out)
	})
	leads = t.timer.Stop()
	a.reset()
	switch {
	case e != nil:
		a.failure(&request{received: received{version: c.session.Version()}}, e)
	case len(out) > 1:
		a.buf = append(append(a.buf, out[:len(out)-1]...), ']')
	}
	if leads {
		return c.write(a)
	}
	c.writing.Add(1)
	c.write(a)
	c.written()
	return false
}

// handle implements surface.
func (c *pipe) handle(rc *request, a *answer) {
	if rc.msg.isRequest() {
		c.server.handleTracked(c.session, rc, a)
		return
	}
	c.notified(rc, a)
}

// notified handles a notification or a response. Both belong to the connection,
// regardless of their era.
func (c *pipe) notified(rc *request, a *answer) {
	rc.session = c.session
	if rc.msg.is("notifications/cancelled") {
		if id, ok := rc.param("requestId"); ok {
			if l := c.subs.remove(string(id)); l != nil {
				c.server.hub.remove(l)
				c.server.ledger.release(&l.sub.kept)
			}
		}
	}
	c.server.handle(rc, a)
}

// write queues an answer, if there is one. It returns true, the result of message for a
// leader.
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

// signal schedules sendNews, without waiting.
func (c *pipe) signal() { c.news.signal(c.sendNews) }

// sendNews sends the notifications that are due.
func (c *pipe) sendNews() {
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

// notifier runs a function on its own goroutine whenever it is signalled. Runs do not
// overlap, and no goroutine exists between them.
type notifier struct {
	mu sync.Mutex
	// running reports that a goroutine sends; again asks it to send again after that.
	running, again bool
	closed         bool
	idle           sync.Cond
}

// signal schedules a run of send, after the current one if there is any.
func (t *notifier) signal(send func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
	case t.running:
		t.again = true
	default:
		t.running = true
		go t.run(send)
	}
}

// run sends until no more is asked for, then ends. At most one runs, so messages keep
// their order.
func (t *notifier) run(send func()) {
	for {
		send()
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

// close prevents new runs and waits for the current one.
func (t *notifier) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for t.running {
		t.idle.Wait()
	}
}

// listen implements listenSurface.
func (c *pipe) listen(rc *request, sub *subscription) error {
	l := &subscriber{sub, c.signal}
	if !c.subs.add(string(rc.msg.id), l) {
		return errInFlight
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
	if c.subs.remove(string(l.sub.id)) != nil {
		c.server.hub.remove(l)
		c.link.write(l.sub.end())
		_ = c.flush()
	}
}

// endSubscriptions notifies the client that the server ends its subscriptions.
func (c *pipe) endSubscriptions() {
	for _, l := range c.subs.all() {
		c.server.hub.remove(l)
		c.server.ledger.release(&l.sub.kept)
		c.link.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`,
			l.sub.id))
		c.link.write(l.sub.end())
	}
}
