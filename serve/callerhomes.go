package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
)

// CallerProcesses are the processes that a Source runs for one caller each, see [Live.Callers]. A caller is the name
// of a principal; "" is that of all requests without one. Methods are safe for concurrent use.
type CallerProcesses interface {
	// PerPrincipal reports whether the Source has a process for each caller.
	PerPrincipal() bool
	// RunsFor reports whether a process of a caller runs.
	RunsFor(caller string) bool
	// StopFor stops the processes of a caller, and waits until they have stopped or ctx ends.
	StopFor(ctx context.Context, caller string)
	// Guard makes the Source call guard before a request uses or starts a process of its caller. An error refuses
	// the request; otherwise leave is called after it.
	Guard(guard func(ctx context.Context, caller string) (leave func(), err error))
}

// callerHomes makes one replica the home of a caller: it alone runs processes for the caller, so there is one of each
// server in the whole cluster. Requests of the caller are forwarded to it. The home has a record in the engine, and
// the same leases and fencing as sessions, see ownedSessions.
//
// A home outlives the sessions of its caller: it is used with each request, and its record expires after theirs.
type callerHomes struct {
	*hop

	processes CallerProcesses // nil if the Source has none

	mu   sync.Mutex
	here map[string]*callerHome // by caller
	// elsewhere maps callers to the ids of their homes. It is a cache.
	elsewhere map[string]string
	// claiming are the callers of which this replica is about to become the home. The channels are closed at the
	// end.
	claiming map[string]chan struct{}
	// dirty are the homes whose records have to be written.
	dirty map[*callerHome]struct{}
	// staysUntil is until when no home is handed over, because the last request for which one was handed over did not
	// reach the other replica.
	staysUntil time.Time
	// departing is not nil once this replica is about to declare that it owns nothing, and closed afterwards.
	departing chan struct{}

	choosing sync.Mutex            // guards chosen
	chosen   map[string]chosenHome // by caller

	// fenced counts the homes that were given up because another replica runs the processes.
	fenced atomic.Int64
}

// callerHome is the home of one caller at this replica.
type callerHome struct {
	ownedClaim

	caller string
	of     *callerHomes

	// The mutex of callerHomes guards the following fields.
	active int       // requests being served
	used   time.Time // when the last one began or ended
	// leaving is not nil once this replica gives the home up, and closed when it has.
	leaving chan struct{}
	// held is not nil while requests wait for those that are being served, see awaitIdle, and closed afterwards.
	held      chan struct{}
	heldUntil time.Time // when they last waited
}

// How long requests of a caller are held back at most while a replica is about to stop, and how soon again.
const (
	holdTime = time.Second
	holdEach = 2 * time.Second
)

var (
	errCallerAway = errors.New("the process of this caller runs at another replica: connect again")
	errCallerBusy = errors.New("the process of this caller is moving between replicas, try again")
	errDeparted   = errors.New("this replica is stopping, try again")
)

// newCallerHomes returns the homes of the replica of p.
func newCallerHomes(p *hop, processes CallerProcesses) *callerHomes {
	c := &callerHomes{
		hop:       p,
		processes: processes,
		here:      make(map[string]*callerHome),
		elsewhere: make(map[string]string),
		claiming:  make(map[string]chan struct{}),
		dirty:     make(map[*callerHome]struct{}),
		chosen:    make(map[string]chosenHome),
	}
	if processes != nil {
		processes.Guard(c.permit)
	}
	return c
}

// active reports whether callers have processes. c may be nil.
func (c *callerHomes) active() bool {
	return c != nil && c.processes != nil && c.processes.PerPrincipal()
}

// homeKey returns the key of the record of a caller. Those of sessions begin with the path of an endpoint.
func homeKey(caller string) string {
	sum := sha256.Sum256([]byte("caller\n" + caller))
	return sessionGroup + "/" + hex.EncodeToString(sum[:16])
}

// ttl is how long a record outlives its last write, as that of a session.
func (c *callerHomes) ttl() time.Duration { return c.handler.server.SessionTTL() * 3 / 2 }

// homeQuery is how a home is looked for.
type homeQuery struct {
	// place makes the least loaded replica the home of a caller that has none, rather than this one.
	place bool
	// move hands the home over if this replica is about to stop.
	move bool
	// fresh asks the engine although a home is known: another replica took this one for the home, so what one of
	// them knows is outdated.
	fresh bool
	// unreachable are replicas that have just refused the request: one that has left may still look alive here.
	unreachable map[string]bool
	// engine is how long the request has waited for the engine.
	engine *engineWait
}

// find returns the home of a caller, entered, if it is this replica; the caller of find calls leave. Otherwise it
// returns the replica to which the request belongs.
func (c *callerHomes) find(
	ctx context.Context,
	caller string,
	q homeQuery,
) (*callerHome, *cluster.Peer, error) {
	for range 2 * maxHops {
		if departing := c.departure(); departing != nil {
			return c.afterDeparture(ctx, caller, q, departing)
		}
		if q.move && c.retiring.Load() {
			c.handOver(ctx, caller)
		}
		h, left := c.enter(caller)
		if left != nil {
			select {
			case <-left:
				continue
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		if h != nil {
			if h.heldBy(c.replica) {
				return h, nil, nil
			}
			asks, done := q.engine.ask(ctx, 2*recordTimeout)
			err := c.verify(asks, h)
			done()
			if err == nil {
				return h, nil, nil
			}
			c.leave(h)
			if errors.Is(err, cluster.ErrLost) {
				continue
			}
			return nil, nil, err
		}
		if !q.fresh {
			if peer := c.holder(ctx, c.foundAt(caller), q); peer != nil {
				return nil, peer, nil
			}
		}
		h, peer, err := c.byRecord(ctx, caller, q)
		if errors.Is(err, cluster.ErrLost) || errors.Is(err, cluster.ErrConflict) {
			continue // another replica was faster
		}
		return h, peer, err
	}
	return nil, nil, errCallerBusy
}

// departure returns departing, for callers without the lock.
func (c *callerHomes) departure() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.departing
}

// afterDeparture returns another replica, which becomes the home once this one has departed. One that did not answer
// is better than none: forwardTo asks it again.
func (c *callerHomes) afterDeparture(
	ctx context.Context, caller string, q homeQuery, departing chan struct{},
) (*callerHome, *cluster.Peer, error) {
	select {
	case <-departing:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	peer := c.successor(caller, q.unreachable)
	if peer == nil {
		peer = c.replica.Successor(caller, func(p *cluster.Peer) bool { return !q.unreachable[p.ID] })
	}
	if peer == nil {
		return nil, nil, errDeparted
	}
	return nil, peer, nil
}

// holder returns the replica with an id, or nil if it cannot be reached or is this one.
func (c *callerHomes) holder(ctx context.Context, id string, q homeQuery) *cluster.Peer {
	if id == "" || id == c.replica.ID() || q.unreachable[id] {
		return nil
	}
	return c.hop.holder(ctx, id, q.engine)
}

// byRecord finds the home of a caller by its record in the engine, or makes this replica the home.
func (c *callerHomes) byRecord(
	ctx context.Context,
	caller string,
	q homeQuery,
) (*callerHome, *cluster.Peer, error) {
	if !c.sessions.usable.Load() {
		return nil, nil, errNoRecords
	}
	asks, done := q.engine.ask(ctx, recordTimeout)
	claim, err := c.sessions.read(asks, homeKey(caller))
	done()
	known := err == nil
	switch {
	case known:
		if peer := c.holder(ctx, claim.Owner, q); peer != nil {
			c.noteElsewhere(caller, claim.Owner)
			return nil, peer, nil
		}
	case !errors.Is(err, cluster.ErrNotFound):
		return nil, nil, err
	}
	if q.place && !(known && claim.Owner == c.replica.ID()) {
		if peer := c.choose(caller, q.unreachable); peer != nil {
			return nil, peer, nil
		}
	}
	old := &claim
	if !known {
		old = nil
	}
	asks, done = q.engine.ask(ctx, 2*recordTimeout)
	defer done()
	h, err := c.claim(asks, caller, old)
	return h, nil, err
}

// claim makes this replica the home of a caller, and enters it. old is the record of the previous home, or nil. Of
// concurrent requests, one claims the home, until its deadline even if it is cancelled; the others get
// [cluster.ErrConflict] afterwards.
func (c *callerHomes) claim(
	ctx context.Context,
	caller string,
	old *cluster.Claim,
) (*callerHome, error) {
	c.mu.Lock()
	if begun := c.claiming[caller]; begun != nil || c.departing != nil || c.here[caller] != nil {
		c.mu.Unlock()
		if begun == nil {
			return nil, cluster.ErrConflict // it was claimed after the record was read, or this replica departs
		}
		select {
		case <-begun:
			return nil, cluster.ErrConflict
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	ended := make(chan struct{})
	c.claiming[caller] = ended
	c.mu.Unlock()
	h := &callerHome{
		caller: caller,
		of:     c,
	}
	acquires, cancel := untilDeadline(ctx) // other requests wait for it
	err := c.acquire(acquires, h, old)
	cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claiming, caller)
	close(ended)
	switch {
	case err != nil:
		return nil, err
	case c.departing != nil:
		return nil, cluster.ErrConflict
	}
	c.here[caller] = h
	delete(c.elsewhere, caller)
	c.enterLocked(h)
	return h, nil
}

// untilDeadline returns a context that ends with the deadline of ctx, but is not cancelled with it.
func untilDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	alone := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(alone, deadline)
	}
	return context.WithCancel(alone)
}

// acquire writes the record of a new home.
func (c *callerHomes) acquire(ctx context.Context, h *callerHome, old *cluster.Claim) error {
	waiting, cancel := context.WithTimeout(ctx, c.replica.Lease()/8)
	term := c.replica.AwaitTerm(waiting)
	cancel()
	if term == 0 {
		return errNoLease
	}
	if old != nil {
		revision, err := c.replica.Adopt(ctx, homeKey(h.caller), old, "", c.ttl())
		if err == nil {
			h.adopted(revision, term)
		}
		return err
	}
	if !c.replica.Certain() {
		return cluster.ErrOwned // the engine may have lost the record
	}
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	return h.write(ctx, c.replica, homeKey(h.caller), nil, c.ttl())
}

// enter returns the home of a caller if it is here, and counts a request. If the home is being given up, left is
// closed afterwards.
func (c *callerHomes) enter(caller string) (h *callerHome, left <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h = c.here[caller]
	switch {
	case h == nil:
		return nil, nil
	case h.leaving != nil:
		return nil, h.leaving
	case c.departing != nil:
		return nil, nil
	}
	c.enterLocked(h)
	return h, nil
}

// enterDeparting is enter for a process of a request that is served, while the departure of this replica waits for the
// end of the request. It returns nil otherwise.
func (c *callerHomes) enterDeparting(caller string) *callerHome {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.here[caller]
	if c.departing == nil || h == nil || h.leaving != nil || h.active == 0 {
		return nil
	}
	c.enterLocked(h)
	return h
}

// enterLocked counts a request at a home and notes the time of its use. leave ends the request.
func (c *callerHomes) enterLocked(h *callerHome) {
	h.active++
	h.used = time.Now()
}

// leave ends a request that find has entered. h may be nil.
func (c *callerHomes) leave(h *callerHome) {
	if h == nil {
		return
	}
	c.mu.Lock()
	h.active--
	h.used = time.Now()
	if h.active == 0 {
		h.letInLocked()
	}
	now, claiming := c.here[h.caller], c.claiming[h.caller] != nil
	late := h.active == 0 && h.leaving != nil && (now == nil || now == h) && !claiming
	c.mu.Unlock()
	if late { // a request that was permitted before the home was given up may have started a process afterwards
		ctx, cancel := context.WithTimeout(context.Background(), exitTimeout)
		defer cancel()
		c.processes.StopFor(ctx, h.caller)
	}
}

// verify returns nil if this replica is the home of a caller. After it has lost its lease, it asks the engine, once
// for each caller.
func (c *callerHomes) verify(ctx context.Context, h *callerHome) error {
	if h.heldBy(c.replica) {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, c.replica.Lease()/8)
	defer cancel()
	if c.replica.AwaitTerm(waiting) == 0 {
		return errNoLease
	}
	if h.heldBy(c.replica) {
		return nil // another request has verified it
	}
	return c.write(ctx, h)
}

// confirm implements fence.
func (h *callerHome) confirm(ctx context.Context) error { return h.of.verify(ctx, h) }

// write writes the record of a home. The error is [cluster.ErrLost] if another replica is the home now; the processes
// of the caller are then stopped here.
func (c *callerHomes) write(ctx context.Context, h *callerHome) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	if h.lost.Load() || h.over {
		return cluster.ErrLost
	}
	err := h.ownedClaim.write(ctx, c.replica, homeKey(h.caller), nil, c.ttl())
	if errors.Is(err, cluster.ErrLost) {
		c.fenced.Add(1)
		c.log.Warn("processes of a caller stopped: another replica runs them")
		if left := c.startLeaving(h, true); left != nil {
			c.giveUp(context.WithoutCancel(ctx), h, left)
		}
	}
	return err
}

// startLeaving makes enter wait until the home has been given up. The result is nil if it is being given up already,
// or used, unless lost is set.
func (c *callerHomes) startLeaving(h *callerHome, lost bool) (left chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.leaving != nil || h.active > 0 && !lost {
		return nil
	}
	h.leaving = make(chan struct{})
	return h.leaving
}

// giveUp stops the processes of a caller, and forgets its home.
func (c *callerHomes) giveUp(ctx context.Context, h *callerHome, left chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	c.processes.StopFor(ctx, h.caller)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dirty, h)
	if c.here[h.caller] == h {
		delete(c.here, h.caller)
	}
	close(left)
}

// handOver gives up the home of a caller for whom nothing is served, so that another replica becomes the home: the
// processes stop before the record is deleted. If no other replica answers, the home stays here until this one departs.
func (c *callerHomes) handOver(ctx context.Context, caller string) {
	c.mu.Lock()
	h, stays := c.here[caller], time.Now().Before(c.staysUntil)
	c.mu.Unlock()
	if h == nil || stays || c.successor(caller, nil) == nil || !c.replica.Certain() {
		return // without certainty, no replica could become the home now
	}
	c.awaitIdle(ctx, h, holdEach)
	c.release(ctx, h)
}

// awaitIdle waits until the requests of a caller that are being served have ended, with all that arrive meanwhile: a
// caller that is never idle would keep the home until this replica cancels what it serves. It gives up after holdTime,
// and does not wait if it has waited within pause.
func (c *callerHomes) awaitIdle(ctx context.Context, h *callerHome, pause time.Duration) {
	c.mu.Lock()
	if h.leaving != nil ||
		h.active == 0 ||
		h.held == nil && time.Since(h.heldUntil) < pause {
		c.mu.Unlock()
		return
	}
	if h.held == nil {
		h.held = make(chan struct{})
	}
	held := h.held
	c.mu.Unlock()
	timer := time.NewTimer(holdTime)
	defer timer.Stop()
	select {
	case <-held:
	case <-ctx.Done():
	case <-timer.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		if h.held == held {
			h.letInLocked()
		}
	}
}

// letInLocked ends the wait of awaitIdle.
func (h *callerHome) letInLocked() {
	if h.held != nil {
		close(h.held)
		h.held = nil
		h.heldUntil = time.Now()
	}
}

// release gives up a home that is not used, and deletes its record.
func (c *callerHomes) release(ctx context.Context, h *callerHome) {
	left := c.startLeaving(h, false)
	if left == nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // it has begun; what follows is bounded
	_ = h.lock(ctx)
	h.over = true
	h.unlock()
	stops, cancel := context.WithTimeout(ctx, exitTimeout)
	c.processes.StopFor(stops, h.caller)
	cancel()
	deletes, cancel := context.WithTimeout(ctx, recordTimeout)
	_ = c.replica.DeleteClaim(deletes, homeKey(h.caller)) // otherwise it is adopted once this replica has left
	cancel()
	c.giveUp(ctx, h, left)
}

// foundAt returns the replica that was last found to be the home of a caller, or "".
func (c *callerHomes) foundAt(caller string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elsewhere[caller]
}

// noteElsewhere remembers that another replica is the home of a caller. A full cache is cleared:
// the records in the engine are authoritative.
func (c *callerHomes) noteElsewhere(caller, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.elsewhere) >= maxMoved {
		clear(c.elsewhere)
	}
	c.elsewhere[caller] = id
}

// notMoved records that a request did not reach the home of its caller at a replica. The next find asks the engine,
// and homes stay here for a while, even if this replica is about to stop: otherwise each request would stop their
// processes.
func (c *callerHomes) notMoved(caller, id string) {
	c.forgetChoice(caller, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.elsewhere, caller)
	if c.retiring.Load() {
		c.staysUntil = time.Now().Add(holdEach)
	}
}

// permit is called before a process of a caller is used, by whatever surface the request arrived. It fails unless
// this replica is the home of the caller.
func (c *callerHomes) permit(ctx context.Context, caller string) (leave func(), err error) {
	var peer *cluster.Peer
	h := c.enterDeparting(caller)
	if h == nil {
		h, peer, err = c.find(ctx, caller, homeQuery{fresh: true})
	} else if err = c.verify(ctx, h); err != nil {
		c.leave(h)
	}
	switch {
	case peer != nil:
		err = errCallerAway
	case err == nil:
		return func() { c.leave(h) }, nil
	}
	c.log.Debug("process of a caller refused", "error", err)
	if !errors.Is(err, errCallerAway) && !errors.Is(err, errDeparted) {
		err = errCallerBusy
	}
	return nil, mcp.Errorf(mcp.CodeToolBusy, "%v", err)
}

// all returns the homes at this replica.
func (c *callerHomes) all() []*callerHome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.here))
}

// run writes and renews the records of homes until ctx ends. When the lease was lost, or the engine may have lost
// records, all are written again: the processes of callers that have another home now are stopped without a request.
func (c *callerHomes) run(ctx context.Context) {
	var renewing sync.WaitGroup
	defer renewing.Wait()
	renewing.Go(func() { c.runRenewals(ctx) })
	lease := time.NewTicker(c.replica.Lease() / 8)
	defer lease.Stop()
	term := c.replica.Term()
	certain := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-lease.C:
		}
		nowTerm := c.replica.Term()
		nowCertain := c.replica.Certain()
		if nowTerm != term || certain && !nowCertain {
			c.markDirty(c.all()...)
		}
		term = nowTerm
		certain = nowCertain
		c.flush(ctx)
	}
}

// runRenewals calls renew until ctx ends. It is not a part of run, because giving up many homes takes long if the
// engine does not answer.
func (c *callerHomes) runRenewals(ctx context.Context) {
	renewal := time.NewTicker(c.sessions.every)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
			c.renew(ctx)
		}
	}
}

// markDirty has flush write the records of homes again. Homes that are leaving write their own last
// record.
func (c *callerHomes) markDirty(all ...*callerHome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range all {
		if h.leaving == nil {
			c.dirty[h] = struct{}{}
		}
	}
}

// renew writes the records that would expire too early, and gives up the homes of callers who have had no session
// or process for long.
func (c *callerHomes) renew(ctx context.Context) {
	for _, h := range c.all() {
		c.mu.Lock()
		used, active := h.used, h.active > 0
		c.mu.Unlock()
		active = active || c.processes.RunsFor(h.caller)
		if !active && time.Since(used) > c.ttl()*2/3 {
			c.release(ctx, h)
			continue
		}
		if h.lock(ctx) != nil {
			return
		}
		due := (active || h.usedSinceWritten(used)) && h.sinceWritten() > c.ttl()/5
		h.unlock()
		if due {
			c.markDirty(h)
		}
	}
}

// flush writes what is dirty. What could not be written stays dirty.
func (c *callerHomes) flush(ctx context.Context) {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = make(map[*callerHome]struct{})
	c.mu.Unlock()
	var failures atomic.Int64
	var writers sync.WaitGroup
	turns := make(chan struct{}, recordWriters)
	for h := range dirty {
		turns <- struct{}{}
		writers.Go(func() {
			defer func() { <-turns }()
			if failures.Load() < recordWriters { // otherwise the engine does not answer
				err := c.write(ctx, h)
				if err == nil || errors.Is(err, cluster.ErrLost) {
					return
				}
				failures.Add(1)
			}
			c.markDirty(h)
		})
	}
	writers.Wait()
}

// depart stops all processes of callers, once what they serve has ended, or after holdTime: a request that is about to
// start one would do so afterwards. Others become their homes once done is called.
func (c *callerHomes) depart(ctx context.Context) (done func()) {
	c.mu.Lock()
	departing := make(chan struct{})
	c.departing = departing
	c.mu.Unlock()
	var stopping sync.WaitGroup
	for _, h := range c.all() {
		stopping.Go(func() {
			c.awaitIdle(ctx, h, 0)
			if left := c.startLeaving(h, true); left != nil {
				c.giveUp(ctx, h, left)
				return
			}
			c.mu.Lock()
			left := h.leaving
			c.mu.Unlock()
			select { // it is being given up already
			case <-left:
			case <-ctx.Done():
			}
		})
	}
	stopping.Wait()
	return func() { close(departing) }
}

// metrics writes the homes.
func (c *callerHomes) metrics(t *exposition) {
	if !c.active() {
		return
	}
	t.gauge("slipway_cluster_callers", "Callers whose processes run at this replica alone.", float64(len(c.all())))
	t.family("slipway_cluster_callers_fenced_total", "counter",
		"Callers whose processes this replica stopped because another one runs them.")
	t.sample("slipway_cluster_callers_fenced_total", float64(c.fenced.Load()))
}
