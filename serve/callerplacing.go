package serve

import (
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/ws"
)

// placeCaller forwards a request without a session to the home of its caller, or decides that it is served here.
func (h *Handler) placeCaller(w http.ResponseWriter, r *http.Request) (placed placement, done bool) {
	placed = placement{
		w: w,
		r: r,
	}
	upgrade := ws.IsUpgrade(r)
	if !upgrade && r.Method != http.MethodPost || !h.usesProcess(r, upgrade) {
		return placed, false
	}
	caller, ok := h.admissionAt(r.URL.Path).holder(r, upgrade)
	if !ok {
		return placed, false // refused where it is served
	}
	p := &placer{hop: h.hop}
	if f := hoppedFrom(r.Context()); f != nil {
		p.forwards = *f
	}
	home, done := p.homeOf(w, r, caller, nil)
	if done {
		return placed, true
	}
	return h.serveAtHome(placed, home, upgrade), false
}

// homeOf enters the home of a caller if it is this replica, or forwards the request there, or answers that neither is
// possible; then done is true. before is called before the request is forwarded, if it is not nil.
func (p *placer) homeOf(
	w http.ResponseWriter, r *http.Request, caller string, before func(),
) (home *callerHome, done bool) {
	for range maxHops {
		gone := p.notHomes()
		home, peer, err := p.homes.find(r.Context(), caller, homeQuery{
			place: p.forwards.hops == 0 || p.retiring.Load(),
			move:  true,
			fresh: p.forwards.hops > 0,

			unreachable: gone,
			engine:      &p.engine,
		})
		switch {
		case err != nil:
			p.callerBusy(w, r, err)
			return nil, true
		case peer == nil:
			return home, false
		case p.forwards.hops >= maxHops || gone[peer.ID]:
			p.callerBusy(w, r, cluster.ErrOwned)
			return nil, true
		}
		if before != nil {
			before()
		}
		if p.homes.departure() != nil {
			p.forwards.departed = p.replica.ID() // the other replica may still take this one for the home
			if p.forwards.released == (released{}) {
				p.forwards.released.by = p.replica.ID() // what replicas know that have no hopDeparted yet
			}
		}
		if p.forwardTo(w, r, peer) {
			return nil, true
		}
		p.handler.placing.forget(peer.ID)
		p.homes.notMoved(caller, peer.ID)
	}
	p.callerBusy(w, r, errCallerBusy)
	return nil, true
}

// notHomes returns the replicas that are not the home of a caller, even if a record still names them: those that have
// just refused the request, and one that has passed it on after its departure.
func (p *placer) notHomes() map[string]bool {
	departed := p.forwards.departed
	if departed == "" || p.unreachable[departed] {
		return p.unreachable
	}
	all := map[string]bool{departed: true}
	maps.Copy(all, p.unreachable)
	return all
}

// serveAtHome returns how a request without a session is served at the home of its caller. Streams and WebSockets do
// not keep the home here.
func (h *Handler) serveAtHome(placed placement, home *callerHome, upgrade bool) placement {
	homes := h.hop.homes
	if upgrade {
		homes.leave(home)
		return placed
	}
	placed.w = &fencedWriter{
		ResponseWriter: placed.w,
		fence:          home,
		request:        placed.r,
	}
	if isListen(placed.r) {
		homes.leave(home)
		return placed
	}
	placed.leave = func() { homes.leave(home) }
	return placed
}

// isListen reports whether a request opens a stream of notifications in 2026-07-28.
func isListen(r *http.Request) bool { return r.Header.Get("Mcp-Method") == "subscriptions/listen" }

// usesProcess reports whether a request without a session may need a process of its caller. Lists come from the
// process that all callers share, and tasks have their own way.
func (h *Handler) usesProcess(r *http.Request, upgrade bool) bool {
	if h.serverAt(r.URL.Path) == nil && !(upgrade && r.URL.Path == WebSocketPath) {
		return false
	}
	method := r.Header.Get("Mcp-Method")
	return r.Header.Get("Mcp-Protocol-Version") < mcp.Version20260728.String() ||
		!strings.HasSuffix(method, "/list") && !strings.HasPrefix(method, "tasks/") && method != "server/discover"
}

// admissionAt returns the admission of an endpoint.
func (h *Handler) admissionAt(path string) *admission {
	if n := h.endpointAt(path); n != nil {
		return n.admission
	}
	return h.admission
}

// holder returns the name of the caller of a request, "" if none has to authenticate. ok is false if the request
// will be refused. Nothing is counted or logged: that happens where the request is served.
func (d *admission) holder(r *http.Request, upgrade bool) (name string, ok bool) {
	current := d.policy.Load()
	if current.auth == nil {
		return "", true
	}
	tokens := []string{}
	if token, refused := bearer(r); refused == nil && token != "" {
		tokens = append(tokens, token)
	} else if upgrade {
		tokens = ws.Tokens(r)
	}
	c := d.newCaller(r)
	for _, token := range tokens {
		if !isToken(token) {
			continue
		}
		if p, err := current.auth.verify(c, token); err == nil {
			return p.Name, true
		}
	}
	return "", false
}

// callerBusy asks the client to repeat a request, because the home of its caller cannot be found or used now.
func (p *placer) callerBusy(w http.ResponseWriter, r *http.Request, err error) {
	message := "the process of this caller cannot be placed, because the cluster engine does not answer, try again"
	switch {
	case errors.Is(err, cluster.ErrOwned):
		message = "the replica that runs the process of this caller does not answer, and no other may take its place " +
			"yet, try again"
	case errors.Is(err, errNoLease):
		message = "this replica cannot confirm that it may run the process of this caller, because the cluster engine " +
			"does not answer, try again"
	case errors.Is(err, errCallerBusy), errors.Is(err, errDeparted):
		message = err.Error()
	case errors.Is(err, errNoRecords):
		message = "the process of this caller cannot be placed, because the cluster engine stores no sessions"
	}
	if errors.Is(err, errDeparted) && p.forwards.hops > 0 {
		w.Header().Set(hopDeclined, "true") // the replica that has forwarded it may become the home
	}
	p.log.Debug("request not placed", "error", err)
	p.busy(w, r, message)
}

// atHome enters the home of the caller of a session that this replica has, or moves the session there. s is nil for a
// session without a record, which ends if its home is elsewhere. ok is false if the session has to be placed again.
func (p *placer) atHome(
	w http.ResponseWriter,
	r *http.Request,
	s *ownedSession,
) (home *callerHome, done, ok bool) {
	if !p.homes.active() {
		return nil, false, true
	}
	if departing := p.homes.departure(); departing != nil { // sessions move by themselves, after their callers
		select {
		case <-departing:
		case <-r.Context().Done():
		}
		return nil, false, true
	}
	caller, has := p.at.server.SessionCaller(p.id)
	if !has {
		return nil, false, false
	}
	moves := s != nil && p.retiring.Load()
	gone := p.notHomes()
	home, peer, err := p.homes.find(r.Context(), caller, homeQuery{
		place: moves,
		move:  moves,
		fresh: p.forwards.hops > 0,

		unreachable: gone,
		engine:      &p.engine,
	})
	switch {
	case err != nil:
		p.callerBusy(w, r, err)
		return nil, true, true
	case peer == nil:
		return home, false, true
	case s == nil:
		p.at.server.DropSession(p.id)
		p.refuseStopped(w, r)
		return nil, true, true
	case gone[peer.ID] || p.forwards.hops >= maxHops:
		p.callerBusy(w, r, cluster.ErrOwned)
		return nil, true, true
	case !p.sessions.release(r.Context(), s, peer.ID):
		p.sessions.awaitLeft(r.Context(), s)
		return nil, false, false
	}
	p.forwards.released = released{p.replica.ID(), s.releasedAt()}
	if p.forwardTo(w, r, peer) {
		return nil, true, true
	}
	p.forwards.released = released{} // the session is nowhere, so it is continued here
	p.homes.notMoved(caller, peer.ID)
	return nil, false, false
}

// adoptionHome enters the home of the caller of a session that this replica is about to continue, or forwards the
// request there. home is nil if callers have no processes, or the request has been answered.
func (p *placer) adoptionHome(
	w http.ResponseWriter, r *http.Request, claim *cluster.Claim,
) (home *callerHome, done bool) {
	if !p.homes.active() {
		return nil, false
	}
	caller, err := p.at.server.RecordCaller(p.id, claim.Value)
	if err != nil {
		return nil, false // adopt reports it
	}
	return p.homeOf(w, r, caller, func() {
		if claim.Owner == p.replica.ID() { // released before, and not continued by the replica that was asked to
			p.forwards.released = released{claim.Owner, claim.Revision}
		}
	})
}

// leaveBoth ends a request of a session at the home of its caller, which may be nil.
func (p *placer) leaveBoth(s *ownedSession, home *callerHome) {
	p.sessions.leave(s)
	p.homes.leave(home)
}
