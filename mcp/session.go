package mcp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Session is what the server remembers of a client that began with initialize:
// over HTTP for as long as the client uses its session id, over stdio for as
// long as the stream is open. It is safe for concurrent use.
type Session struct {
	id       string
	owner    string // the principal that began it, see Principal.id
	version  atomic.Uint32
	logLevel atomic.Uint32
	lastSeen atomic.Int64 // a time.Duration since the store's start
	began    time.Time    // zero unless there is an observer

	mu           sync.Mutex
	client       json.RawMessage
	capabilities json.RawMessage
	initialized  bool
	inflight     map[string]*requestContext // by raw id
	asked        map[uint64]chan reply      // requests of ours, by id
	lastAsked    uint64

	// What changed, and how the client hears of it.
	news       pending
	subscribed map[string]struct{} // resource URIs; guarded by mu
	onNews     func()              // guarded by mu
	standing   *standing           // guarded by mu
	logs       []*eventLog         // guarded by mu
	lastStream int                 // guarded by mu
}

func newSession(id string) *Session {
	s := &Session{id: id}
	s.logLevel.Store(uint32(LogInfo))
	return s
}

// ID returns the session id of an HTTP session, or "" for a stream.
func (s *Session) ID() string { return s.id }

// Version returns the negotiated version, or 0 before initialize.
func (s *Session) Version() Version { return Version(s.version.Load()) }

// LogLevel returns the least severe level that the client wants to receive:
// [LogInfo] unless it chose another.
func (s *Session) LogLevel() LogLevel { return LogLevel(s.logLevel.Load()) }

// ClientInfo returns the client's clientInfo object, or nil.
func (s *Session) ClientInfo() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// ClientCapabilities returns the client's capabilities object, or nil.
func (s *Session) ClientCapabilities() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

// begin records the outcome of initialize.
func (s *Session) begin(v Version, client, capabilities json.RawMessage) {
	s.mu.Lock()
	s.client, s.capabilities = client, capabilities
	s.mu.Unlock()
	s.version.Store(uint32(v))
}

func (s *Session) setInitialized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = s.Version() != 0 // else there was nothing to be initialized by
}

func (s *Session) isInitialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

// track makes a request cancellable by its id. It reports false if a request
// with that id is already in flight.
func (s *Session) track(rc *requestContext) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.inflight[string(rc.msg.id)]; ok {
		return false
	}
	if s.inflight == nil {
		s.inflight = make(map[string]*requestContext)
	}
	s.inflight[string(rc.msg.id)] = rc
	return true
}

// tracks reports whether a request with that raw id is in flight.
func (s *Session) tracks(id []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.inflight[string(id)]
	return ok
}

func (s *Session) untrack(rc *requestContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflight[string(rc.msg.id)] == rc {
		delete(s.inflight, string(rc.msg.id))
	}
}

// cancel cancels the request with that raw id, if it is in flight. initialize
// cannot be cancelled.
func (s *Session) cancel(id []byte) {
	s.mu.Lock()
	rc := s.inflight[string(id)]
	s.mu.Unlock()
	if rc != nil && !rc.msg.is("initialize") {
		rc.cancel()
	}
}

// sessionStore holds the HTTP sessions. It has no goroutine: sessions that have
// been idle too long are removed when others begin.
type sessionStore struct {
	hub    *hub
	ended  func(s *Session, transport string, used time.Duration)
	replay replayBudget
	ttl    time.Duration
	limit  int // per shard
	seed   maphash.Seed
	start  time.Time
	shards []sessionShard
}

// A store for few sessions has few shards, as the limit holds for each of them
// and sessions do not spread evenly.
const (
	maxSessionShards   = 64
	sessionsToOneShard = 1024
)

type sessionShard struct {
	mu    sync.RWMutex
	byID  map[string]*Session
	swept time.Duration
}

func newSessionStore(h *hub, ttl time.Duration, limit int) *sessionStore {
	n := min(max(1, limit/sessionsToOneShard), maxSessionShards)
	return &sessionStore{
		hub:    h,
		ttl:    ttl,
		limit:  limit / n,
		seed:   maphash.MakeSeed(),
		start:  time.Now(),
		shards: make([]sessionShard, n),
	}
}

func (st *sessionStore) now() time.Duration { return time.Since(st.start) }

func (st *sessionStore) shard(id string) *sessionShard {
	return &st.shards[maphash.String(st.seed, id)%uint64(len(st.shards))]
}

// add remembers a session. A full shard gives up the one that has been idle longest.
func (st *sessionStore) add(s *Session) {
	now := st.now()
	s.lastSeen.Store(int64(now))
	sh := st.shard(s.id)
	sh.mu.Lock()
	var gone []*Session
	if sh.byID == nil {
		sh.byID = make(map[string]*Session)
	}
	if now-sh.swept > st.ttl/8 || len(sh.byID) >= st.limit {
		gone = st.sweep(sh, now)
	}
	sh.byID[s.id] = s
	sh.mu.Unlock()
	for _, s := range gone {
		st.end(s)
	}
}

// sweep takes out what is too old or too much. The caller ends the sessions,
// without the lock: that may have to wait for a client.
func (st *sessionStore) sweep(sh *sessionShard, now time.Duration) (gone []*Session) {
	sh.swept = now
	var oldest *Session
	for id, s := range sh.byID {
		if st.expired(s, now) {
			delete(sh.byID, id)
			gone = append(gone, s)
		} else if oldest == nil || s.lastSeen.Load() < oldest.lastSeen.Load() {
			oldest = s
		}
	}
	if len(sh.byID) >= st.limit {
		delete(sh.byID, oldest.id)
		gone = append(gone, oldest)
	}
	return gone
}

func (st *sessionStore) expired(s *Session, now time.Duration) bool {
	return now-time.Duration(s.lastSeen.Load()) > st.ttl
}

// get returns the session with that id if it belongs to p, and notes that it is
// in use. Otherwise it returns nil.
func (st *sessionStore) get(id string, p *Principal) *Session {
	sh := st.shard(id)
	sh.mu.RLock()
	s := sh.byID[id]
	sh.mu.RUnlock()
	if s == nil || s.owner != p.id() {
		return nil
	}
	now := st.now()
	if st.expired(s, now) {
		st.delete(id)
		return nil
	}
	st.touch(s)
	return s
}

// deleteOf is delete for a session that must belong to p.
func (st *sessionStore) deleteOf(id string, p *Principal) bool {
	return st.get(id, p) != nil && st.delete(id)
}

// delete reports whether there was such a session.
func (st *sessionStore) delete(id string) bool {
	sh := st.shard(id)
	sh.mu.Lock()
	s, ok := sh.byID[id]
	delete(sh.byID, id)
	sh.mu.Unlock()
	if ok {
		st.end(s)
	}
	return ok
}

// end frees what a session that is no longer in the store holds.
func (st *sessionStore) end(s *Session) {
	s.cancelAll()
	s.mu.Lock()
	standing, logs := s.standing, s.logs
	s.logs = nil
	s.mu.Unlock()
	if standing != nil {
		standing.close(false)
	}
	for _, l := range logs {
		l.forget()
	}
	st.hub.remove(s)
	st.ended(s, TransportHTTP, st.start.Add(time.Duration(s.lastSeen.Load())).Sub(s.began))
}

func (st *sessionStore) touch(s *Session) { s.lastSeen.Store(int64(st.now())) }

func (s *Session) cancelAll() {
	s.mu.Lock()
	all := make([]*requestContext, 0, len(s.inflight))
	for _, rc := range s.inflight {
		all = append(all, rc)
	}
	s.mu.Unlock()
	for _, rc := range all {
		rc.cancel()
	}
}

var sessionContext = []byte("session id 1")

// newSessionID returns an id that can be neither guessed nor made up: it is
// sealed with the server's key, and names the replica that holds the session.
func (s *Server) newSessionID() string {
	plain := append(make([]byte, 16, 16+len(s.opts.Replica)), s.opts.Replica...)
	_, _ = rand.Read(plain[:16]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(s.keys.seal(plain, sessionContext))
}

// SessionReplica returns the [ServerOptions.Replica] of the server that gave out
// a session id, so that a request can be passed on to it. ok is false for an id
// that was not sealed with one of the server's keys.
func (s *Server) SessionReplica(id string) (replica string, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return "", false
	}
	plain, err := s.keys.open(sealed, sessionContext)
	if err != nil || len(plain) < 16 {
		return "", false
	}
	return string(plain[16:]), true
}
