package client

import (
	"context"
	"slices"
	"sync"
	"time"
)

// One stream carries all messages of a child process, and a question on it does not name
// its call. So calls that may ask run one client at a time:
//
//   - A tool that has asked before may ask. A call of it waits until no other client has
//     such a call in flight.
//   - A tool that has not been called yet may ask as well, for firstLook or until its
//     first call is answered. After that it is assumed not to ask.
//   - While a client is being asked, its call has to wait anyway, so the turn passes to
//     another client. The answer is sent to the server once no other client has the turn.
//   - All other calls run concurrently with everything.
//   - The client that has the turn keeps it until its last such call in flight ends. Once
//     another client has waited for longestTurn, new calls of tools that have asked queue as
//     well. As a call in flight may depend on one of them, a call that has queued for
//     longestTurn starts if an earlier call of its client still has the turn.
//
// A question belongs to the only client with a call that may ask. If there are several,
// the question is held, and no other call is started, until the calls in flight leave
// only one client.

// askState is whether a tool asks, as far as known.
type askState uint8

const (
	unknown askState = iota
	quiet            // it has been called without asking
	asks             // it has asked
)

const (
	// firstLook is how long the first call of a tool may delay calls of other clients
	// whose tools may ask as well.
	firstLook = 250 * time.Millisecond
	// longestHold is how long a question may wait for the calls of other clients.
	longestHold = 30 * time.Second
	// longestTurn is how long a client may wait for its turn until the client that has it
	// has to queue as well, and how long a call of that client queues at most.
	longestTurn = 30 * time.Second
	// maxAskers limits the number of tools whose state is stored.
	maxAskers = 10_000
)

// askers records which tools of a server ask, across restarts.
type askers struct {
	mu sync.Mutex
	// all has what is known of each tool and method: only calls that may ask a question
	// exclude each other.
	all map[string]askState
}

// get returns the state of a call's tool. Tools beyond the limit count as quiet.
func (a *askers) get(c *call) askState {
	a.mu.Lock()
	defer a.mu.Unlock()
	state := a.all[c.kind()]
	if state == unknown && len(a.all) >= maxAskers {
		return quiet
	}
	return state
}

// note records a state. That a tool asks is never forgotten.
func (a *askers) note(c *call, now askState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[string]askState)
	}
	_, known := a.all[c.kind()]
	if now > a.all[c.kind()] && (known || len(a.all) < maxAskers) {
		a.all[c.kind()] = now
	}
}

// kind returns what calls with the same [askState] have in common: a tool, or a method.
func (c *call) kind() string {
	if c.method == "tools/call" {
		return c.name
	}
	return c.method
}

// enter assigns an id to a client's call when it may start.
func (ses *session) enter(ctx context.Context, c *call) error {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !ses.oneStream {
		return ses.trackLocked(c)
	}
	state := ses.src.askers.get(c)
	if c.method != "tools/call" {
		state = max(state, quiet)
	}
	c.mayAsk = state != quiet
	c.queued = time.Time{}
	defer ses.leaveQueueLocked(c)
	var late <-chan time.Time
	for ses.blockedLocked(c) {
		if err := ses.queueLocked(c); err != nil {
			return err
		}
		if late == nil {
			timer := time.NewTimer(longestTurn)
			defer timer.Stop()
			late = timer.C
		}
		if _, err := ses.awaitChangeLocked(ctx, late); err != nil {
			return err
		}
		c.mayAsk = c.mayAsk && ses.src.askers.get(c) != quiet
	}
	c.needed = c.mayAsk && ses.hasTurnLocked(c) && ses.overdueLocked(c)
	if err := ses.trackLocked(c); err != nil {
		return err
	}
	c.started = time.Now()
	if c.mayAsk && ses.src.askers.get(c) == unknown {
		c.look = time.AfterFunc(firstLook, func() { ses.assumeQuiet(c) })
	}
	return nil
}

// blockedLocked reports whether a call must wait for calls of other clients.
func (ses *session) blockedLocked(c *call) bool {
	if ses.end != nil || ses.held == 0 && !c.mayAsk {
		return false
	}
	blocks := func(other *call) bool {
		return (ses.held > 0 || other.hasTurn()) && !ses.src.sameClient(c, other)
	}
	if ses.anyLocked(blocks) {
		return true
	}
	if !c.mayAsk || ses.hasTurnLocked(c) && (!ses.overdueLocked(c) || ses.isNeededLocked(c)) {
		return false
	}
	first := len(ses.queue) == 0 || ses.queue[0] == c || ses.src.sameClient(c, ses.queue[0])
	return len(ses.resuming) > 0 || !first
}

// overdueLocked reports whether a call of a client that has the turn must queue: its tool has asked, and
// another client has waited too long for its turn.
func (ses *session) overdueLocked(c *call) bool {
	if ses.src.askers.get(c) != asks {
		return false
	}
	late := func(other *call) bool {
		return time.Since(other.queued) >= longestTurn && !ses.src.sameClient(c, other)
	}
	return slices.ContainsFunc(ses.queue, late) || slices.ContainsFunc(ses.resuming, late)
}

// isNeededLocked reports whether a call has queued for so long that an earlier call of its client that still has
// the turn may depend on it. Calls that started for this reason are no reason for others: a client could keep
// the turn with them.
func (ses *session) isNeededLocked(c *call) bool {
	return !c.queued.IsZero() && time.Since(c.queued) >= longestTurn && ses.anyLocked(func(other *call) bool {
		return other.hasTurn() && !other.needed && ses.src.sameClient(c, other) && !other.started.After(c.queued)
	})
}

// hasTurn reports whether a call has the turn: it may ask at any moment.
func (c *call) hasTurn() bool { return c.mayAsk && c.open == 0 }

// awaitTurn waits until the answer to a question may be sent to the server: with it the
// asking call continues, and needs the turn that it gave up when it asked.
func (ses *session) awaitTurn(ctx context.Context, q *serverQuestion) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !q.counted {
		return
	}
	q.call.queued = time.Now()
	ses.resuming = append(ses.resuming, q.call)
	defer func() {
		i := slices.Index(ses.resuming, q.call)
		ses.resuming = slices.Delete(ses.resuming, i, i+1)
	}()
	for ses.end == nil && ses.calls.Get(q.call.id) == q.call && ses.anotherHasTurnLocked(q.call) {
		if _, err := ses.awaitChangeLocked(ctx, nil); err != nil {
			return
		}
	}
}

// anotherHasTurnLocked reports whether a client other than that of c has the turn.
func (ses *session) anotherHasTurnLocked(c *call) bool {
	return ses.anyLocked(func(other *call) bool {
		return other.hasTurn() && !ses.src.sameClient(c, other)
	})
}

// hasTurnLocked reports whether the client of a call has the turn: it has a call in flight
// that may ask. Its calls may depend on each other.
func (ses *session) hasTurnLocked(c *call) bool {
	return ses.anyLocked(func(other *call) bool {
		return other.hasTurn() && ses.src.sameClient(c, other)
	})
}

// anyLocked reports whether ok accepts any of the calls in flight that are made for
// clients.
func (ses *session) anyLocked(ok func(*call) bool) bool {
	for c := range ses.calls.All() {
		if c.foreign && ok(c) {
			return true
		}
	}
	return false
}

// queueLocked adds a call to those that wait for their turn, in order of arrival. Each client
// has a share of the queue.
func (ses *session) queueLocked(c *call) error {
	if slices.Contains(ses.queue, c) {
		return nil
	}
	client, err := ses.waiting.enter(c.request.Load(), ses.src.opts.Limits.InFlight)
	if err != nil {
		return err
	}
	c.queuedFor = client
	c.queued = time.Now()
	ses.queue = append(ses.queue, c)
	return nil
}

func (ses *session) leaveQueueLocked(c *call) {
	if i := slices.Index(ses.queue, c); i >= 0 {
		ses.queue = slices.Delete(ses.queue, i, i+1)
		ses.waiting.leave(c.queuedFor)
		ses.noteChangeLocked()
	}
}

// awaitChangeLocked unlocks the session until its calls or questions change, it ends, or
// tick receives, if it is not nil. It returns an error if ctx is done first.
func (ses *session) awaitChangeLocked(ctx context.Context, tick <-chan time.Time) (ticked bool, err error) {
	if ses.changed == nil {
		ses.changed = make(chan struct{})
	}
	changed := ses.changed
	ses.mu.Unlock()
	defer ses.mu.Lock()
	select {
	case <-changed:
	case <-ses.ended:
	case <-tick:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// noteChangeLocked wakes the goroutines in awaitChangeLocked.
func (ses *session) noteChangeLocked() {
	if ses.changed != nil {
		close(ses.changed)
		ses.changed = nil
	}
}

// noteEndLocked records that a call is no longer in flight.
func (ses *session) noteEndLocked(c *call) {
	if c.look != nil {
		c.look.Stop()
	}
	if c.mayAsk && !c.asked {
		ses.src.askers.note(c, quiet)
	}
	ses.noteChangeLocked()
}

// assumeQuiet marks the tool of a first call as one that does not ask, if it has not
// asked by now.
func (ses *session) assumeQuiet(c *call) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if c.asked || ses.calls.Get(c.id) != c {
		return
	}
	c.mayAsk = false
	ses.src.askers.note(c, quiet)
	ses.noteChangeLocked()
}

// ownerLocked returns the call that a question belongs to, if that is known.
func (ses *session) ownerLocked() (c *call, known bool) {
	c, several := ses.latestLocked(func(*call) bool { return true })
	if !several {
		return c, true
	}
	// A call that already waits for an answer does not ask anything else.
	c, several = ses.latestLocked((*call).hasTurn)
	return c, c != nil && !several
}

// assignLocked records that a question without a call id belongs to a call. A server that
// asks such questions over HTTP is as ambiguous as one on a stream.
func (ses *session) assignLocked(q *serverQuestion, c *call) {
	q.call = c
	q.known = true
	q.counted = true
	c.asked = true
	c.mayAsk = true
	c.open++
	ses.oneStream = true
	ses.src.askers.note(c, asks)
}

// release records that a question has been answered.
func (ses *session) release(q *serverQuestion) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if q.counted {
		q.counted = false
		q.call.open--
	}
	if q.held {
		q.held = false
		ses.held--
	}
	ses.noteChangeLocked()
}

// hold waits until the call that a question belongs to is known. If all calls in flight
// wait for held questions, one of the questions is refused.
func (ses *session) hold(ctx context.Context, q *serverQuestion) error {
	limit := time.NewTicker(longestHold)
	defer limit.Stop()
	ses.mu.Lock()
	defer ses.mu.Unlock()
	q.held = true
	ses.held++
	for {
		if c, known := ses.ownerLocked(); known {
			q.known = true
			q.held = false
			ses.held--
			if c != nil {
				ses.assignLocked(q, c)
			}
			ses.noteChangeLocked()
			return nil
		}
		if !ses.clientIsAskedLocked() && ses.held >= ses.foreignLocked() {
			return ses.refuseLocked() // every call in flight waits for a held question
		}
		overdue, err := ses.awaitChangeLocked(ctx, limit.C)
		if err != nil {
			return err
		}
		if overdue && !ses.clientIsAskedLocked() {
			return ses.refuseLocked()
		}
	}
}

// clientIsAskedLocked reports whether a client is being asked: its call continues once it
// has answered.
func (ses *session) clientIsAskedLocked() bool {
	return ses.anyLocked(func(c *call) bool { return c.open > 0 })
}

// foreignLocked returns the number of calls in flight that are made for clients.
func (ses *session) foreignLocked() (n int) {
	for c := range ses.calls.All() {
		if c.foreign {
			n++
		}
	}
	return n
}

// refuseLocked gives up a question. Any of the tools may have asked it, so from now on
// they take turns.
func (ses *session) refuseLocked() error {
	for c := range ses.calls.All() {
		if c.foreign {
			c.asked = true
			ses.src.askers.note(c, asks)
		}
	}
	return errSeveral
}
