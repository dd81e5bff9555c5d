package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// sharedApprovals are the consents of a cluster. Each is a record of the engine, which every replica
// has in memory. The name of a record is a hash of who has consented and one of the whole consent, so
// that the engine has neither names of users nor ids of sessions.
type sharedApprovals struct {
	group *cluster.Group
	log   *slog.Logger

	mu sync.Mutex // guards the following fields
	// last are the records that the engine had last, in which epoch is the value of the marker.
	// Another marker means that the engine has lost its data.
	last map[string]approvalRecord
	// version is that of the group when last was read.
	version uint64 // of the group then
	epoch   string
	// unstored are consents that the engine does not have yet.
	unstored map[string]approvalRecord
}

// approvalRecord is the value of a record.
type approvalRecord struct {
	// Until is when the consent ends; zero means never.
	Until time.Time `json:"until,omitzero"`
	// At is when it was given or revoked.
	At time.Time `json:"at"`
	// Rule and Item are what it is for.
	Rule string `json:"rule"`
	Item string `json:"item"`
	// Revoked means that it was revoked. Such a record remains for a while, so that no replica that
	// remembers the consent stores it again.
	Revoked bool `json:"revoked,omitempty"`
}

// The records of consents.
const (
	approvalGroup = "approval"
	holderBytes   = 10 // of the hash of a principal, at the start of a name
	approvalBytes = 20
)

// Limits of shared consents.
const (
	askApprovals      = 500 * time.Millisecond // for the engine, before a user is asked
	storeApproval     = 2 * time.Second
	maintainApprovals = time.Second
	rememberRevoked   = 10 * time.Minute
)

// ShareApprovals returns the consents of all replicas of a cluster. The engine keeps those that are
// valid until they are revoked. While it fails, known consents are valid, and new ones at the replica
// that asked for them. If it loses its data, the replicas store them again within a few seconds.
// log may be nil.
func ShareApprovals(
	ctx context.Context,
	r *cluster.Replica,
	log *slog.Logger,
) (*Approvals, error) {
	group, err := r.Group(ctx, approvalGroup)
	if err != nil {
		return nil, fmt.Errorf("approvals of the cluster: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &sharedApprovals{
		group:    group,
		log:      log,
		last:     make(map[string]approvalRecord),
		unstored: make(map[string]approvalRecord),
	}
	if s.epoch, err = s.group.Mark(ctx); err != nil {
		return nil, fmt.Errorf("approvals of the cluster: %w", err)
	}
	s.maintain(ctx)
	r.Go(s.run)
	a := newApprovals()
	a.shared = s
	return a, nil
}

// RevokeApprovals ends the consents of a principal, as its name is in the audit log, in a cluster, and
// returns how many there were. Replicas ask the user again within milliseconds.
func RevokeApprovals(
	ctx context.Context,
	e cluster.Engine,
	principal string,
) (n int, err error) {
	all, err := e.List(ctx, approvalGroup)
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		if !strings.HasPrefix(r.Key, approvalGroup+"/"+holderName(principal)) {
			continue
		}
		revoked, err := revokeApproval(ctx, e, r)
		if err != nil {
			return n, err
		}
		if revoked {
			n++
		}
	}
	return n, nil
}

// revokeApproval ends a consent, also if a replica stores it again meanwhile. revoked is false if it was
// not valid.
func revokeApproval(
	ctx context.Context,
	e cluster.Engine,
	r cluster.Record,
) (revoked bool, err error) {
	for {
		now := time.Now()
		a, ok := readApproval(r)
		if !ok || !a.valid(now) {
			return false, nil
		}
		a.Revoked, a.Until = true, now.Add(rememberRevoked)
		if a.At.Before(now) { // otherwise the clock of the replica that asked is ahead
			a.At = now
		}
		value, err := json.Marshal(a)
		if err != nil {
			return false, err
		}
		if _, err = e.Update(ctx, r.Key, value, r.Revision, rememberRevoked); !errors.Is(err, cluster.ErrConflict) {
			return err == nil, err
		}
		if r, err = e.Get(ctx, r.Key); errors.Is(err, cluster.ErrNotFound) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// holderName returns the start of the names of a principal's records. It is a hash, which fits into
// a key of any engine.
func holderName(principal string) string {
	sum := sha256.Sum256([]byte("approvals of " + principal))
	return hex.EncodeToString(sum[:holderBytes])
}

// name returns the name of the record of a consent.
func (k *approvalKey) name() string {
	text, _ := json.Marshal([]string{k.Principal, k.Endpoint, k.Rule, k.Item, k.session}) // strings never fail
	sum := sha256.Sum256(text)
	return holderName(k.Principal) + hex.EncodeToString(sum[:approvalBytes])
}

// valid reports whether the record permits calls now.
func (a *approvalRecord) valid(now time.Time) bool { return !a.Revoked && !a.ended(now) }

// replaces reports whether a record of the engine stays in force although a replica has another one: it is not
// older. Equal times are those of one consent, and of its revocation.
func (a *approvalRecord) replaces(other *approvalRecord) bool {
	return !a.At.Before(other.At) && !a.ended(time.Now())
}

// ended reports whether the record has expired.
func (a *approvalRecord) ended(now time.Time) bool { return !a.Until.IsZero() && !now.Before(a.Until) }

// has reports whether a consent is known to any replica. Before it says no, after which the user is
// asked, it asks the engine for a consent that another replica may just have stored.
func (s *sharedApprovals) has(ctx context.Context, key approvalKey) bool {
	name, now := key.name(), time.Now()
	if a, ok := s.known(name); ok && a.valid(now) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, askApprovals)
	defer cancel()
	r, err := s.group.Read(ctx, name)
	if err != nil {
		return errors.Is(err, cluster.ErrNotFound) && s.lost(ctx, name)
	}
	a, ok := readApproval(r)
	if ok {
		s.remember(name, &a)
	}
	return ok && a.valid(now)
}

// lost reports whether a consent that the engine does not have is valid, because it has lost its data.
func (s *sharedApprovals) lost(ctx context.Context, name string) bool {
	s.mu.Lock()
	a, ok := s.last[name]
	epoch := s.epoch
	s.mu.Unlock()
	if !ok || !a.valid(time.Now()) {
		return false
	}
	marker, err := s.group.Read(ctx, cluster.Marker)
	if err == nil && string(marker.Value) == epoch {
		return false
	}
	return err == nil || errors.Is(err, cluster.ErrNotFound)
}

// remember notes a consent that the engine has, in case it loses it before the next time that maintain
// reads the records.
func (s *sharedApprovals) remember(name string, a *approvalRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[name] = *a
}

// known returns a consent from memory.
func (s *sharedApprovals) known(name string) (a approvalRecord, ok bool) {
	s.mu.Lock()
	unstored, waits := s.unstored[name]
	s.mu.Unlock()
	if r, err := s.group.Get(name); err == nil {
		if a, ok = readApproval(r); ok {
			s.remember(name, &a)
		}
		if !waits || ok && a.replaces(&unstored) {
			return a, ok
		}
	}
	if waits {
		return unstored, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if marker, err := s.group.Get(cluster.Marker); err != nil || string(marker.Value) != s.epoch {
		a, ok = s.last[name]
	}
	return a, ok
}

// readApproval reads a record, and reports whether it is one.
func readApproval(r cluster.Record) (a approvalRecord, ok bool) {
	err := json.Unmarshal(r.Value, &a)
	return a, err == nil
}

// add stores a consent. If the engine does not, this replica remembers it and tries again.
func (s *sharedApprovals) add(ctx context.Context, key approvalKey, until time.Time) error {
	name := key.name()
	a := approvalRecord{
		Until: until,
		At:    time.Now(),
		Rule:  key.Rule,
		Item:  key.Item,
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeApproval)
	defer cancel()
	if err := s.makeRoom(ctx, key.Principal); err != nil {
		return err
	}
	err := s.put(ctx, name, &a)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unstored) >= maxApprovals {
		return err
	}
	s.unstored[name] = a
	s.log.Warn("approval not stored in the cluster, retrying", "rule", a.Rule, "error", err)
	return nil
}

// put stores a consent in place of an earlier one, unless the engine has a later one or it was revoked
// meanwhile.
func (s *sharedApprovals) put(ctx context.Context, name string, a *approvalRecord) error {
	value, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var ttl time.Duration
	if !a.Until.IsZero() {
		if ttl = time.Until(a.Until); ttl <= 0 {
			return nil
		}
	}
	for {
		r, err := s.group.Read(ctx, name)
		if err != nil && !errors.Is(err, cluster.ErrNotFound) {
			return err
		}
		was, ok := readApproval(r)
		if err == nil && ok && was.replaces(a) {
			s.remember(name, &was)
			return nil
		}
		// With revision 0, of a record that does not exist, it is created.
		_, err = s.group.Put(ctx, name, value, r.Revision, ttl)
		switch {
		case err == nil:
			s.remember(name, a)
			return nil
		case !errors.Is(err, cluster.ErrConflict):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// makeRoom deletes the consent for a session that ends first if there are too many: one of the principal
// if those are its own. Revoked records go last, as they keep consents from coming back.
func (s *sharedApprovals) makeRoom(ctx context.Context, principal string) error {
	records := s.group.Records()
	holder := holderName(principal)
	most := maxApprovalsOf(principal)
	now := time.Now()
	own := 0
	for name, r := range records {
		if !strings.HasPrefix(name, holder) {
			continue
		}
		if a, ok := readApproval(r); ok && a.valid(now) {
			own++
		}
	}
	crowded := own >= most
	if !crowded {
		if len(records) <= maxApprovals { // with the marker
			return nil
		}
		holder = ""
		most = maxApprovals
	}
	first, ok := firstToEnd(records, holder, false)
	if !ok && !crowded {
		first, ok = firstToEnd(records, "", true)
	}
	if !ok {
		return fmt.Errorf("more than %d approvals", most)
	}
	err := s.group.Delete(ctx, strings.TrimPrefix(first.Key, approvalGroup+"/"), first.Revision)
	if errors.Is(err, cluster.ErrConflict) {
		return s.group.Sync(ctx) // it has expired
	}
	return err
}

// firstToEnd returns the record that expires first, of those of a holder, or of all if it is "".
func firstToEnd(
	records map[string]cluster.Record,
	holder string,
	revoked bool,
) (first cluster.Record, ok bool) {
	var until time.Time
	for name, r := range records {
		a, valid := readApproval(r)
		if !valid ||
			a.Revoked != revoked ||
			a.Until.IsZero() ||
			!strings.HasPrefix(name, holder) {
			continue
		}
		if !ok || a.Until.Before(until) {
			first = r
			until = a.Until
			ok = true
		}
	}
	return first, ok
}

// run maintains the records until ctx ends.
func (s *sharedApprovals) run(ctx context.Context) {
	tick := time.NewTicker(maintainApprovals)
	defer tick.Stop()
	for {
		s.maintain(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// maintain stores what the engine does not have, and drops what has expired. What fails is
// tried again the next time.
func (s *sharedApprovals) maintain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeApproval)
	defer cancel()
	_, err := s.group.Read(ctx, cluster.Marker)
	if errors.Is(err, cluster.ErrNotFound) && s.group.Sync(ctx) != nil {
		return
	}
	s.mu.Lock() // before reading, for put
	version := s.group.Version()
	records := s.group.Records()
	lost := string(records[cluster.Marker].Value) != s.epoch
	if lost {
		for name, a := range s.last {
			if _, ok := s.unstored[name]; !ok {
				s.unstored[name] = a
			}
		}
	} else if s.version != version {
		s.version = version
		s.last = make(map[string]approvalRecord, len(records))
		for name, r := range records {
			if a, ok := readApproval(r); ok && name != cluster.Marker {
				s.last[name] = a
			}
		}
	}
	unstored := maps.Clone(s.unstored)
	s.mu.Unlock()
	for name, a := range unstored {
		if s.put(ctx, name, &a) != nil {
			return
		}
		s.mu.Lock()
		if s.unstored[name] == a { // otherwise the user has consented again
			delete(s.unstored, name)
		}
		s.mu.Unlock()
	}
	if lost {
		s.adopt(ctx)
	}
	s.expire(ctx)
}

// adopt takes over the marker of an engine that had lost its data.
func (s *sharedApprovals) adopt(ctx context.Context) {
	epoch, err := s.group.Mark(ctx)
	if err != nil || s.group.Sync(ctx) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = epoch
}

// expire drops records that the engine has dropped by now.
func (s *sharedApprovals) expire(ctx context.Context) {
	before := time.Now().Add(-time.Minute) // clocks may differ
	s.mu.Lock()
	expired := false
	for name, a := range s.last {
		if a.ended(before) {
			delete(s.last, name)
			expired = true
		}
	}
	s.mu.Unlock()
	if expired {
		_ = s.group.Sync(ctx)
	}
}
