package mcp

import (
	"slices"
	"sync"
)

// Watchers is the set of watchers of a Source, for implementing [Watcher]. The zero value
// is ready to use. It is safe for concurrent use and must not be copied.
type Watchers struct {
	mu   sync.Mutex // guards list
	list []*watching
}

// watching is one registration with [Watchers].
type watching struct {
	mu      sync.Mutex   // held while changed runs
	changed func(Change) // nil after stop
}

// Watch implements [Watcher]. stop waits for a running call of changed, so changed must
// call neither stop nor Tell.
func (w *Watchers) Watch(changed func(Change)) (stop func()) {
	one := &watching{changed: changed}
	w.mu.Lock()
	w.list = append(w.list, one)
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.list = slices.DeleteFunc(w.list, func(other *watching) bool {
			return other == one
		})
		w.mu.Unlock()
		one.mu.Lock()
		one.changed = nil
		one.mu.Unlock()
	}
}

// Any reports whether there are watchers.
func (w *Watchers) Any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) > 0
}

// Tell notifies all watchers of a change, one after the other. A watcher never receives
// two changes concurrently. A zero Change is ignored.
func (w *Watchers) Tell(c Change) {
	if c == (Change{}) {
		return
	}
	w.mu.Lock()
	all := slices.Clone(w.list)
	w.mu.Unlock()
	for _, one := range all {
		one.tell(c)
	}
}

// tell calls changed with the lock held, so that stop can wait for a call that is in
// progress.
func (w *watching) tell(c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		w.changed(c)
	}
}
