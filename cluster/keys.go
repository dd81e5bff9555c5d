package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/order"
)

// clusterKey is a secret that all replicas share. Between From and Until it is in the record;
// all replicas open ids with it, and seal with the newest whose From has passed.
type clusterKey struct {
	Key string `json:"key"`
	// From is when replicas begin to seal with it: late enough for all of them to have it.
	From time.Time `json:"from,omitzero"`
	// Until is when they no longer open ids with it; zero for the current key.
	Until time.Time `json:"until,omitzero"`
	// Ends is [keyRing.ends], with the first key of the record only. A program that does not know it skips it.
	Ends map[string]keyEnd `json:"ends,omitempty"`
}

// keyRing is the record of the keys.
type keyRing struct {
	keys []clusterKey // newest first, without Ends
	// ends are the ends of the last maxEnds keys that were replaced, by [KeyID]. They are kept for good, so that a
	// replica which was suspended or cut off during a rotation cannot bring a key back.
	ends map[string]keyEnd
}

// keyEnd is a Unix time. It is negative if the key has leaked and ended at once: no clock decides about that.
type keyEnd int64

func (e keyEnd) atOnce() bool { return e < 0 }

func (e keyEnd) time() time.Time { return time.Unix(int64(max(e, -e)), 0).UTC() }

// Limits of keys.
const (
	keyBytes = 32
	maxKeys  = 16 // in the record
	maxInUse = 8
	// sealAfter is how long after a rotation replicas begin to seal with the new key. They
	// receive it at once, or with their next report.
	sealAfter = 30 * time.Second
	// rememberExpired is how long an expired key stays in the record, for programs that do not know the ends.
	rememberExpired = time.Hour
	// maxEnds is how many ends fit into a record of maxRecord bytes next to maxKeys keys. Programs that do not know
	// the ends refuse larger records.
	maxEnds = 60
)

func newKey() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // never fails: it exits the program instead
	return hex.EncodeToString(b)
}

// parseKeys parses the record: a key, or after a rotation a JSON array.
func parseKeys(value []byte) (keyRing, error) {
	invalid := errors.New("the stored key is invalid")
	if len(value) > maxRecord {
		return keyRing{}, invalid
	}
	if len(value) == hex.EncodedLen(keyBytes) {
		return keyRing{keys: []clusterKey{{Key: string(value)}}}, nil
	}
	var keys []clusterKey
	if json.Unmarshal(value, &keys) != nil || len(keys) == 0 || len(keys) > maxKeys {
		return keyRing{}, invalid
	}
	ends := keys[0].Ends
	for i := range keys {
		if len(keys[i].Key) != hex.EncodedLen(keyBytes) {
			return keyRing{}, invalid
		}
		keys[i].Ends = nil
	}
	return keyRing{
		keys: keys,
		ends: ends,
	}, nil
}

// encode encodes the record. A single key is stored as it is, so that a replica of the
// release before rotation existed can read it.
func (k keyRing) encode() ([]byte, error) {
	if len(k.keys) == 1 && k.keys[0].From.IsZero() && k.keys[0].Until.IsZero() && len(k.ends) == 0 {
		return []byte(k.keys[0].Key), nil
	}
	keys := slices.Clone(k.keys)
	keys[0].Ends = k.ends
	value, err := json.Marshal(keys)
	if err == nil && len(value) > maxRecord {
		err = fmt.Errorf("the record of the keys has %d bytes, want at most %d", len(value), maxRecord)
	}
	return value, err
}

// mergeKeys returns the keys of both records. If both have a key, the earlier end counts. Records diverge when the
// engine has lost a write or all its data, and when a replica was cut off during a rotation.
func mergeKeys(a, b keyRing, now time.Time) keyRing {
	all := keyRing{ends: make(map[string]keyEnd, len(a.ends))}
	for _, ends := range []map[string]keyEnd{a.ends, b.ends} {
		for id, end := range ends {
			all.endAt(id, end)
		}
	}
	var keys []clusterKey
	for _, k := range slices.Concat(a.keys, b.keys) {
		i := slices.IndexFunc(keys, func(other clusterKey) bool { return other.Key == k.Key })
		if i < 0 {
			keys = append(keys, k)
			continue
		}
		if old := keys[i].Until; old.IsZero() || !k.Until.IsZero() && k.Until.Before(old) {
			keys[i].Until = k.Until
		}
	}
	for _, k := range keys {
		if end, ok := all.ends[KeyID([]byte(k.Key))]; ok && (k.Until.IsZero() || end.time().Before(k.Until)) {
			k.Until = end.time()
		}
		if k.Until.IsZero() || now.Sub(k.Until) <= rememberExpired {
			all.keys = append(all.keys, k)
		}
	}
	order.By(all.keys, func(a, b clusterKey) int {
		return cmp.Or(b.From.Compare(a.From), strings.Compare(a.Key, b.Key))
	})
	all.keys = all.keys[:min(len(all.keys), maxKeys)]
	all.forgetEnds()
	return all
}

// endAt notes the end of a key, unless an earlier one is known.
func (k *keyRing) endAt(id string, end keyEnd) {
	if known, ok := k.ends[id]; !ok || end < known {
		k.ends[id] = end
	}
}

// forgetEnds removes the oldest ends, so that maxEnds are left.
func (k *keyRing) forgetEnds() {
	if len(k.ends) <= maxEnds {
		return
	}
	ids := slices.Collect(maps.Keys(k.ends))
	order.By(ids, func(a, b string) int {
		return cmp.Or(k.ends[b].time().Compare(k.ends[a].time()), strings.Compare(a, b))
	})
	for _, id := range ids[maxEnds:] {
		delete(k.ends, id)
	}
}

// equal reports whether both have the same keys and ends.
func (k keyRing) equal(other keyRing) bool {
	same := func(a, b clusterKey) bool {
		return a.Key == b.Key && a.From.Equal(b.From) && a.Until.Equal(b.Until)
	}
	return slices.EqualFunc(k.keys, other.keys, same) && maps.Equal(k.ends, other.ends)
}

// active returns the secrets to use now: the first seals, all open.
func (k keyRing) active(now time.Time) [][]byte {
	var active [][]byte
	sealing := -1
	for _, key := range k.keys {
		leaked := k.ends[KeyID([]byte(key.Key))].atOnce()
		if leaked || !key.Until.IsZero() && !now.Before(key.Until) {
			continue
		}
		if sealing < 0 && !key.From.After(now) {
			sealing = len(active)
		}
		active = append(active, []byte(key.Key))
	}
	if sealing > 0 {
		key := active[sealing]
		active = slices.Insert(slices.Delete(active, sealing, sealing+1), 0, key)
	}
	return active
}

// Rotation is the result of [RotateKey].
type Rotation struct {
	// Key identifies the new key: the first 12 hexadecimal digits of its SHA-256.
	Key string `json:"key"`
	// Seals is when replicas begin to seal with it.
	Seals time.Time `json:"seals"`
	// Previous is how many previous keys still open ids, the newest of them until Until.
	Previous int       `json:"previous"`
	Until    time.Time `json:"until"`
}

// RotateKey adds a new key to a cluster. Running replicas open ids with it at once and seal with it
// after 30 seconds; ids sealed with previous keys open for keep from then on. If keep is 0, the
// previous keys end at once, whatever the clocks show, and with them all sessions and tasks: for a
// key that has leaked. The record remembers the ends of the last 60 replaced keys, so that no replica
// brings one of them back that was suspended or cut off meanwhile.
//
// Replicas of a release without rotation cannot open the new ids.
func RotateKey(ctx context.Context, engine Engine, keep time.Duration) (Rotation, error) {
	for range 5 {
		done, err := rotateKey(ctx, engine, keep)
		if !errors.Is(err, ErrConflict) {
			return done, err
		}
	}
	return Rotation{}, ErrConflict
}

func rotateKey(ctx context.Context, engine Engine, keep time.Duration) (Rotation, error) {
	stored, err := engine.Get(ctx, keyRecord)
	if errors.Is(err, ErrNotFound) {
		return Rotation{}, errors.New("no replica of this cluster has started yet")
	}
	if err != nil {
		return Rotation{}, err
	}
	ring, err := parseKeys(stored.Value)
	if err != nil {
		return Rotation{}, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	fresh := clusterKey{
		Key:  newKey(),
		From: now,
	}
	if keep > 0 {
		fresh.From = now.Add(sealAfter)
	}
	for _, k := range ring.keys {
		if keep > 0 && !fresh.From.After(k.From) { // keys are ordered by it
			fresh.From = k.From.Add(time.Millisecond)
		}
	}
	end := fresh.From.Add(max(keep, 0))
	done := Rotation{
		Key:   KeyID([]byte(fresh.Key)),
		Seals: fresh.From,
		Until: end,
	}
	ends := keyRing{
		keys: []clusterKey{fresh},
		ends: make(map[string]keyEnd),
	}
	if keep <= 0 {
		for id, end := range ring.ends {
			ring.ends[id] = min(end, -end)
		}
	}
	for i := range ring.keys {
		k := &ring.keys[i]
		if k.Until.IsZero() || end.Before(k.Until) {
			k.Until = end
		}
		if now.Before(k.Until) {
			done.Previous++
		}
		until := keyEnd(k.Until.Unix())
		if keep <= 0 {
			until = -until
		}
		ends.endAt(KeyID([]byte(k.Key)), until)
	}
	if done.Previous >= maxInUse {
		return Rotation{}, fmt.Errorf("%d keys are in use, want at most %d: wait until one expires",
			done.Previous, maxInUse-1)
	}
	value, err := mergeKeys(ends, ring, now).encode()
	if err != nil {
		return Rotation{}, err
	}
	_, err = engine.Update(ctx, keyRecord, value, stored.Revision, 0)
	return done, err
}

// KeyID identifies a key without revealing it.
func KeyID(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:6])
}

// syncKeys reads the keys of the cluster, and stores those that the engine does not have:
// the first one, or ours after it has lost data.
func (r *Replica) syncKeys(ctx context.Context) error {
	r.mu.Lock()
	own := r.keys
	r.mu.Unlock()
	stored, err := r.engine.Get(ctx, keyRecord)
	missing := errors.Is(err, ErrNotFound)
	if err != nil && !missing {
		return err
	}
	var theirs keyRing
	if !missing {
		if theirs, err = parseKeys(stored.Value); err != nil {
			return err
		}
	}
	now := r.opts.System.Now().Date
	all := mergeKeys(own, theirs, now)
	if len(all.keys) == 0 {
		all.keys = []clusterKey{{Key: newKey()}}
	}
	value, err := all.encode()
	if err != nil {
		return err
	}
	switch {
	case missing:
		_, err = r.engine.Create(ctx, keyRecord, value, 0)
	case !bytes.Equal(value, stored.Value) && !all.equal(mergeKeys(keyRing{}, theirs, now)):
		_, err = r.engine.Update(ctx, keyRecord, value, stored.Revision, 0)
	}
	if errors.Is(err, ErrConflict) {
		return nil // another replica was faster; the change is an event
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	restored := missing && len(r.keys.keys) > 0
	r.keys = mergeKeys(all, r.keys, now) // another call may have read later ones meanwhile
	r.mu.Unlock()
	if restored {
		r.opts.Logger.Warn("the cluster engine had lost the keys, restored them")
	}
	r.useKeys()
	return nil
}

// useKeys passes the keys that are valid now to the function that follows them, if they have
// changed.
func (r *Replica) useKeys() {
	r.keysMu.Lock()
	defer r.keysMu.Unlock()
	r.mu.Lock()
	active := r.keys.active(r.opts.System.Now().Date)
	same := slices.EqualFunc(active, r.active, bytes.Equal)
	r.active = active
	follow := r.followKeys
	r.mu.Unlock()
	if !same && follow != nil {
		follow(active)
	}
}

// Keys returns the secrets that all replicas share: the first seals, all open. Programs that
// can read the engine can read them.
func (r *Replica) Keys() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

// FollowKeys makes the replica call follow with the keys whenever they change, one call at
// a time. Only one function can follow them.
func (r *Replica) FollowKeys(follow func([][]byte)) {
	r.keysMu.Lock()
	defer r.keysMu.Unlock()
	r.mu.Lock()
	active := r.active
	r.followKeys = follow
	r.mu.Unlock()
	follow(active)
}
