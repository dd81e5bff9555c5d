package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// ownedSessions are the sessions of stateless and restartable sources that this replica owns. Each
// has a record in the engine, from which another replica continues it after this one has ended.
//
// A record is written soon after initialize, before a change is acknowledged, and while the
// session is used, before it expires. Requests that change nothing do not wait for the engine.
type ownedSessions struct {
	replica *cluster.Replica
	log     *slog.Logger
	wake    chan struct{} // of capacity 1: something is dirty
	// every is how often the records of sessions in use are renewed.
	every time.Duration

	mu    sync.Mutex
	owned map[string]*ownedSession // by session id
	dirty map[*ownedSession]struct{}
	// deleted are the keys of records whose sessions have ended.
	deleted map[string]struct{}
	// moved maps session ids to the replicas that continue them. It is a cache.
	moved map[string]movedSession
	// absent are keys that have no record, so that clients that use an ended session do not burden
	// the engine. It is emptied every few seconds.
	absent map[string]struct{}
	// adopting are the sessions that this replica is about to continue. The channels are closed
	// at the end.
	adopting map[string]chan struct{}
	reads    chan struct{} // the records being read, see read

	// active counts the messages of all sessions that are served. Once departure is not nil, no more are
	// begun; idle is closed when those have ended, and departure when others may continue the sessions.
	active          int
	departure, idle chan struct{}

	// usable is set once the engine has stored or found out about a record. Until then, sessions end
	// with their replica.
	usable atomic.Bool

	// adopted counts the sessions that were continued here, by the way to adopt them, and fenced
	// those that were lost because another replica continues them.
	adopted [len(adoptions)]atomic.Int64
	fenced  atomic.Int64
}

// The ways in which a session comes to another replica.
const (
	adoptedHandover = iota // the previous one is about to stop
	adoptedLost            // the previous one has left, or lost its lease
)

// adoptions are the ways to adopt a session, as labels: its owner released it, or was lost.
var adoptions = [...]string{"handover", "takeover"}

// ownedSession is one of them.
type ownedSession struct {
	ownedClaim

	id string
	at *sessionsAt

	active int // messages being served; guarded by ownedSessions.mu
	// leaving is not nil once a successor is about to continue the session, and closed when this
	// replica has given it up. ownedSessions.mu guards the field.
	leaving chan struct{}
}

// movedSession is where a session that this replica does not have continues.
type movedSession struct {
	to string // the id of a replica
	// revision is that of the record when this replica released the session; 0 if another one did.
	revision uint64
}

// key returns the key of the record.
func (s *ownedSession) key() string { return s.at.keyOf(s.id) }

// sessionsAt are the sessions of one endpoint.
type sessionsAt struct {
	all    *ownedSessions
	path   string
	server *mcpserver.Server // set before serving
}

var _ mcpserver.SessionRecords = (*sessionsAt)(nil)

// Limits of records of sessions.
const (
	sessionGroup  = "session"
	recordTimeout = time.Second
	// maxSessionRecord bounds a record. Clients have up to 16 KiB of it; the rest is subscriptions.
	maxSessionRecord = 64 << 10
	// maxDeleted is how many records wait for their deletion.
	maxDeleted = 100_000
	// recordWriters is how many records are written at once.
	recordWriters = 8
	maxMoved      = 100_000
	maxAbsent     = 10_000
	absentFor     = 5 * time.Second
	// recordRetry is the pause before a record is written again that could not be.
	recordRetry = time.Second
	// probeRecords is how often an engine that does not store records is asked again.
	probeRecords = 10 * time.Second
)

// newOwnedSessions returns nil without a cluster.
func newOwnedSessions(o *Options) *ownedSessions {
	if o.Cluster == nil {
		return nil
	}
	return &ownedSessions{
		replica:  o.Cluster,
		log:      o.Logger,
		wake:     make(chan struct{}, 1),
		every:    time.Minute,
		owned:    make(map[string]*ownedSession),
		dirty:    make(map[*ownedSession]struct{}),
		deleted:  make(map[string]struct{}),
		moved:    make(map[string]movedSession),
		absent:   make(map[string]struct{}),
		adopting: make(map[string]chan struct{}),
		reads:    make(chan struct{}, maxReads),
	}
}

// at makes o keep the records of the sessions at a path. The caller sets the server of the result,
// which is nil without a cluster.
func (a *ownedSessions) at(path string, o *mcpserver.Options) *sessionsAt {
	if a == nil {
		return nil
	}
	at := &sessionsAt{
		all:  a,
		path: path,
	}
	o.Sessions = at
	if o.SessionTTL > 0 {
		a.every = min(a.every, max(o.SessionTTL/10, 10*time.Millisecond))
	}
	return at
}

// serve records the server that has the sessions.
func (at *sessionsAt) serve(s *mcpserver.Server) {
	if at != nil {
		at.server = s
	}
}

// keyOf returns the key of a record. It reveals nothing, and depends on the path, so that a
// session of one endpoint is not continued at another.
func (at *sessionsAt) keyOf(id string) string {
	sum := sha256.Sum256([]byte(at.path + "\n" + id))
	return sessionGroup + "/" + hex.EncodeToString(sum[:16])
}

// ttl is how long a record outlives its last write: a session may be idle for two thirds of it.
func (at *sessionsAt) ttl() time.Duration { return at.server.SessionTTL() * 3 / 2 }

// newSession returns a session of this replica, for add.
func (at *sessionsAt) newSession(id string) *ownedSession {
	return &ownedSession{
		id: id,
		at: at,
	}
}

// add adds a session that this replica owns.
func (a *ownedSessions) add(s *ownedSession) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owned[s.id] = s
	delete(a.moved, s.id)
}

// Started implements [mcpserver.SessionRecords].
func (at *sessionsAt) Started(id string) {
	s := at.newSession(id)
	at.all.add(s)
	at.all.markDirty(s)
	if !at.server.HasSession(id) {
		at.Ended(id) // the limits have ended it before it was added
	}
}

// Changed implements [mcpserver.SessionRecords].
func (at *sessionsAt) Changed(ctx context.Context, id string) error {
	s := at.all.find(id)
	if s == nil {
		return at.unowned(id)
	}
	err := at.all.write(ctx, s)
	if err != nil && !s.attempted.Load() {
		at.all.markDirty(s) // it has no record that could be restored without the change
		return nil
	}
	return err
}

// unowned returns nil for a session that has no record because of its source, and otherwise an error: it
// continues at another replica, which does not know the change.
func (at *sessionsAt) unowned(id string) error {
	if at.server.HasSession(id) {
		return nil
	}
	return cluster.ErrLost
}

// Forget implements [mcpserver.SessionRecords].
func (at *sessionsAt) Forget(ctx context.Context, id string) error {
	s := at.all.find(id)
	if s == nil {
		return at.unowned(id)
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if !s.attempted.Load() {
		s.over = true
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if s.revision == 0 {
		// The engine may carry out the first write later, although it has not answered. What is written
		// now comes after it, or fails.
		if err := at.confirm(ctx, s); err != nil {
			return err
		}
	}
	err := at.all.replica.DeleteClaim(ctx, s.key())
	s.over = err == nil
	return err
}

// confirm writes the record of a session of which no write is known to have succeeded. s is locked.
func (at *sessionsAt) confirm(ctx context.Context, s *ownedSession) error {
	term := at.all.replica.Term()
	if term == 0 {
		return errNoLease
	}
	record, ok := at.server.SessionRecord(s.id)
	if !ok {
		return nil
	}
	revision, err := at.all.replica.WriteClaim(ctx, s.key(), record, 0, term, at.ttl())
	if err == nil {
		s.revision = revision
	}
	return err
}

// Ended implements [mcpserver.SessionRecords].
func (at *sessionsAt) Ended(id string) {
	a := at.all
	a.mu.Lock()
	s := a.owned[id]
	if s == nil {
		a.mu.Unlock()
		return
	}
	delete(a.owned, id)
	delete(a.dirty, s)
	if s.attempted.Load() {
		a.deleteLocked(s.key())
	}
	a.mu.Unlock()
	a.signal()
}

// deleteLocked notes that a record is to be deleted. Beyond the limit, which an outage of the engine can reach, it
// expires instead. a.mu is held.
func (a *ownedSessions) deleteLocked(key string) {
	if len(a.deleted) < maxDeleted {
		a.deleted[key] = struct{}{}
	}
}

// find returns a session that this replica owns, or nil.
func (a *ownedSessions) find(id string) *ownedSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.owned[id]
}

// remove removes a session that another replica continues. revision is that of its record if this one has released it.
func (a *ownedSessions) remove(s *ownedSession, successor string, revision uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owned[s.id] == s {
		delete(a.owned, s.id)
	}
	delete(a.dirty, s)
	a.noteMovedLocked(s.id, movedSession{successor, revision})
}

// noteMoved records which replica continues a session; "" means that it is not known.
func (a *ownedSessions) noteMoved(id, replica string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noteMovedLocked(id, movedSession{to: replica})
}

// noteMovedLocked remembers which replica owns a session that moved, or forgets it if there is none. A full cache is
// cleared: the claims in the engine are authoritative.
func (a *ownedSessions) noteMovedLocked(id string, m movedSession) {
	if m.to == "" {
		delete(a.moved, id)
		return
	}
	if len(a.moved) >= maxMoved {
		clear(a.moved)
	}
	a.moved[id] = m
}

// movedTo returns the replica that continues a session, as far as it is known, and how this one has released it.
func (a *ownedSessions) movedTo(id string) (replica string, how released) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.moved[id]
	if m.revision != 0 {
		how = released{a.replica.ID(), m.revision}
	}
	return m.to, how
}

// isAbsent reports whether a session was found to have no record a moment ago.
func (a *ownedSessions) isAbsent(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, absent := a.absent[key]
	return absent
}

// noteAbsent records that a session has no record under a key: it has ended, or never was at the
// endpoint.
func (a *ownedSessions) noteAbsent(id, key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.moved, id)
	if len(a.absent) < maxAbsent {
		a.absent[key] = struct{}{}
	}
}

// markDirty makes run write a record.
func (a *ownedSessions) markDirty(s *ownedSession) {
	a.mu.Lock()
	a.dirty[s] = struct{}{}
	a.mu.Unlock()
	a.signal()
}

// signal wakes the goroutine that writes. It never blocks: one pending signal is enough.
func (a *ownedSessions) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// errNoLease means that this replica does not own its sessions at present.
var errNoLease = errors.New("this replica has no lease, because the cluster engine does not answer")

// errRecordSize means that a session has more than a record may have, mostly subscriptions: it ends
// with its replica unless it has a record that was smaller.
var errRecordSize = fmt.Errorf("a session needs a record of more than %d bytes", maxSessionRecord)

// errNoRecords means that the engine does not store records of sessions.
var errNoRecords = errors.New("the cluster engine does not store sessions")

// probe asks whether the engine stores records of sessions, for which a user of NATS may lack the
// permission.
func (a *ownedSessions) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	_, err := a.replica.ReadClaim(ctx, sessionGroup+"/probe")
	if err == nil || errors.Is(err, cluster.ErrNotFound) {
		a.usable.Store(true)
		return nil
	}
	return err
}

// start probes the engine, before requests are served that may need a record.
func (a *ownedSessions) start(ctx context.Context) {
	if err := a.probe(ctx); err != nil {
		a.log.Warn("sessions end with their replica, because the cluster engine does not store them", "error", err)
	}
}

// write writes the record of a session. The error is [cluster.ErrLost] if another replica has
// adopted the session, which then ends here.
func (a *ownedSessions) write(ctx context.Context, s *ownedSession) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if s.lost.Load() {
		return cluster.ErrLost
	}
	if a.replica.Term() == 0 {
		return errNoLease
	}
	record, ok := s.at.server.SessionRecord(s.id)
	if !ok || s.over {
		return nil
	}
	if !a.usable.Load() {
		return errNoRecords
	}
	if len(record) > maxSessionRecord {
		a.log.Debug("session not stored", "error", errRecordSize)
		return errRecordSize
	}
	err := s.ownedClaim.write(ctx, a.replica, s.key(), record, s.at.ttl())
	if errors.Is(err, cluster.ErrLost) {
		a.fenced.Add(1)
		s.at.server.DropSession(s.id) // before remove: what the server has and a does not is not fenced
		a.remove(s, "", 0)
		a.log.Warn("session lost: another replica continues it")
	}
	return err
}

// holds reports whether this replica certainly owns a session now.
func (a *ownedSessions) holds(s *ownedSession) bool {
	return s.heldBy(a.replica)
}

// verify returns nil if this replica owns a session. After it has lost its lease, it asks the
// engine, once for each session.
func (a *ownedSessions) verify(ctx context.Context, s *ownedSession) error {
	if a.holds(s) {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, a.replica.Lease()/8)
	defer cancel()
	if a.replica.AwaitTerm(waiting) == 0 {
		return errNoLease
	}
	if a.holds(s) {
		return nil // another request has verified it
	}
	return a.write(ctx, s)
}

// run writes and deletes records, and renews those of sessions in use, until ctx ends.
func (a *ownedSessions) run(ctx context.Context) {
	lease := time.NewTicker(a.replica.Lease() / 8)
	defer lease.Stop()
	renewal := time.NewTicker(a.every)
	defer renewal.Stop()
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	probing := time.NewTicker(probeRecords)
	defer probing.Stop()
	forget := time.NewTicker(absentFor)
	defer forget.Stop()
	term := a.replica.Term()
	for {
		select {
		case <-ctx.Done():
			return
		case <-forget.C:
			a.mu.Lock()
			clear(a.absent)
			a.mu.Unlock()
			continue
		case <-lease.C:
			if now := a.replica.Term(); now != term {
				term = now
				a.closeStreams()
				a.verifyProcesses(ctx)
			}
			continue
		case <-probing.C:
			if a.usable.Load() || a.probe(ctx) != nil {
				continue
			}
			a.log.Info("sessions can continue at other replicas from now on")
		case <-renewal.C:
			a.renew(ctx)
		case <-a.wake:
		case <-retry.C:
		}
		if !a.flush(ctx) {
			retry.Reset(recordRetry)
		}
	}
}

// all returns the sessions that this replica owns now.
func (a *ownedSessions) all() []*ownedSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.owned))
}

// renew marks the records that expire before their sessions could. Unused sessions
// expire as they do without a cluster.
func (a *ownedSessions) renew(ctx context.Context) {
	for _, s := range a.all() {
		seen, ok := s.at.server.SessionSeen(s.id)
		if s.lock(ctx) != nil {
			return
		}
		due := ok && s.usedSinceWritten(seen) && s.sinceWritten() > s.at.ttl()/5
		s.unlock()
		if due {
			a.markDirty(s)
		}
	}
}

// flush writes what is dirty, and reports whether nothing is left.
func (a *ownedSessions) flush(ctx context.Context) bool {
	a.mu.Lock()
	dirty, deleted := a.dirty, a.deleted
	a.dirty = make(map[*ownedSession]struct{})
	a.deleted = make(map[string]struct{})
	a.mu.Unlock()
	var failures atomic.Int64
	var writers sync.WaitGroup
	turns := make(chan struct{}, recordWriters)
	each := func(do func() error, again func()) {
		if failures.Load() >= recordWriters { // the engine does not answer
			a.mu.Lock()
			defer a.mu.Unlock()
			again()
			return
		}
		turns <- struct{}{}
		writers.Go(func() {
			defer func() { <-turns }()
			err := do()
			if err != nil &&
				!errors.Is(err, cluster.ErrLost) &&
				!errors.Is(err, errRecordSize) {
				if failures.Add(1) == 1 {
					a.log.Debug("session records not written, retrying", "error", err)
				}
				a.mu.Lock()
				defer a.mu.Unlock()
				again()
			}
		})
	}
	for s := range dirty {
		each(func() error { return a.write(ctx, s) }, func() { a.dirty[s] = struct{}{} })
	}
	for key := range deleted {
		each(func() error {
			ctx, cancel := context.WithTimeout(ctx, recordTimeout)
			defer cancel()
			return a.replica.DeleteClaim(ctx, key)
		}, func() { a.deleteLocked(key) })
	}
	writers.Wait()
	return failures.Load() == 0
}

// closeStreams closes the notification streams of all sessions when the lease has been lost, or is
// back: clients open them again, where the session then is.
func (a *ownedSessions) closeStreams() {
	for _, s := range a.all() {
		if !a.holds(s) {
			s.at.server.CloseSessionStream(s.id)
		}
	}
}

// verifyProcesses makes flush verify the sessions of sources that keep something for them, once the
// lease is back: a process of a session that another replica has adopted is stopped although no
// request arrives here.
func (a *ownedSessions) verifyProcesses(ctx context.Context) {
	keeps := make(map[*sessionsAt]bool)
	for _, s := range a.all() {
		if _, ok := keeps[s.at]; !ok {
			keeps[s.at] = !s.at.server.Stateless(ctx)
		}
		if keeps[s.at] && !a.holds(s) {
			a.markDirty(s)
		}
	}
}

// enter counts a message that is served until leave. It returns false if this replica does not
// have the session any more.
func (a *ownedSessions) enter(s *ownedSession) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owned[s.id] != s || s.leaving != nil || a.departure != nil {
		return false
	}
	s.active++
	a.active++
	return true
}

// leave ends a request of a session. The last one lets a replica that waits for its requests
// depart.
func (a *ownedSessions) leave(s *ownedSession) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.active--
	a.active--
	if a.active == 0 && a.departure != nil {
		close(a.idle)
	}
}

// beginDeparture makes enter refuse messages, and waits until none is served: this replica is about to
// declare that it owns nothing, and answers of what it served then would be refused. done ends it.
func (a *ownedSessions) beginDeparture(ctx context.Context) (done func()) {
	a.mu.Lock()
	departure := make(chan struct{})
	idle := make(chan struct{})
	a.departure = departure
	a.idle = idle
	if a.active == 0 {
		close(idle)
	}
	a.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	return func() { close(departure) }
}

// exitTimeout is how long a release waits for the process of a session to exit.
const exitTimeout = 2 * time.Second

// release gives up a session for which nothing is served, so that another replica continues it. It
// reports whether the other one may.
func (a *ownedSessions) release(ctx context.Context, s *ownedSession, successor string) bool {
	if s.lock(ctx) != nil {
		return false
	}
	unsaved := s.revision == 0
	s.unlock()
	if unsaved && a.write(ctx, s) != nil {
		return false
	}
	left := a.startLeaving(s, successor)
	if left == nil {
		return false
	}
	defer close(left)
	_ = s.lock(context.WithoutCancel(ctx)) // it has begun to leave; writes are bounded by recordTimeout
	s.over = true
	revision := s.revision
	s.unlock()
	exits, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	s.at.server.ReleaseSession(exits, s.id) // before remove: what the server has and a does not is not fenced
	a.remove(s, successor, revision)
	return true
}

// releasedAt returns the revision of the record of a session that has been released.
func (s *ownedSession) releasedAt() uint64 {
	_ = s.lock(context.Background()) // nothing writes the record any more
	defer s.unlock()
	return s.revision
}

// maxReads bounds the records that are read at the same time: requests are placed before they are
// authenticated, because only the owner of a session does that.
const maxReads = 64

// read reads the record of a session.
func (a *ownedSessions) read(ctx context.Context, key string) (cluster.Claim, error) {
	select {
	case a.reads <- struct{}{}:
		defer func() { <-a.reads }()
	case <-ctx.Done():
		return cluster.Claim{}, ctx.Err()
	}
	return a.replica.ReadClaim(ctx, key)
}

// startLeaving makes enter refuse further messages of a session. The result is nil if one is being
// served.
func (a *ownedSessions) startLeaving(s *ownedSession, successor string) (left chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owned[s.id] != s || s.active > 0 || s.leaving != nil {
		return nil
	}
	s.leaving = make(chan struct{})
	a.noteMovedLocked(s.id, movedSession{to: successor})
	return s.leaving
}

// awaitLeft waits until a session that is being released has left, or this replica has departed.
func (a *ownedSessions) awaitLeft(ctx context.Context, s *ownedSession) {
	a.mu.Lock()
	left := s.leaving
	if left == nil {
		left = a.departure
	}
	a.mu.Unlock()
	if left == nil {
		return
	}
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// confirm implements fence.
func (s *ownedSession) confirm(ctx context.Context) error { return s.at.all.verify(ctx, s) }
