package router

import (
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
)

// Notify tells the clients that have subscribed to a resource that its contents
// are different now.
func (r *Router) Notify(uri string) { r.watchers.tell(mcp.Change{URI: uri}) }

// Refresh tells all clients that what a [Filter] lets them see may have changed.
func (r *Router) Refresh() {
	r.watchers.tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
}

// Watch implements [mcp.Watcher].
func (r *Router) Watch(changed func(mcp.Change)) (stop func()) { return r.watchers.add(changed) }

// watchers are those who want to know of changes.
type watchers struct {
	mu   sync.RWMutex // held while they are told, so that stop waits for that
	next int
	set  map[int]func(mcp.Change)
}

func (w *watchers) add(changed func(mcp.Change)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.set == nil {
		w.set = make(map[int]func(mcp.Change))
	}
	id := w.next
	w.next++
	w.set[id] = changed
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.set, id)
	}
}

func (w *watchers) tell(c mcp.Change) {
	if c == (mcp.Change{}) {
		return
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, changed := range w.set {
		changed(c)
	}
}
