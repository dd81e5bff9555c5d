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
}

// Limits of keys.
const (
	keyBytes = 32
	maxKeys  = 16 // in the record
	maxInUse = 8
	// sealAfter is how long after a rotation replicas begin to seal with the new key. They
	// receive it at once, or with their next report.
	sealAfter = 30 * time.Second
	// rememberExpired is how long an expired key stays in the record, so that a replica that
	// missed its expiry does not add it again.
	rememberExpired = time.Hour
)

func newKey() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // never fails: it exits the program instead
	return hex.EncodeToString(b)
}

// parseKeys parses the record: a key, or after a rotation a JSON array.
func parseKeys(value []byte) ([]clusterKey, error) {
	invalid := errors.New("the stored key is invalid")
	if len(value) > maxRecord {
		return nil, invalid
	}
	if len(value) == hex.EncodedLen(keyBytes) {
		return []clusterKey{{Key: string(value)}}, nil
	}
	var keys []clusterKey
	if json.Unmarshal(value, &keys) != nil || len(keys) == 0 || len(keys) > maxKeys {
		return nil, invalid
	}
	for _, k := range keys {
		if len(k.Key) != hex.EncodedLen(keyBytes) {
			return nil, invalid
		}
	}
	return keys, nil
}

// encodeKeys encodes the record. A single key is stored as it is, so that a replica of the
// release before rotation existed can read it.
func encodeKeys(keys []clusterKey) ([]byte, error) {
	if len(keys) == 1 && keys[0].From.IsZero() && keys[0].Until.IsZero() {
		return []byte(keys[0].Key), nil
	}
	return json.Marshal(keys)
}

// mergeKeys returns the keys of both lists, newest first. If both have a key, the earlier end
// counts. Records diverge when the engine has lost a write or all its data.
func mergeKeys(a, b []clusterKey, now time.Time) []clusterKey {
	var all []clusterKey
	for _, k := range slices.Concat(a, b) {
		if !k.Until.IsZero() && now.Sub(k.Until) > rememberExpired {
			continue
		}
		i := slices.IndexFunc(all, func(other clusterKey) bool { return other.Key == k.Key })
		if i < 0 {
			all = append(all, k)
			continue
		}
		if old := all[i].Until; old.IsZero() || !k.Until.IsZero() && k.Until.Before(old) {
			all[i].Until = k.Until
		}
	}
	order.By(all, func(a, b clusterKey) int {
		return cmp.Or(b.From.Compare(a.From), strings.Compare(a.Key, b.Key))
	})
	return all[:min(len(all), maxKeys)]
}

// activeKeys returns the secrets to use now: the first seals, all open. keys are sorted.
func activeKeys(keys []clusterKey, now time.Time) [][]byte {
	var active [][]byte
	sealing := -1
	for i, k := range keys {
		if !k.Until.IsZero() && !now.Before(k.Until) {
			continue
		}
		if sealing < 0 && !k.From.After(now) {
			sealing = len(active)
		}
		active = append(active, []byte(keys[i].Key))
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
// previous keys end at once, and with them all sessions and tasks: for a key that has
// leaked.
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
	keys, err := parseKeys(stored.Value)
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
	for _, k := range keys {
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
	for i := range keys {
		if keys[i].Until.IsZero() || end.Before(keys[i].Until) {
			keys[i].Until = end
		}
		if now.Before(keys[i].Until) {
			done.Previous++
		}
	}
	keys = mergeKeys([]clusterKey{fresh}, keys, now)
	if done.Previous >= maxInUse {
		return Rotation{}, fmt.Errorf("%d keys are in use, want at most %d: wait until one expires",
			done.Previous, maxInUse-1)
	}
	value, err := encodeKeys(keys)
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
	var theirs []clusterKey
	switch {
	case !missing:
		if theirs, err = parseKeys(stored.Value); err != nil {
			return err
		}
	case len(own) == 0:
		own = []clusterKey{{Key: newKey()}}
	}
	now := r.opts.System.Now().Date
	all := mergeKeys(own, theirs, now)
	value, err := encodeKeys(all)
	if err != nil {
		return err
	}
	switch {
	case missing:
		_, err = r.engine.Create(ctx, keyRecord, value, 0)
	case !bytes.Equal(value, stored.Value) && len(all) > len(mergeKeys(nil, theirs, now)):
		_, err = r.engine.Update(ctx, keyRecord, value, stored.Revision, 0)
	}
	if errors.Is(err, ErrConflict) {
		return nil // another replica was faster; the change is an event
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	restored := missing && len(r.keys) > 0
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
	active := activeKeys(r.keys, r.opts.System.Now().Date)
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
