package server

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Session is the server's state for a client that sent initialize. Over HTTP it exists as
// long as the client uses its session id, over stdio as long as the stream is open. It is
// safe for concurrent use.
type session struct {
	id       string
	owner    string // the principal that started it, see principalID
	version  atomic.Uint32
	logLevel atomic.Uint32
	kept     kept          // of an HTTP session, or of the connection
	store    *sessionStore // nil for a stream
	began    int64         // nanoseconds of Unix time; 0 unless there is an observer

	// There may be 100,000 sessions: the order of the fields avoids padding.
	mu           sync.Mutex
	client       json.RawMessage
	capabilities json.RawMessage
	initialized  bool
	over         bool                // nothing more is kept for it
	guest        bool                // another server owns it, see GuestContext; constant
	moves        uint16              // how often another server has continued it; constant
	inflight     map[string]*request // by raw id
	outgoing     *outgoing           // nil until needed
}

// outgoing is the state of a session for messages that are not answers. Most HTTP
// sessions never need it. Session.mu guards its fields, except news, which has its own
// lock.
type outgoing struct {
	asked         map[uint64]chan reply // our own requests, by id
	lastAsked     uint64
	news          pending // what changed
	subscribed    map[string]*subscribedURI
	onNews        func()
	direct        stream // of a connection, else nil
	notifications *notificationStream
	logs          []*eventLog
	lastStream    int // number of the newest log
	// resubscribing is nil unless the source has to be subscribed to again.
	resubscribing *resubscription
}

// ensureOutgoing returns s.outgoing, and creates it if necessary. The caller holds mu.
func (s *session) ensureOutgoing() *outgoing {
	if s.outgoing == nil {
		s.outgoing = new(outgoing)
	}
	return s.outgoing
}

func newSession(id string) *session {
	s := &session{id: id}
	s.logLevel.Store(uint32(mcp.LogInfo))
	return s
}

// ID returns the session id of an HTTP session, or "" for a stream.
func (s *session) ID() string { return s.id }

// Version returns the negotiated version, or 0 before initialize.
func (s *session) Version() mcp.Version {
	return mcp.Version(s.version.Load())
}

// LogLevel returns the least severe level that the client wants to receive. The default
// is [mcp.LogInfo].
func (s *session) LogLevel() mcp.LogLevel {
	return mcp.LogLevel(s.logLevel.Load())
}

// ClientInfo returns the client's clientInfo object, or nil. At most 16 KiB are kept,
// including the capabilities; members that do not fit are missing.
func (s *session) ClientInfo() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// ClientCapabilities returns the client's capabilities object, or nil. Members beyond 16
// KiB are missing.
func (s *session) ClientCapabilities() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

// begin records the outcome of initialize, and returns the number of bytes kept.
func (s *session) begin(v mcp.Version, client, capabilities json.RawMessage) (size int) {
	capabilities = trimmed(capabilities, maxClientInfo)
	client = trimmed(client, maxClientInfo-len(capabilities))
	s.mu.Lock()
	s.client = client
	s.capabilities = capabilities
	s.mu.Unlock()
	s.version.Store(uint32(v))
	return len(client) + len(capabilities)
}

// trimmed returns a copy of a JSON object without the members that do not fit into limit
// bytes. It returns nil if raw is not an object and does not fit.
func trimmed(raw json.RawMessage, limit int) json.RawMessage {
	if len(raw) <= limit {
		return bytes.Clone(raw)
	}
	if !jsonscan.IsObject(raw) {
		return nil
	}
	kept := make(json.RawMessage, 1, 256)
	kept[0] = '{'
	_, _ = jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) { // raw is valid
		end, err := jsonscan.Value(raw, i)
		if len(kept)+len(key)*6+(end-i)+len(`"":,}`) > limit {
			return end, err
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(jsonscan.AppendQuote(kept, string(key)), ':')
		kept = append(kept, raw[i:end]...)
		return end, err
	})
	return append(kept, '}')
}

// setInitialized records notifications/initialized, from which on the client may be sent
// requests.
func (s *session) setInitialized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = s.Version() != 0 // ignored before initialize
}

// setDirect records the connection of a session, for [mcp.Session.Ask].
func (s *session) setDirect(out stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ensureOutgoing().direct = out
}

func (s *session) isInitialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

// track makes a request cancellable by its id, and the session used until untrack. It returns
// false if a request with that id is already in flight.
func (s *session) track(rc *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.inflight[string(rc.msg.id)]; ok {
		return false
	}
	if s.inflight == nil {
		s.inflight = make(map[string]*request)
	}
	s.inflight[string(rc.msg.id)] = rc
	s.kept.inUse.Add(1)
	return true
}

// tracks reports whether a request with that raw id is in flight.
func (s *session) tracks(id []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.inflight[string(id)]
	return ok
}

// untrack records that a request has been answered, so that the client may reuse its id.
func (s *session) untrack(rc *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflight[string(rc.msg.id)] != rc {
		return
	}
	delete(s.inflight, string(rc.msg.id))
	if s.store != nil {
		s.store.touch(s) // it is idle from now on
	}
	s.kept.inUse.Add(-1)
}

// cancel cancels the request with that raw id, if it is in flight. initialize cannot be
// cancelled.
func (s *session) cancel(id []byte) {
	s.mu.Lock()
	rc := s.inflight[string(id)]
	s.mu.Unlock()
	if rc != nil && !rc.msg.is("initialize") {
		rc.cancel()
	}
}

// sessionStore contains the HTTP sessions. The ledger limits their number and lifetime.
type sessionStore struct {
	hub    *hub
	ledger *ledger
	ended  func(s *session, transport string, used time.Duration)
	// records are those of the options, or nil.
	records SessionRecords

	mu   sync.RWMutex
	byID map[string]*session
}

// newSessionStore returns an empty store. ended is set by the caller.
func newSessionStore(h *hub, l *ledger) *sessionStore {
	return &sessionStore{
		hub:    h,
		ledger: l,
		byID:   make(map[string]*session),
	}
}

// add stores a session of a client, and reports whether the limits allow it. size is the
// number of bytes of client data it keeps.
func (st *sessionStore) add(s *session, client string, size int) bool {
	s.store = st
	st.mu.Lock()
	st.byID[s.id] = s
	st.mu.Unlock()
	if st.ledger.book(&s.kept, client, keptSession, 1, int64(costSession+size), s) {
		return true
	}
	st.mu.Lock()
	delete(st.byID, s.id)
	st.mu.Unlock()
	return false
}

// count returns the number of sessions.
func (st *sessionStore) count() int {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return len(st.byID)
}

// giveUp implements keeper.
func (s *session) giveUp() { s.store.delete(s.id) }

// expired reports whether a session has been idle for longer than Options.SessionTTL.
func (st *sessionStore) expired(s *session) bool {
	return st.ledger.now()-st.ledger.lastUse(&s.kept) > st.ledger.ttl
}

// get returns the session with that id if it belongs to p, and marks it as used.
// Otherwise it returns nil.
func (st *sessionStore) get(id string, p *mcp.Principal) *session {
	st.mu.RLock()
	s := st.byID[id]
	st.mu.RUnlock()
	if s == nil || s.owner != principalID(p) {
		return nil
	}
	if st.expired(s) {
		st.delete(id)
		return nil
	}
	st.touch(s)
	return s
}

// deleteOf is delete, restricted to sessions of p.
func (st *sessionStore) deleteOf(id string, p *mcp.Principal) bool {
	return st.get(id, p) != nil && st.delete(id)
}

// delete deletes the session with that id, and reports whether it existed.
func (st *sessionStore) delete(id string) bool {
	st.mu.Lock()
	s, ok := st.byID[id]
	delete(st.byID, id)
	st.mu.Unlock()
	if ok {
		st.end(s)
	}
	return ok
}

// end frees the resources of a session that is no longer in the store.
func (st *sessionStore) end(s *session) {
	st.ledger.release(&s.kept)
	s.refuseRequests()
	for _, rc := range s.requests() {
		rc.cancelBecause(errSessionOver)
	}
	notifications, logs := s.close(st.ledger)
	if notifications != nil {
		notifications.close(false)
	}
	for _, l := range logs {
		l.forget()
	}
	st.hub.remove(s)
	if st.records != nil {
		st.records.Ended(s.id)
	}
	seen := time.Duration(s.kept.seen.Load())
	st.ended(s, TransportHTTP, st.ledger.start.Add(seen).Sub(time.Unix(0, s.began)))
}

var errSessionOver = statusError(invalidRequest("the session has ended, initialize again"), http.StatusNotFound)

// refuseRequests makes handleTracked refuse requests from now on, so that those in flight then are all.
func (s *session) refuseRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// hasEnded reports whether requests of the session are refused. A guest has no session that
// could end.
func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over && !s.guest
}

// close releases everything kept for the session, and prevents additions.
func (s *session) close(l *ledger) (notifications *notificationStream, logs []*eventLog) {
	s.mu.Lock()
	s.over = true
	var subscribed map[string]*subscribedURI
	if o := s.outgoing; o != nil {
		notifications = o.notifications
		logs = o.logs
		subscribed = o.subscribed
		o.logs = nil
		o.subscribed = nil
	}
	resubscribing := s.inflight[resubscribingID]
	s.mu.Unlock()
	if resubscribing != nil {
		resubscribing.cancelBecause(errSessionOver) // it would start a process that nothing stops
	}
	for _, u := range subscribed {
		l.release(&u.kept)
	}
	return notifications, logs
}

func (st *sessionStore) touch(s *session) {
	st.ledger.touch(&s.kept)
}

// requests returns the requests in flight.
func (s *session) requests() []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.inflight))
}

func (s *session) cancelAll() {
	for _, rc := range s.requests() {
		rc.cancel()
	}
}

// The contexts in which ids are sealed, so that one kind cannot be used as another.
var (
	sessionContext = []byte("session id 1")
	taskContext    = []byte("task id 1")
)

// newSessionID returns an id that can be neither guessed nor forged: it is sealed with
// the server's key and contains the name of the replica that owns the session.
func (s *Server) newSessionID() string { return s.sealReplica(sessionContext) }

// SessionReplica returns the [Options.Replica] of the server that issued a session
// id, so that a request can be forwarded to it. ok is false for an id that was not sealed
// with one of the server's keys.
func (s *Server) SessionReplica(id string) (replica string, ok bool) {
	return s.unsealReplica(id, sessionContext)
}

// TaskReplica is [Server.SessionReplica] for the id of a task. Servers without a name issue
// ids for which ok is false.
func (s *Server) TaskReplica(id string) (replica string, ok bool) {
	return s.unsealReplica(id, taskContext)
}

// sealReplica returns a new id of a kind that contains the name of this replica.
func (s *Server) sealReplica(kind []byte) string {
	plain := append(make([]byte, 16, 16+len(s.opts.Replica)), s.opts.Replica...)
	_, _ = rand.Read(plain[:16]) // never fails: it exits the program instead
	return base64.RawURLEncoding.EncodeToString(s.keys.Load().seal(plain, kind))
}

// unsealReplica returns the name in an id of that kind.
func (s *Server) unsealReplica(id string, kind []byte) (replica string, ok bool) {
	sealed, err := base64url.Decode(id)
	if err != nil {
		return "", false
	}
	plain, err := s.keys.Load().open(sealed, kind)
	if err != nil || len(plain) < 16 {
		return "", false
	}
	return string(plain[16:]), true
}

// principalID returns the key to which sessions and state are bound. It is empty only for
// unauthenticated callers.
func principalID(p *mcp.Principal) string {
	if p == nil {
		return ""
	}
	return principalPrefix + p.Name
}

const principalPrefix = "principal:"

// callerOf returns the name of the principal with an id.
func callerOf(id string) string { return strings.TrimPrefix(id, principalPrefix) }
