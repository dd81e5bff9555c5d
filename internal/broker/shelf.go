package broker

import (
	"sync"
	"time"
)

// shelf keeps values for a while. If there are too many, the oldest are dropped: first those of
// the owner who adds one.
type shelf[V any] struct {
	// now is the clock, life how long an item is kept, and most and mostOfAnOwner are the limits.
	now                 func() time.Time
	life                time.Duration
	most, mostOfAnOwner int

	mu    sync.Mutex
	items map[string]*shelved[V]
}

// shelved is an item of a shelf, with the owner whose limit it counts against.
type shelved[V any] struct {
	value V
	owner string
	added time.Time
}

// newShelf returns an empty shelf. Items expire after life. The shelf has at most most items, and
// at most mostOfAnOwner of the same owner.
func newShelf[V any](
	now func() time.Time,
	life time.Duration,
	most, mostOfAnOwner int,
) *shelf[V] {
	return &shelf[V]{
		now:           now,
		life:          life,
		most:          most,
		mostOfAnOwner: mostOfAnOwner,
		items:         make(map[string]*shelved[V]),
	}
}

// put adds a value.
func (s *shelf[V]) put(key, owner string, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(key, owner, value)
}

// putLocked adds an item and drops expired ones. At a limit it drops the oldest item, preferably of
// the same owner, so that one owner cannot displace the items of others. It visits all items, whose
// number is limited.
func (s *shelf[V]) putLocked(key, owner string, value V) {
	now := s.now()
	own := 0
	oldest := ""
	oldestOwn := ""
	for k, item := range s.items {
		if now.Sub(item.added) > s.life {
			delete(s.items, k)
			continue
		}
		if oldest == "" || item.added.Before(s.items[oldest].added) {
			oldest = k
		}
		if item.owner != owner {
			continue
		}
		own++
		if oldestOwn == "" || item.added.Before(s.items[oldestOwn].added) {
			oldestOwn = k
		}
	}
	switch {
	case own >= s.mostOfAnOwner:
		delete(s.items, oldestOwn)
	case len(s.items) >= s.most:
		delete(s.items, oldest)
	}
	s.items[key] = &shelved[V]{value, owner, now}
}

// get returns a value.
func (s *shelf[V]) get(key string) (value V, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.getLocked(key)
}

// getLocked returns the item of a key, if it exists and has not expired. It does not remove the
// item.
func (s *shelf[V]) getLocked(key string) (value V, ok bool) {
	item := s.items[key]
	if item == nil || s.now().Sub(item.added) > s.life {
		return value, false
	}
	return item.value, true
}

// take removes and returns a value: of several callers, one gets it.
func (s *shelf[V]) take(key string) (value V, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.getLocked(key)
	delete(s.items, key)
	return value, ok
}

// first adds a key and reports whether it was missing: of several callers, one is first.
func (s *shelf[V]) first(key string, value V) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.getLocked(key); ok {
		return false
	}
	s.putLocked(key, "", value)
	return true
}
