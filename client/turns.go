package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
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
//
// A question belongs to the only client with a call that may ask. If there are several,
// the question is held, and no other call is started, until the calls in flight leave
// only one client.

// manner is whether a tool asks, as far as known.
type manner uint8

const (
	unknownManner manner = iota
	quiet                // it has been called without asking
	asking               // it has asked
)

const (
	// firstLook is how long the first call of a tool may delay calls of other clients
	// whose tools may ask as well.
	firstLook = 250 * time.Millisecond
	// longestHold is how long a question may wait for the calls of other clients.
	longestHold = 30 * time.Second
	// maxManners limits the number of tools whose manner is stored.
	maxManners = 10_000
)

// manners records which tools of a server ask, across restarts.
type manners struct {
	mu  sync.Mutex
	all map[string]manner
}

func (m *manners) get(c *call) manner {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.all[c.kind()]
	if known == unknownManner && len(m.all) >= maxManners {
		return quiet
	}
	return known
}

// learn records a manner. That a tool asks is never forgotten.
func (m *manners) learn(c *call, now manner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = make(map[string]manner)
	}
	if _, known := m.all[c.kind()]; now > m.all[c.kind()] && (known || len(m.all) < maxManners) {
		m.all[c.kind()] = now
	}
}

// kind returns what calls with the same manner have in common: a tool, or a method.
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
	manner := ses.src.manners.get(c)
	if c.method != "tools/call" {
		manner = max(manner, quiet)
	}
	c.mayAsk = manner != quiet
	defer ses.leaveQueueLocked(c)
	for ses.blockedLocked(c) {
		if err := ses.queueLocked(c); err != nil {
			return err
		}
		moved := ses.movedLocked()
		ses.mu.Unlock()
		var err error
		select {
		case <-moved:
		case <-ses.ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		ses.mu.Lock()
		if err != nil {
			return err
		}
		c.mayAsk = c.mayAsk && ses.src.manners.get(c) != quiet
	}
	if err := ses.trackLocked(c); err != nil {
		return err
	}
	if c.mayAsk && ses.src.manners.get(c) == unknownManner {
		c.look = time.AfterFunc(firstLook, func() { ses.settleManner(c) })
	}
	return nil
}

// blockedLocked reports whether a call must wait for calls of other clients.
func (ses *session) blockedLocked(c *call) bool {
	if ses.end != nil || ses.held == 0 && !c.mayAsk {
		return false
	}
	for other := range ses.calls.All() {
		if !other.foreign || ses.src.sameClient(c, other) {
			continue
		}
		if ses.held > 0 || other.running() {
			return true
		}
	}
	first := ses.resuming == 0 && (len(ses.queue) == 0 || ses.queue[0] == c || ses.src.sameClient(c, ses.queue[0]))
	return c.mayAsk && !first && !ses.turnOfLocked(c)
}

// running reports whether a call has the turn: it may ask at any moment.
func (c *call) running() bool { return c.mayAsk && c.open == 0 }

// awaitTurn waits until the answer to a question may be sent to the server: with it the
// asking call continues, and needs the turn that it gave up when it asked.
func (ses *session) awaitTurn(ctx context.Context, q *serverQuestion) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !q.counted {
		return
	}
	ses.resuming++
	for ses.end == nil && ses.calls.Get(q.call.id) == q.call && ses.othersRunLocked(q.call) && ctx.Err() == nil {
		moved := ses.movedLocked()
		ses.mu.Unlock()
		select {
		case <-moved:
		case <-ses.ended:
		case <-ctx.Done():
		}
		ses.mu.Lock()
	}
	ses.resuming--
}

// othersRunLocked reports whether another client has the turn.
func (ses *session) othersRunLocked(c *call) bool {
	for other := range ses.calls.All() {
		if other.foreign && other.running() && !ses.src.sameClient(c, other) {
			return true
		}
	}
	return false
}

// turnOfLocked reports whether the client of a call has the turn: it has a call in flight
// that may ask. Its calls may depend on each other.
func (ses *session) turnOfLocked(c *call) bool {
	for other := range ses.calls.All() {
		if other.foreign && other.running() && ses.src.sameClient(c, other) {
			return true
		}
	}
	return false
}

func (ses *session) queueLocked(c *call) error {
	if slices.Contains(ses.queue, c) {
		return nil
	}
	if limit := ses.src.opts.MaxInFlight; len(ses.queue) >= limit {
		return mcp.Errorf(mcp.CodeToolBusy, "%d requests wait for their turn at the server already", limit)
	}
	ses.queue = append(ses.queue, c)
	return nil
}

func (ses *session) leaveQueueLocked(c *call) {
	if i := slices.Index(ses.queue, c); i >= 0 {
		ses.queue = slices.Delete(ses.queue, i, i+1)
		ses.moveLocked()
	}
}

// movedLocked returns a channel that is closed when the set of calls in flight changes.
func (ses *session) movedLocked() <-chan struct{} {
	if ses.moved == nil {
		ses.moved = make(chan struct{})
	}
	return ses.moved
}

func (ses *session) moveLocked() {
	if ses.moved != nil {
		close(ses.moved)
		ses.moved = nil
	}
}

// leftLocked records that a call is no longer in flight.
func (ses *session) leftLocked(c *call) {
	if c.look != nil {
		c.look.Stop()
	}
	if c.mayAsk && !c.posed {
		ses.src.manners.learn(c, quiet)
	}
	ses.moveLocked()
}

// settleManner marks the tool of a first call as one that does not ask, if it has not
// asked by now.
func (ses *session) settleManner(c *call) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if c.posed || ses.calls.Get(c.id) != c {
		return
	}
	c.mayAsk = false
	ses.src.manners.learn(c, quiet)
	ses.moveLocked()
}

// ownerLocked returns the call that a question belongs to, if that is known.
func (ses *session) ownerLocked() (c *call, known bool) {
	c, several := ses.latestLocked(func(*call) bool { return true })
	if !several {
		return c, true
	}
	// A call that already waits for an answer does not ask anything else.
	c, several = ses.latestLocked((*call).running)
	return c, c != nil && !several
}

// posesLocked records that a question without a call id belongs to a call. A server that
// asks such questions over HTTP is as ambiguous as one on a stream.
func (ses *session) posesLocked(q *serverQuestion, c *call) {
	q.call, q.known, q.counted = c, true, true
	c.posed, c.mayAsk = true, true
	c.open++
	ses.oneStream = true
	ses.src.manners.learn(c, asking)
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
	ses.moveLocked()
}

// hold waits until the call that a question belongs to is known. If all calls in flight
// wait for held questions, one of the questions is refused.
func (ses *session) hold(ctx context.Context, q *serverQuestion) error {
	patience := time.NewTicker(longestHold)
	defer patience.Stop()
	ses.mu.Lock()
	defer ses.mu.Unlock()
	q.held = true
	ses.held++
	for {
		if c, known := ses.ownerLocked(); known {
			q.known, q.held = true, false
			ses.held--
			if c != nil {
				ses.posesLocked(q, c)
			}
			ses.moveLocked()
			return nil
		}
		if ses.stuckLocked() {
			return ses.refuseLocked()
		}
		moved := ses.movedLocked()
		ses.mu.Unlock()
		var err error
		select {
		case <-moved:
		case <-patience.C:
			err = errSeveral
		case <-ctx.Done():
			err = ctx.Err()
		}
		ses.mu.Lock()
		if err == errSeveral && !ses.askingLocked() {
			return ses.refuseLocked()
		}
		if err != nil && err != errSeveral {
			return err
		}
	}
}

// askingLocked reports whether a client is being asked: its call continues once it has
// answered.
func (ses *session) askingLocked() bool {
	for c := range ses.calls.All() {
		if c.open > 0 {
			return true
		}
	}
	return false
}

// stuckLocked reports whether every call in flight waits for a held question.
func (ses *session) stuckLocked() bool {
	calls := 0
	for c := range ses.calls.All() {
		if c.foreign {
			calls++
		}
	}
	return ses.held >= calls && !ses.askingLocked()
}

// refuseLocked gives up a question. Any of the tools may have asked it, so from now on
// they take turns.
func (ses *session) refuseLocked() error {
	for c := range ses.calls.All() {
		if c.foreign {
			c.posed = true
			ses.src.manners.learn(c, asking)
		}
	}
	return errSeveral
}
