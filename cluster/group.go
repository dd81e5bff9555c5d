package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Group is the records of one group of the engine, which every replica has in memory: reading
// needs no engine, so it continues while the engine fails. It is safe for concurrent use.
type Group struct {
	replica *Replica
	name    string
	sealed  func(value []byte) (key string) // see SealedGroup; or nil

	syncing sync.Mutex // held during Sync

	mu      sync.Mutex // guards the following fields
	version uint64
	records map[string]Record // by the part of the key after the group
	marked  bool              // the group has had a marker
	// touched are the names that have changed since the current Sync began.
	touched map[string]bool
}

// Group follows the records of a group until [Replica.Leave]. Names consist of letters and
// digits. Follow a group once.
func (r *Replica) Group(ctx context.Context, name string) (*Group, error) {
	return r.SealedGroup(ctx, name, nil)
}

// SealedGroup is Group for records that are sealed with a key of the cluster: sealed returns its
// [KeyID], or "" for a value that is not sealed. The group has no such record before the replica
// has the keys that the engine has, so that a record never arrives earlier than its key.
func (r *Replica) SealedGroup(
	ctx context.Context, name string, sealed func(value []byte) (key string),
) (*Group, error) {
	g := &Group{
		replica: r,
		name:    name,
		sealed:  sealed,
		records: make(map[string]Record),
	}
	sub, err := g.subscribe(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.Sync(ctx); err != nil {
		_ = sub.Close()
		return nil, err
	}
	r.running.Go(func() { g.follow(r.context, sub) })
	return g, nil
}

func (g *Group) subscribe(ctx context.Context) (Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, g.replica.opts.Lease)
	defer cancel()
	return g.replica.engine.Subscribe(ctx, g.name)
}

// follow receives events until ctx ends, and subscribes again after a failure.
func (g *Group) follow(ctx context.Context, sub Subscription) {
	pauses := g.replica.newBackoff()
	for {
		if sub != nil {
			began := g.replica.now()
			g.receive(ctx, sub)
			_ = sub.Close()
			pauses.ended(g.replica.now().Sub(began))
		}
		if pauses.wait(ctx) != nil {
			return
		}
		var err error
		if sub, err = g.subscribe(ctx); err != nil {
			sub = nil
			continue
		}
		if g.replica.within(ctx, g.Sync) != nil {
			_ = sub.Close()
			sub = nil
			pauses.ended(0) // the list may be long
		}
	}
}

// receive applies events until the subscription fails.
func (g *Group) receive(ctx context.Context, sub Subscription) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if e.Key == "" {
			continue
		}
		err = g.replica.within(ctx, func(ctx context.Context) error {
			_, err := g.Read(ctx, g.nameOf(e.Key))
			if !errors.Is(err, ErrNotFound) {
				return err
			}
			lost, err := g.readMarker(ctx)
			if err == nil && !lost {
				g.drop(g.nameOf(e.Key))
			}
			return err
		})
		if err != nil {
			return // subscribe again, and read all
		}
	}
}

func (g *Group) key(name string) string { return g.name + "/" + name }

func (g *Group) nameOf(key string) string { return key[min(len(g.name)+1, len(key)):] }

// put stores a record, unless a newer one is known.
func (g *Group) put(name string, r Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if was, ok := g.records[name]; ok && was.Revision >= r.Revision {
		return
	}
	g.records[name] = r
	g.noteMarkerLocked()
	g.touchLocked(name)
}

// noteMarkerLocked notes whether the group has a marker.
func (g *Group) noteMarkerLocked() {
	_, ok := g.records[Marker]
	g.marked = g.marked || ok
}

// touchLocked notes a change.
func (g *Group) touchLocked(name string) {
	g.version++
	if g.touched != nil {
		g.touched[name] = true
	}
}

func (g *Group) drop(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.records[name]; ok {
		delete(g.records, name)
		g.touchLocked(name)
	}
}

// readMarker reads the marker again, if the group has ever had one, because a record is missing: it was
// deleted only if the marker is still the same. Otherwise the engine has lost its data.
func (g *Group) readMarker(ctx context.Context) (lost bool, err error) {
	g.mu.Lock()
	before := g.records[Marker]
	marked := g.marked
	g.mu.Unlock()
	if !marked {
		return false, nil
	}
	now, err := g.Read(ctx, Marker)
	if errors.Is(err, ErrNotFound) {
		g.drop(Marker)
		return true, nil
	}
	return now.Revision != before.Revision, err
}

// readKeys reads the keys of the cluster if a record is sealed with one that the replica does not
// have. Without that key in the engine, the record is sealed with none of this cluster.
func (g *Group) readKeys(ctx context.Context, records ...Record) error {
	if g.sealed == nil {
		return nil
	}
	for _, r := range records {
		key := g.sealed(r.Value)
		known := func(k []byte) bool { return KeyID(k) == key }
		if key != "" && !slices.ContainsFunc(g.replica.Keys(), known) {
			return g.replica.syncKeys(ctx)
		}
	}
	return nil
}

// Sync reads all records from the engine. Afterwards, the group has every change that was made
// before the call. If the engine has lost its data, which its marker shows, the group also keeps
// what it had, until the first Sync after that with the new marker.
func (g *Group) Sync(ctx context.Context) error {
	g.syncing.Lock()
	defer g.syncing.Unlock()
	g.mu.Lock()
	g.touched = make(map[string]bool)
	before := g.records[Marker]
	g.mu.Unlock()
	all, err := g.replica.engine.List(ctx, g.name)
	if err != nil {
		return err
	}
	if err := g.readKeys(ctx, all...); err != nil {
		return err
	}
	fresh := make(map[string]Record, len(all))
	for _, r := range all {
		fresh[g.nameOf(r.Key)] = r
	}
	if g.lacks(fresh) {
		// A list need not be of one time: the engine may have lost its data during it. The marker is
		// then touched.
		if _, err := g.readMarker(ctx); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.touched { // after the list was read, or before
		delete(fresh, name)
		if r, ok := g.records[name]; ok {
			fresh[name] = r
		}
	}
	g.touched = nil
	if marker, ok := fresh[Marker]; g.marked && (!ok || marker.Revision != before.Revision) {
		for name, r := range g.records {
			if _, ok := fresh[name]; !ok && name != Marker {
				fresh[name] = r
			}
		}
	}
	same := maps.EqualFunc(g.records, fresh, func(a, b Record) bool {
		return a.Revision == b.Revision && bytes.Equal(a.Value, b.Value)
	})
	if !same {
		g.records = fresh
		g.version++
	}
	g.noteMarkerLocked()
	return nil
}

// lacks reports whether a list lacks a known record although it has the known marker.
func (g *Group) lacks(list map[string]Record) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if marker, ok := g.records[Marker]; !ok || list[Marker].Revision != marker.Revision {
		return false
	}
	for name := range g.records {
		if _, ok := list[name]; !ok {
			return true
		}
	}
	return false
}

// Version returns a number that grows with each change of the records.
func (g *Group) Version() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

// Records returns the records by name. The values are read-only.
func (g *Group) Records() map[string]Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.records)
}

// Get returns a record, or [ErrNotFound].
func (g *Group) Get(name string) (Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.records[name]
	if !ok {
		return Record{}, ErrNotFound
	}
	return r, nil
}

// Read is Get at the engine, for a record that another replica may just have stored.
func (g *Group) Read(ctx context.Context, name string) (Record, error) {
	r, err := g.replica.engine.Get(ctx, g.key(name))
	if err == nil {
		err = g.readKeys(ctx, r)
	}
	if err != nil {
		return Record{}, err
	}
	g.put(name, r)
	return r, nil
}

// Put stores a record at the engine: a new one if revision is 0, otherwise in place of the
// one with that revision. It expires after ttl, unless that is 0. If the record is in another
// state, the error is [ErrConflict].
func (g *Group) Put(
	ctx context.Context, name string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	var err error
	if revision == 0 {
		revision, err = g.replica.engine.Create(ctx, g.key(name), value, ttl)
	} else {
		revision, err = g.replica.engine.Update(ctx, g.key(name), value, revision, ttl)
	}
	if err != nil {
		return 0, err
	}
	g.put(name, Record{
		Key:      g.key(name),
		Value:    value,
		Revision: revision,
	})
	return revision, nil
}

// Marker is the name of the record that [Group.Mark] creates. Programs do not delete it.
const Marker = "marker"

// Mark returns the value of the marker of the group, and creates one with a random value if it is
// missing. Another value than before means that the engine has lost its data.
func (g *Group) Mark(ctx context.Context) (value string, err error) {
	value = rand.Text()
	_, err = g.Put(ctx, Marker, []byte(value), 0, 0)
	if !errors.Is(err, ErrConflict) {
		return value, err
	}
	r, err := g.Read(ctx, Marker)
	return string(r.Value), err
}

// Delete deletes the record with that revision at the engine, or returns [ErrConflict].
func (g *Group) Delete(ctx context.Context, name string, revision uint64) error {
	err := g.replica.engine.Delete(ctx, g.key(name), revision)
	if err == nil {
		g.drop(name)
	}
	return err
}

// Keys returns the keys of the cluster, as [Replica.Keys].
func (g *Group) Keys() [][]byte { return g.replica.Keys() }

// Tag returns a short name for a replica, for ids that are routed to it. It reveals nothing.
func Tag(id string) string {
	sum := sha256.Sum256([]byte("tag " + id))
	return base32.StdEncoding.EncodeToString(sum[:5])
}

// Tagged returns the other replica with a tag, or nil if none is alive.
func (r *Replica) Tagged(tag string) *Peer {
	return r.known(func(p *Peer) bool { return Tag(p.ID) == tag })
}
