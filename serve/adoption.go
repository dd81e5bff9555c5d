package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// placement is how a request is served by this replica.
type placement struct {
	w http.ResponseWriter
	r *http.Request
	// leave is called afterwards; nil for none.
	leave func()
}

// maxHops bounds how often a request is forwarded: to the replica that its session id names, to
// the one that continues the session, and a third time if the session moves at that moment.
const maxHops = 3

// serverAt returns the server of an endpoint, or nil.
func (h *Handler) serverAt(path string) *mcpserver.Server {
	if path == EndpointPath || path == EndpointPath+"/" {
		return h.server
	}
	if n := h.endpointAt(path); n != nil {
		return n.server
	}
	return nil
}

// recordsAt returns the records of the sessions of an endpoint.
func (h *Handler) recordsAt(path string) *sessionsAt {
	if n := h.endpointAt(path); n != nil {
		return n.records
	}
	return h.records
}

// placer decides which replica serves a request of a session.
type placer struct {
	*hop

	// at has the records of the endpoint, and id is that of the session.
	at       *sessionsAt
	id       string
	forwards hopped // how the request arrived
	// unreachable are the replicas that have just refused the request.
	unreachable map[string]bool
	engine      engineWait
}

// placeSession forwards a request of a session to the replica that owns it, makes this one
// the owner, or decides that it is served here as it is.
func (h *Handler) placeSession(
	w http.ResponseWriter,
	r *http.Request,
	id string,
) (placement, bool) {
	here := placement{
		w: w,
		r: r,
	}
	owner, sealed := h.server.SessionReplica(id)
	if !sealed || h.serverAt(r.URL.Path) == nil {
		return here, false // answered as an unknown session
	}
	p := &placer{
		hop: h.hop,
		at:  h.recordsAt(r.URL.Path),
		id:  id,
	}
	if f := hoppedFrom(r.Context()); f != nil {
		p.forwards = *f
	}
	for range maxHops {
		if p.at.server.HasSession(id) {
			if placed, done, ok := p.local(w, r); ok {
				return placed, done
			}
			continue // it has just moved
		}
		known, how := p.sessions.movedTo(id)
		if known == "" {
			known = owner
		}
		// If two replicas took others for the owner, what this one knows may be outdated as well: two that take each
		// other for it would pass the request on until it must not be forwarded any more.
		trusted := p.forwards.hops == 0 || p.forwards.hops == 1 && !p.homes.active()
		if trusted && p.forwards.released == (released{}) {
			p.forwards.released = how // otherwise the other replica would send the request back until it has the session
			if p.send(w, r, known) {
				return here, true
			}
			p.forwards.released = released{}
		}
		placed, done, ok := p.byRecord(w, r)
		if ok {
			return placed, done
		}
	}
	p.busy(w, r, "the session is moving between replicas, try again")
	return here, true
}

// local serves a request of a session that this replica has. ok is false if it has just given the
// session up.
func (p *placer) local(w http.ResponseWriter, r *http.Request) (placed placement, done, ok bool) {
	placed = placement{
		w: w,
		r: r,
	}
	s := p.sessions.find(p.id)
	retiring := p.retiring.Load()
	switch {
	case s == nil && retiring && p.forwards.hops > 0:
		p.refuseStopped(w, r) // nothing else would be forwarded here any more
		return placed, true, true
	}
	home, done, ok := p.atHome(w, r, s)
	switch {
	case !ok || done:
		return placed, done, ok
	case s == nil && home != nil:
		placed.w = &fencedWriter{
			ResponseWriter: w,
			fence:          home,
			request:        r,
		}
		placed.leave = func() { p.homes.leave(home) }
		if r.Method == http.MethodGet {
			placed.leave()
			placed.leave = nil
		}
		return placed, false, true
	case s == nil:
		return placed, false, true
	}
	if home == nil &&
		retiring &&
		len(p.unreachable) == 0 &&
		p.forwards.hops < maxHops {
		next := p.successor(p.id, nil)
		if next != nil && p.sessions.release(r.Context(), s, next.ID) {
			p.forwards.released = released{p.replica.ID(), s.releasedAt()}
			if p.forwardTo(w, r, next) {
				return placed, true, true
			}
			p.forwards.released = released{} // the session is nowhere, so it is continued here
			return placed, false, false
		}
	}
	if !p.sessions.enter(s) {
		p.homes.leave(home)
		p.sessions.awaitLeft(r.Context(), s)
		return placed, false, false
	}
	switch err := p.verify(r.Context(), s); {
	case errors.Is(err, cluster.ErrLost):
		p.leaveBoth(s, home)
		return placed, false, false
	case err != nil:
		p.leaveBoth(s, home)
		p.busy(w, r, "this replica cannot confirm that it owns the session, because the cluster engine "+
			"does not answer, try again")
		return placed, true, true
	}
	fenced := &fencedWriter{
		ResponseWriter: w,
		fence:          s,
		request:        r,
	}
	if home != nil {
		fenced.fence = fences{s, home}
	}
	placed.w = fenced
	if r.Method == http.MethodGet { // streams do not keep a session here
		p.leaveBoth(s, home)
		return placed, false, true
	}
	placed.leave = func() { p.leaveBoth(s, home) }
	return placed, false, true
}

// verify returns nil if this replica owns a session, see [ownedSessions.verify].
func (p *placer) verify(ctx context.Context, s *ownedSession) error {
	if p.sessions.holds(s) {
		return nil
	}
	asks, done := p.engine.ask(ctx, 2*recordTimeout)
	defer done()
	return p.sessions.verify(asks, s)
}

// send forwards a request to the replica with that id, if it is another one that is alive.
func (p *placer) send(w http.ResponseWriter, r *http.Request, id string) (done bool) {
	if id == "" ||
		id == p.replica.ID() ||
		p.unreachable[id] ||
		p.forwards.hops >= maxHops {
		return false
	}
	peer := p.holder(r.Context(), id, &p.engine)
	if peer == nil {
		return false
	}
	return p.forwardTo(w, r, peer)
}

// forwardTo forwards a request, and returns false if the replica cannot be reached. Once this replica has nothing any
// more, one that did not answer is asked again: it may be the only other one, and be back since.
func (p *placer) forwardTo(w http.ResponseWriter, r *http.Request, peer *cluster.Peer) bool {
	if p.probes.suspended(peer) && (p.homes.departure() == nil || !p.probes.answers(peer)) {
		p.outcomes[hopWaiting].Add(1)
	} else {
		as := &hopped{
			hops:      p.forwards.hops + 1,
			released:  p.forwards.released,
			departed:  p.forwards.departed,
			elsewhere: true,
		}
		if p.forwards.hops > 0 {
			w.Header().Set(hopMoved, peer.ID)
		}
		if p.forward(w, r, peer, as) {
			return true
		}
		w.Header().Del(hopMoved)
	}
	if p.unreachable == nil {
		p.unreachable = make(map[string]bool)
	}
	p.unreachable[peer.ID] = true
	return false
}

// byRecord finds the owner of a session by its record in the engine, or makes this replica the
// owner. ok is false if the session has moved meanwhile.
func (p *placer) byRecord(w http.ResponseWriter, r *http.Request) (placed placement, done, ok bool) {
	placed = placement{
		w: w,
		r: r,
	}
	err := cluster.ErrNotFound
	key := p.at.keyOf(p.id)
	var claim cluster.Claim
	if p.sessions.usable.Load() && !p.sessions.isAbsent(key) {
		asks, done := p.engine.ask(r.Context(), recordTimeout)
		claim, err = p.sessions.read(asks, key)
		done()
	}
	switch {
	case errors.Is(err, cluster.ErrNotFound):
		if p.sessions.usable.Load() {
			p.sessions.noteAbsent(p.id, key)
		}
		if len(p.unreachable) > 0 {
			p.refuseStopped(w, r)
			return placed, true, true
		}
		return placed, false, true // answered as an unknown session
	case err != nil:
		if known, _ := p.sessions.movedTo(p.id); p.send(w, r, known) {
			return placed, true, true
		}
		p.busy(w, r, "the session cannot be found, because the cluster engine does not answer, try again")
		return placed, true, true
	}
	if !p.forwards.released.is(&claim) && p.send(w, r, claim.Owner) {
		p.sessions.noteMoved(p.id, claim.Owner)
		return placed, true, true
	}
	if next := p.successor(p.id, p.unreachable); next != nil && p.retiring.Load() && !p.homes.active() {
		before := p.forwards.released
		if claim.Owner == p.replica.ID() { // released before, and not continued by the replica that was asked to
			p.forwards.released = released{claim.Owner, claim.Revision}
		}
		if p.send(w, r, next.ID) {
			return placed, true, true
		}
		p.forwards.released = before
	}
	if !p.at.server.Restorable(r.Context()) {
		p.refuseStopped(w, r)
		return placed, true, true
	}
	home, done := p.adoptionHome(w, r, &claim)
	if done {
		return placed, true, true
	}
	asks, answered := p.engine.ask(r.Context(), 2*recordTimeout)
	err = p.adopt(asks, &claim)
	answered()
	p.homes.leave(home)
	switch {
	case err == nil, errors.Is(err, cluster.ErrConflict):
		return placed, false, false // it is here, or at another replica
	case errors.Is(err, cluster.ErrOwned):
		return p.asGuest(w, r, &claim)
	case errors.Is(err, errUnreadable):
		p.log.Warn("session not continued, its client has to start over", "error", err)
		p.refuseStopped(w, r)
		return placed, true, true
	case errors.Is(err, errNotRestored):
		p.log.Warn("session not continued at present", "error", err)
		p.busy(w, r, "the session cannot be continued at present, try again")
		return placed, true, true
	}
	p.busy(w, r, "the session cannot be continued, because the cluster engine does not answer, try again")
	return placed, true, true
}

// asGuest serves a call of a session whose owner cannot be reached but may be alive: the calls of
// a stateless source do not need it. Everything else waits until the owner is back, or has lost its
// lease; so does each call of a source that keeps something for the session.
func (p *placer) asGuest(
	w http.ResponseWriter, r *http.Request, claim *cluster.Claim,
) (placed placement, done, ok bool) {
	placed = placement{
		w: w,
		r: r,
	}
	ctx, err := p.at.server.GuestContext(r.Context(), p.id, claim.Value)
	if err != nil || r.Method != http.MethodPost || !p.at.server.Stateless(r.Context()) {
		p.busy(w, r, "the replica of this session does not answer, and no other may take its place yet, try again")
		return placed, true, true
	}
	placed.r = r.WithContext(ctx)
	return placed, false, true
}

var (
	// errUnreadable means that this replica cannot read the record of a session.
	errUnreadable = errors.New("record not readable")
	// errNotRestored means that a session has been adopted, but cannot be continued here now, because the
	// limits do not allow it. The next request tries it again.
	errNotRestored = errors.New("session not restored")
)

// adopt makes this replica the owner of a session. Concurrent requests wait for the first, at most until ctx ends.
func (p *placer) adopt(ctx context.Context, claim *cluster.Claim) error {
	a := p.sessions
	a.mu.Lock()
	if begun := a.adopting[p.id]; begun != nil {
		a.mu.Unlock()
		select {
		case <-begun:
			return cluster.ErrConflict // read the record again
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ended := make(chan struct{})
	a.adopting[p.id] = ended
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.adopting, p.id)
		close(ended)
	}()
	if p.at.server.HasSession(p.id) {
		return nil // adopted since the record was read
	}
	if _, err := p.at.server.GuestContext(ctx, p.id, claim.Value); err != nil {
		return errors.Join(errUnreadable, err) // another replica may have the key
	}
	key := p.at.keyOf(p.id)
	term := p.replica.Term()
	how := adoptedLost
	releasedBy := ""
	if p.forwards.released.is(claim) {
		how = adoptedHandover
		releasedBy = claim.Owner
	}
	revision, err := p.replica.Adopt(ctx, key, claim, releasedBy, p.at.ttl())
	if err != nil {
		return err
	}
	s := p.at.newSession(p.id)
	s.adopted(revision, term)
	a.add(s)
	if err := p.at.server.RestoreSession(p.id, claim.Value); err != nil {
		a.remove(s, "", 0)
		return errors.Join(errNotRestored, err)
	}
	a.adopted[how].Add(1)
	a.markDirty(s) // with how often it has moved
	return nil
}

// busy asks the client to repeat a request.
func (p *placer) busy(w http.ResponseWriter, r *http.Request, message string) {
	w.Header().Set("Retry-After", "1")
	closeUnread(w, r)
	writeError(w, r, http.StatusServiceUnavailable, mcp.CodeToolBusy, message)
}

// leasePath is where another replica asks whether this one reaches the engine either.
const leasePath = "/.slipway/lease"

// serveLease grants another replica its lease, or refuses.
func (p *hop) serveLease(w http.ResponseWriter) {
	if p.replica.Grant() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.WriteHeader(http.StatusConflict)
}

// keepLease extends the lease while the engine fails, as long as no other replica reaches it
// either: then none can adopt the sessions of this one.
func (p *hop) keepLease(ctx context.Context) {
	tick := time.NewTicker(p.replica.Lease() / 16)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !p.replica.Expiring() || p.replica.Term() == 0 {
			continue
		}
		asked := p.replica.Now()
		if p.allGrant(ctx) {
			p.replica.Extend(asked)
		}
	}
}

// allGrant reports whether all other replicas grant the lease.
func (p *hop) allGrant(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, p.replica.Lease()/8)
	defer cancel()
	var refused atomic.Bool
	var asking sync.WaitGroup
	for _, peer := range p.replica.Peers() {
		asking.Go(func() {
			resp, err := askReplica(ctx, peer, leasePath)
			if err != nil {
				refused.Store(true)
				return
			}
			_ = resp.Body.Close()
		})
	}
	asking.Wait()
	return !refused.Load()
}
