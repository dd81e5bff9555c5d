package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// resubscription is what a session of another server was subscribed to, and its source does not know yet.
type resubscription struct {
	turn chan struct{} // of capacity 1; held while subscribing, and guards the following fields
	uris []string
	// again is when uris that the source has refused are tried again.
	again time.Time
}

func newResubscription(uris []string) *resubscription {
	return &resubscription{
		turn: make(chan struct{}, 1),
		uris: uris,
	}
}

const (
	// resubscribingID is the id of the request that subscribes, which no request of a client has.
	resubscribingID = ""
	// resubscribeTimeout bounds one attempt, for which a process may have to start.
	resubscribeTimeout = time.Minute
	// refusedPause is the pause before a refused subscription is tried again.
	refusedPause = 10 * time.Second
)

var errNotResumed = unavailable("the session cannot be continued at present, because the server of a resource that " +
	"it is subscribed to does not answer: try again")

// resubscribe subscribes to the source what a session of another server was subscribed to, as the caller of
// the request that ctx belongs to: what a source permits may depend on the caller's groups or credentials, which
// no record has. It is called with each request of a session before it is served, and returns at once unless
// the session has just been continued. What the source refuses, such as a resource that a new process
// does not have, is tried again from time to time; the client stays subscribed.
func (s *Server) resubscribe(ctx context.Context, remote string, session *session) *mcp.Error {
	if session.moves == 0 || session.guest {
		return nil
	}
	session.mu.Lock()
	r := session.outgoing.resubscribing // not nil: RestoreSession has made it
	session.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return errNotResumed
	}
	if len(r.uris) == 0 || time.Now().Before(r.again) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resubscribeTimeout)
	defer cancel()
	rc := s.newRequest(ctx, remote, TransportHTTP)
	rc.session = session
	rc.version = session.Version()
	defer rc.finish()
	if !session.track(rc) {
		return errNotResumed // never: turn admits one at a time
	}
	defer session.untrack(rc)
	if session.hasEnded() {
		return errSessionOver
	}
	if err := s.subscribeEach(rc, session, r); err != nil {
		return errNotResumed
	}
	if len(r.uris) > 0 {
		r.again = time.Now().Add(refusedPause)
		return nil
	}
	session.mu.Lock()
	session.outgoing.resubscribing = nil
	session.mu.Unlock()
	return nil
}

// subscribeEach subscribes to what is left in r, and leaves what the source has refused.
func (s *Server) subscribeEach(rc *request, session *session, r *resubscription) error {
	if _, err := s.source.Catalog(rc); err != nil { // it connects the caller
		return err
	}
	var refused []string
	for i, uri := range r.uris {
		if !session.isSubscribed(uri) {
			continue // the client has unsubscribed
		}
		switch err := s.source.(mcp.Subscriber).Subscribe(rc, uri); {
		case err == nil:
		case isRefusal(err):
			refused = append(refused, uri)
		default:
			r.uris = slices.Concat(refused, r.uris[i:])
			return err
		}
	}
	r.uris = refused
	return nil
}

// isRefusal reports whether a source has refused a subscription, rather than failed.
func isRefusal(err error) bool {
	var e *mcp.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case mcp.CodeInvalidRequest, mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeResourceNotFound,
		mcp.CodeToolDenied, mcp.CodeResourceDenied:
		return true
	}
	return false
}
