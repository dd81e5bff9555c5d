package server

import (
	"maps"
	"slices"
	"sync"
)

// registry is a map that is safe for concurrent use. The zero value is empty.
type registry[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]V
}

// add adds an entry unless its key exists, and reports whether it did.
func (r *registry[K, V]) add(key K, v V) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[key]; ok {
		return false
	}
	if r.entries == nil {
		r.entries = make(map[K]V)
	}
	r.entries[key] = v
	return true
}

// get returns the entry of key, or the zero value.
func (r *registry[K, V]) get(key K) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[key]
}

// remove removes and returns the entry of key, or returns the zero value.
func (r *registry[K, V]) remove(key K) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.entries[key]
	delete(r.entries, key)
	return v
}

// all returns the entries in any order.
func (r *registry[K, V]) all() []V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.entries))
}
