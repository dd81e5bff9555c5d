package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// SessionRecords is where a [Server] reports what happens to its HTTP sessions of a source that is
// stateless or restartable ([mcp.Catalog.Stateless], [mcp.Catalog.Restartable]), so that they can be
// stored where another server finds them. [Server.SessionRecord]
// returns what to store. A server that continues a session passes it to
// [Server.RestoreSession]. Methods are safe for concurrent use.
type SessionRecords interface {
	// Started is called with a session that a client has started. It must not wait.
	Started(id string)
	// Changed stores the record of a session before its client learns that the session has
	// changed. An error means that it could not, and that the change does not take place.
	Changed(ctx context.Context, id string) error
	// Forget deletes the record of a session before its client learns that it has ended.
	Forget(ctx context.Context, id string) error
	// Ended is called with every session that has ended here, of any source. It must not wait.
	Ended(id string)
}

// sessionRecord is what a server knows about a session, apart from requests in flight and
// event streams.
type sessionRecord struct {
	Version      string          `json:"version"`
	Owner        string          `json:"owner,omitempty"`  // see principalID
	Client       string          `json:"client,omitempty"` // see accountName
	Info         json.RawMessage `json:"info,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	LogLevel     mcp.LogLevel    `json:"level"`
	Subscribed   []string        `json:"subscribed,omitempty"`
	Began        int64           `json:"began,omitempty"`
	Moves        uint16          `json:"moves,omitempty"`
}

const (
	// recordContext is the context in which records are sealed, before the id of the session.
	recordContext = "session record 1 "
	// streamsPerMove separates the numbers of event streams at successive servers of a session,
	// so that a client cannot resume a stream of one at another.
	streamsPerMove = 1 << 20
	// guestStreams is the least number of an event stream of a guest, which cannot be resumed: by
	// a small number, its client would resume another stream at the server of the session.
	guestStreams = 1 << 30
	// maxResumedNumber bounds the number of an event after which a client continues.
	maxResumedNumber = 1 << 30
)

// SessionRecord returns the record of a session that this server has, sealed with the first of
// its keys. ok is false if it has no such session.
func (s *Server) SessionRecord(id string) (record []byte, ok bool) {
	session := s.sessions.find(id)
	if session == nil {
		return nil, false
	}
	r := sessionRecord{
		Version:  session.Version().String(),
		Owner:    session.owner,
		Client:   s.ledger.clientOf(&session.kept),
		LogLevel: session.LogLevel(),
		Began:    session.began,
		Moves:    session.moves,
	}
	session.mu.Lock()
	r.Info = session.client
	r.Capabilities = session.capabilities
	if o := session.outgoing; o != nil {
		r.Subscribed = slices.Sorted(maps.Keys(o.subscribed))
	}
	session.mu.Unlock()
	plain, err := json.Marshal(&r)
	if err != nil {
		return nil, false // never: its JSON is valid
	}
	return s.keys.Load().seal(plain, []byte(recordContext+id)), true
}

var errRecord = errors.New("the record of the session cannot be read: it was sealed with another key")

// openRecord returns the session of a record.
func (s *Server) openRecord(id string, record []byte) (*session, *sessionRecord, error) {
	plain, err := s.keys.Load().open(record, []byte(recordContext+id))
	if err != nil {
		return nil, nil, errRecord
	}
	r := new(sessionRecord)
	if err := json.Unmarshal(plain, r); err != nil {
		return nil, nil, errRecord
	}
	v, ok := mcp.ParseVersion(r.Version)
	if !ok || v.Modern() {
		return nil, nil, errRecord
	}
	session := newSession(id)
	session.owner = r.Owner
	session.begin(v, r.Info, r.Capabilities)
	session.setInitialized() // a client uses the id once it has it
	session.logLevel.Store(uint32(r.LogLevel))
	session.began = r.Began
	session.moves = r.Moves + 1
	return session, r, nil
}

// RestoreSession continues a session of another server. The clients' events that the other
// server has kept are lost, so the client is notified of every list and resource that it
// follows. An error means that the session has to start over; if it is busy, later. The source is
// subscribed to again with the first request of the session, see resubscribe.
func (s *Server) RestoreSession(id string, record []byte) error {
	session, r, err := s.openRecord(id, record)
	if err != nil {
		return err
	}
	o := session.ensureOutgoing()
	o.lastStream = int(session.moves) * streamsPerMove
	if _, ok := s.source.(mcp.Subscriber); ok && len(r.Subscribed) > 0 {
		o.resubscribing = newResubscription(r.Subscribed)
	}
	size := len(session.client) + len(session.capabilities)
	if !s.sessions.add(session, r.Client, size) {
		return errBudget
	}
	for _, uri := range r.Subscribed {
		if !session.subscribe(s.ledger, r.Client, uri) {
			s.releaseSession(id, nil)
			return errBudget
		}
		s.hub.addSession(session)
	}
	if s.hub.watched() {
		session.note(change{
			Change:     mcp.Change{Tools: true, Resources: true, Prompts: true},
			everything: true,
		})
	}
	return nil
}

// Stateless reports whether the source is stateless at present.
func (s *Server) Stateless(ctx context.Context) bool {
	cat, err := s.source.Catalog(ctx)
	return err == nil && cat.Stateless
}

// Restorable reports whether the source is stateless or restartable at present, so that sessions of
// other servers can be continued.
func (s *Server) Restorable(ctx context.Context) bool {
	cat, err := s.source.Catalog(ctx)
	return err == nil && (cat.Stateless || cat.Restartable)
}

// SessionCaller returns the name of the principal of a session, "" if it has none. ok is false if this server does
// not have the session.
func (s *Server) SessionCaller(id string) (name string, ok bool) {
	session := s.sessions.find(id)
	if session == nil {
		return "", false
	}
	return callerOf(session.owner), true
}

// RecordCaller is SessionCaller for the record of a session of another server.
func (s *Server) RecordCaller(id string, record []byte) (name string, err error) {
	session, _, err := s.openRecord(id, record)
	if err != nil {
		return "", err
	}
	return callerOf(session.owner), nil
}

// HasSession reports whether this server has a session.
func (s *Server) HasSession(id string) bool { return s.sessions.find(id) != nil }

// SessionSeen returns when a session was last used. ok is false if this server does not have it.
func (s *Server) SessionSeen(id string) (seen time.Time, ok bool) {
	session := s.sessions.find(id)
	if session == nil {
		return time.Time{}, false
	}
	return s.ledger.start.Add(s.ledger.lastUse(&session.kept)), true
}

// SessionTTL returns how long a session may be idle.
func (s *Server) SessionTTL() time.Duration { return s.opts.SessionTTL }

// ReleaseSession removes a session that another server continues, and reports whether this
// server had it. Its record stays. Requests in flight are not cancelled, but nothing reaches
// them any more; event streams are closed, so that the client opens them again. ReleaseSession waits
// until a process that was started for the session alone has stopped, or ctx ends.
func (s *Server) ReleaseSession(ctx context.Context, id string) bool {
	var stopping sync.WaitGroup
	if !s.releaseSession(id, &stopping) {
		return false
	}
	stopped := make(chan struct{})
	go func() {
		stopping.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
	}
	return true
}

// releaseSession is ReleaseSession without waiting for stopping, which may be nil.
func (s *Server) releaseSession(id string, stopping *sync.WaitGroup) bool {
	st := s.sessions
	st.mu.Lock()
	session, ok := st.byID[id]
	delete(st.byID, id)
	st.mu.Unlock()
	if !ok {
		return false
	}
	st.ledger.release(&session.kept)
	notifications, logs := session.close(st.ledger)
	if notifications != nil {
		notifications.close(true)
	}
	for _, l := range logs {
		if l.stream == 0 || l.isDone() {
			l.forget()
		}
	}
	st.hub.remove(session)
	s.opts.Clients.notify(ClientEvent{
		Session:  session,
		Ended:    true,
		Stopping: stopping,
	})
	return true
}

// DropSession is ReleaseSession for a session that another server has continued already: requests
// in flight end with an error, because they cannot be answered. It does not wait for processes.
func (s *Server) DropSession(id string) bool {
	session := s.sessions.find(id)
	if session == nil {
		return false
	}
	session.refuseRequests()
	for _, rc := range session.requests() {
		rc.cancelBecause(errSessionMoved)
	}
	return s.releaseSession(id, nil)
}

// CloseSessionStream closes the notification stream of a session, so that the client opens it
// again.
func (s *Server) CloseSessionStream(id string) {
	session := s.sessions.find(id)
	if session == nil {
		return
	}
	session.mu.Lock()
	var notifications *notificationStream
	if session.outgoing != nil {
		notifications = session.outgoing.notifications
	}
	session.mu.Unlock()
	if notifications != nil {
		notifications.close(false)
	}
}

// find returns a session without marking it as used.
func (st *sessionStore) find(id string) *session {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.byID[id]
}

// clientOf returns the client that an entry is booked for.
func (l *ledger) clientOf(k *kept) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.in == nil {
		return ""
	}
	return k.in.name
}

// Errors about sessions that other servers may continue.
var (
	errSessionMoved = statusError(mcp.Errorf(mcp.CodeInternalError,
		"another server continues the session, so the request was not answered: it may have run"),
		http.StatusBadGateway)
	errNotRecorded = unavailable("the session cannot be changed at present, because it cannot be stored: try again")
	errGuest       = unavailable("the server of this session does not answer, and no other has taken its place yet: " +
		"try again")
)

// sessionChanged stores a session that the request has changed.
func (s *Server) sessionChanged(rc *request) error {
	switch {
	case rc.session.guest:
		return errGuest
	case s.opts.Sessions == nil || rc.session.id == "":
		return nil
	case s.opts.Sessions.Changed(rc, rc.session.id) != nil:
		return errNotRecorded
	}
	return nil
}

// forgetRecord deletes the record of a session that its client ends.
func (s *Server) forgetRecord(ctx context.Context, id string) error {
	if s.opts.Sessions == nil {
		return nil
	}
	return s.opts.Sessions.Forget(ctx, id)
}

// resumesElsewhere prepares the notification stream of a session that began at another server, for
// a client that has received events up to the one with that id there. It returns the number of
// that event, after which this server continues.
func (s *session) resumesElsewhere(l *ledger, client, eventID string) (n int, ok bool) {
	number, ok := strings.CutPrefix(eventID, "0-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > maxResumedNumber || s.moves == 0 {
		return 0, false
	}
	log := s.notificationLog(l, client)
	log.mu.Lock()
	defer log.mu.Unlock()
	if log.last == 0 {
		log.last, log.sent = n, n
	}
	return n, true
}

// guestKey is the key of a guest in a context.
type guestKey struct{}

// GuestContext returns a context in which one request of a session is served, although it
// belongs to another server that does not answer at present. The calls of a stateless source
// do not need the owner of their session; requests that would change the session are refused with
// status 503, as are questions to the client.
func (s *Server) GuestContext(ctx context.Context, id string, record []byte) (context.Context, error) {
	session, _, err := s.openRecord(id, record)
	if err != nil {
		return nil, err
	}
	session.guest = true
	session.over = true // no event is kept for it
	session.ensureOutgoing().lastStream = guestStreams + rand.IntN(guestStreams-1)
	return context.WithValue(ctx, guestKey{}, session), nil
}

// guestOf returns the guest of a context if it is the session with that id of p, or nil.
func guestOf(ctx context.Context, id string, p *mcp.Principal) *session {
	session, _ := ctx.Value(guestKey{}).(*session)
	if session == nil || session.id != id || session.owner != principalID(p) {
		return nil
	}
	return session
}
