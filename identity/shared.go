package identity

import (
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// Groups of records of a cluster.
const (
	sharedLogins  = "login"
	sharedTickets = "ticket"
)

// sharedStore keeps the entries of a [Store] in the records of a cluster, so that all
// replicas have them. Each record is sealed with a key derived from the cluster's.
type sharedStore struct {
	replica *cluster.Replica
	// group has the logins and registrations, and tickets the open tickets.
	group   *cluster.Group
	tickets *cluster.Group

	mu     sync.Mutex        // guards the following fields
	opened map[string]opened // by name
	// epoch is the value of the marker when the records were complete. Another one means that
	// the engine has lost its data, and that missing logins were not ended.
	epoch string
}

// opened is a record that was decrypted.
type opened struct {
	revision uint64
	key      string // the ID of the key that sealed it
	entry    entry
}

// OpenSharedStore returns a store whose logins are those of all replicas of a cluster. The
// engine keeps them, encrypted with the key of the cluster; every replica has them in memory,
// so that requests continue while the engine fails. Of all replicas one refreshes a token.
//
// [Vault.Follow] seals the logins again after a rotation of the key, and stores them again after
// the engine has lost its data.
func OpenSharedStore(ctx context.Context, r *cluster.Replica) (*Store, error) {
	group, err := r.SealedGroup(ctx, sharedLogins, sealedWith)
	if err != nil {
		return nil, fmt.Errorf("logins of the cluster: %w", err)
	}
	tickets, err := r.SealedGroup(ctx, sharedTickets, sealedWith)
	if err != nil {
		return nil, fmt.Errorf("logins of the cluster: %w", err)
	}
	s := &sharedStore{
		replica: r,
		group:   group,
		tickets: tickets,
		opened:  make(map[string]opened),
	}
	if s.epoch, err = s.group.Mark(ctx); err != nil {
		return nil, fmt.Errorf("logins of the cluster: %w", err)
	}
	return &Store{shared: s}, nil
}

// sealerOf returns the cipher for a key of the cluster.
func sealerOf(key []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, storeFormat+" of a cluster", keySize)
	if err != nil {
		return nil, err
	}
	return newSealer(derived)
}

// sealShared seals a value with the current key of a cluster: the ID of the key, and the
// ciphertext. kind and name are authenticated.
func sealShared(keys [][]byte, kind, name string, plain []byte) (sealed []byte, err error) {
	if len(keys) == 0 {
		return nil, errors.New("the cluster has no key")
	}
	sealer, err := sealerOf(keys[0])
	if err != nil {
		return nil, err
	}
	return sealer.Seal([]byte(cluster.KeyID(keys[0])), nil, plain, additionalData(kind+"/"+name)), nil
}

// keyIDLength is the length of a key ID: the first 6 bytes of a hash, in hexadecimal.
var keyIDLength = hex.EncodedLen(6)

// sealedWith returns the ID of the key of what sealShared has sealed, or "" for something else,
// such as a marker.
func sealedWith(sealed []byte) (key string) {
	if len(sealed) < keyIDLength {
		return ""
	}
	key = string(sealed[:keyIDLength])
	if _, err := hex.DecodeString(key); err != nil {
		return ""
	}
	return key
}

// openShared opens what sealShared has sealed, with any key of the cluster.
func openShared(
	keys [][]byte,
	kind, name string,
	sealed []byte,
) (plain []byte, key string, err error) {
	key = sealedWith(sealed)
	for _, k := range keys {
		if cluster.KeyID(k) != key {
			continue
		}
		sealer, err := sealerOf(k)
		if err != nil {
			return nil, "", err
		}
		plain, err = sealer.Open(nil, nil, sealed[keyIDLength:], additionalData(kind+"/"+name))
		return plain, key, err
	}
	return nil, "", errors.New("its key is not known")
}

// load returns the entries that are in memory.
func (s *sharedStore) load() contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loadLocked(s.group.Records())
}

// loadLocked is load for records that were read while mu was held: with earlier ones, a login that
// was just restored would be missing.
func (s *sharedStore) loadLocked(records map[string]cluster.Record) contents {
	keys := s.group.Keys()
	all := make(contents, len(records))
	lost := s.lostLocked(records)
	if lost {
		for name, o := range s.opened {
			all[name] = o.entry
		}
	} else {
		maps.DeleteFunc(s.opened, func(name string, _ opened) bool {
			_, ok := records[name]
			return !ok
		})
	}
	for name, r := range records {
		known, ok := s.opened[name]
		if name == cluster.Marker {
			continue
		}
		if !ok || known.revision != r.Revision {
			plain, key, err := openShared(keys, sharedLogins, name, r.Value)
			known = opened{
				revision: r.Revision,
				key:      key,
			}
			if err != nil || json.Unmarshal(plain, &known.entry) != nil {
				// Its key has ended, see Group. If no replica has the login in memory and seals it again, it
				// is lost, and the next one replaces it.
				continue
			}
			if lost && s.opened[name].entry.newer(known.entry) {
				continue // another replica has restored what it knew
			}
			s.opened[name] = known
		}
		all[name] = known.entry
	}
	return all
}

// newer reports whether an entry has a later token than another one of the same name.
func (e entry) newer(other entry) bool {
	return e.Login != nil &&
		other.Login != nil &&
		e.Login.Obtained.After(other.Login.Obtained)
}

// lost reports whether the engine has lost its data, and this replica has not restored what it knows.
func (s *sharedStore) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lostLocked(s.group.Records())
}

// lostLocked reports whether the group lost its records: the marker then has another value than at
// the start, or none.
func (s *sharedStore) lostLocked(records map[string]cluster.Record) bool {
	return string(records[cluster.Marker].Value) != s.epoch
}

// restore stores the entries again after the engine has lost its data.
func (s *sharedStore) restore(ctx context.Context) {
	if _, err := s.group.Read(ctx, cluster.Marker); errors.Is(err, cluster.ErrNotFound) && s.sync(ctx) != nil {
		return // the next time
	}
	s.mu.Lock()
	if !s.lostLocked(s.group.Records()) {
		s.mu.Unlock()
		return
	}
	s.loadLocked(s.group.Records())
	known := maps.Clone(s.opened)
	s.mu.Unlock()
	for name, o := range known {
		err := s.put(ctx, name, o.entry, 0)
		if errors.Is(err, cluster.ErrConflict) {
			err = s.restoreNewer(ctx, name, o.entry)
		}
		if err != nil {
			return // the next time
		}
	}
	epoch, err := s.group.Mark(ctx)
	if err != nil || s.group.Sync(ctx) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = epoch
}

// update changes entries. A change that another replica makes meanwhile repeats it, and so
// does an engine that does not answer, until ctx ends: a token that was obtained must not be
// lost.
func (s *sharedStore) update(ctx context.Context, change func(all contents) (changed bool)) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		err := s.tryUpdate(ctx, change)
		if err == nil || errors.Is(err, errFull) {
			return err
		}
		pause.Reset(retryShared)
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster engine does not store logins: %w", err)
		case <-pause.C:
		}
	}
}

// sync reads all records from the engine. What is known until then is opened before, because the
// engine may have lost it.
func (s *sharedStore) sync(ctx context.Context) error {
	s.load()
	return s.group.Sync(ctx)
}

// retryShared is the pause before an update is tried again.
const retryShared = 50 * time.Millisecond

// errFull reports an update that would exceed maxEntries.
var errFull = fmt.Errorf("the store has %d logins and registrations: log out of some first", maxEntries)

// tryUpdate applies change to a copy of the records and writes the differences, each under the
// condition that its record has not changed. If another replica was faster, it fails with
// [cluster.ErrConflict], and update tries again.
func (s *sharedStore) tryUpdate(ctx context.Context, change func(all contents) (changed bool)) error {
	if err := s.sync(ctx); err != nil {
		return err
	}
	if s.lost() {
		// The records in the group are those from before, which cannot be replaced.
		s.restore(ctx)
		if err := s.sync(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	records := s.group.Records()
	before := s.loadLocked(records)
	s.mu.Unlock()
	after := maps.Clone(before)
	if !change(after) {
		return nil
	}
	if len(after) > maxEntries {
		return errFull
	}
	// New entries first: if this process ends in between, a login is stored twice, not never.
	for name, e := range after {
		if old, ok := before[name]; ok && reflect.DeepEqual(old, e) {
			continue
		}
		if err := s.put(ctx, name, e, records[name].Revision); err != nil {
			return err
		}
	}
	for name := range before {
		if _, kept := after[name]; kept {
			continue
		}
		if err := s.group.Delete(ctx, name, records[name].Revision); err != nil {
			return err
		}
	}
	return nil
}

// put seals and stores an entry. It stays in memory, so that it can be sealed again even if the
// key ends at once.
func (s *sharedStore) put(ctx context.Context, name string, e entry, revision uint64) error {
	plain, err := json.Marshal(e)
	if err != nil {
		return err
	}
	keys := s.group.Keys()
	sealed, err := sealShared(keys, sharedLogins, name, plain)
	if err != nil {
		return err
	}
	revision, err = s.group.Put(ctx, name, sealed, revision, 0)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[name].revision < revision || s.lostLocked(s.group.Records()) {
		s.opened[name] = opened{
			revision: revision,
			key:      cluster.KeyID(keys[0]),
			entry:    e,
		}
	}
	return nil
}

// restoreNewer stores an entry that another replica has restored, if that knew only an earlier
// token.
func (s *sharedStore) restoreNewer(ctx context.Context, name string, e entry) error {
	r, err := s.group.Read(ctx, name)
	if err != nil {
		return err
	}
	var other entry
	plain, _, err := openShared(s.group.Keys(), sharedLogins, name, r.Value)
	if err != nil || json.Unmarshal(plain, &other) != nil || !e.newer(other) {
		return nil
	}
	return s.put(ctx, name, e, r.Revision)
}

// finish restores what the engine has lost, if this replica knows of the loss and has not done so yet:
// it may be the only one that has the newest token of a login. An earlier one of another replica
// is spent, and would end the login.
func (s *sharedStore) finish() {
	if s.lost() {
		s.maintain(context.Background())
	}
}

// maintain repairs what the engine has, within a few seconds.
func (s *sharedStore) maintain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maintainTimeout)
	defer cancel()
	s.restore(ctx)
	s.reseal(ctx)
}

// maintainTimeout limits one round of maintenance, for a group that does not answer.
const maintainTimeout = 5 * time.Second

// reseal seals the entries again that were sealed with a previous key. Of several replicas,
// the first succeeds.
func (s *sharedStore) reseal(ctx context.Context) {
	keys := s.group.Keys()
	if len(keys) == 0 {
		return
	}
	s.load()
	current := cluster.KeyID(keys[0])
	s.mu.Lock()
	old := maps.Clone(s.opened)
	s.mu.Unlock()
	for name, o := range old {
		if o.key == current {
			continue
		}
		err := s.put(ctx, name, o.entry, o.revision)
		if err != nil && !errors.Is(err, cluster.ErrConflict) {
			return // the next time
		}
	}
}

// lock takes the lock of a login for all replicas.
func (s *sharedStore) lock(ctx context.Context, name string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	unlock, _, err = s.replica.Lock(ctx, name, true)
	if err != nil {
		return nil, fmt.Errorf("lock of the cluster: %w", err)
	}
	return unlock, nil
}

// tryLock takes the group's lock of a name if it is free. It does not wait for the holder, and an
// unreachable group counts as a taken lock.
func (s *sharedStore) tryLock(name string) (unlock func(), ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	unlock, ok, err := s.replica.Lock(ctx, name, false)
	return unlock, ok && err == nil
}

// sharedTicket is the record of a ticket. A replica that gets the repeated call of a client
// finds out with it which page the user was asked to open.
type sharedTicket struct {
	ID string `json:"id"`
	// Number is what the client shows, and Replica the one whose page has the ticket.
	Number  string    `json:"number"`
	Replica string    `json:"replica"`
	Expires time.Time `json:"expires"`
}

// ticketName returns the name of the record of a login that a caller is asked for.
func ticketName(c Caller, server string, scopes []string) string {
	parts := append([]string{c.key(), canonicalResource(server)}, slices.Sorted(slices.Values(scopes))...)
	return entryName("ticket", parts...)
}

// shareTimeout is how long a ticket waits for the engine. If that fails, only this replica knows
// the ticket.
const shareTimeout = 2 * time.Second

// ticket returns the record with a name, if its replica is alive, and its revision, or 0.
func (s *sharedStore) ticket(
	ctx context.Context,
	name string,
	now time.Time,
) (t *sharedTicket, revision uint64) {
	r, err := s.tickets.Read(ctx, name)
	if err != nil {
		return nil, 0
	}
	plain, _, err := openShared(s.tickets.Keys(), sharedTickets, name, r.Value)
	t = &sharedTicket{}
	if err != nil || json.Unmarshal(plain, t) != nil || now.After(t.Expires) ||
		t.Replica == s.replica.ID() || s.replica.Find(ctx, t.Replica) == nil {
		return nil, r.Revision
	}
	return t, r.Revision
}

// putTicket stores the record of a ticket, and reports whether no other replica was faster.
func (s *sharedStore) putTicket(
	ctx context.Context,
	name string,
	t *sharedTicket,
	revision uint64,
) (stored bool) {
	plain, err := json.Marshal(t)
	if err != nil {
		return true
	}
	sealed, err := sealShared(s.tickets.Keys(), sharedTickets, name, plain)
	if err != nil {
		return true
	}
	_, err = s.tickets.Put(ctx, name, sealed, revision, ticketLife)
	return !errors.Is(err, cluster.ErrConflict)
}

// tagSeparator is before the tag of a replica in the ID of a ticket and in a state.
const tagSeparator = "-"

// tag returns what is appended to the IDs and states of this replica.
func (s *Store) tag() string {
	if s.shared == nil {
		return ""
	}
	return tagSeparator + cluster.Tag(s.shared.replica.ID())
}

// ReplicaTag returns the tag (see [cluster.Tag]) of the replica that began the login of a page
// of a [Vault], or "".
func ReplicaTag(page *url.URL) string {
	id := strings.TrimPrefix(page.Path, ConnectPath)
	if page.Path == ConnectCallback {
		id = page.Query().Get("state")
	}
	_, tag, _ := strings.Cut(id, tagSeparator)
	return tag
}
