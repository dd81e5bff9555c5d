package live

import (
	"cmp"
	"slices"
	"sync"
)

// Roster is the servers that a program keeps alive at the moment. The zero value
// is empty and ready, and it is safe for concurrent use. [Roster.Add] is made for
// [Options.Opened].
type Roster struct {
	mu  sync.Mutex
	all map[*Source]struct{}
}

// Add puts a server on the roster until closed is called.
func (r *Roster) Add(s *Source) (closed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[*Source]struct{})
	}
	r.all[s] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, s)
	}
}

// States returns how the servers are now, sorted by name. Two have one name while
// one takes the place of the other: the one that was begun first comes first.
func (r *Roster) States() []State {
	r.mu.Lock()
	sources := make([]*Source, 0, len(r.all))
	for s := range r.all {
		sources = append(sources, s)
	}
	r.mu.Unlock()
	slices.SortFunc(sources, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(a.opts.Name, b.opts.Name), a.opened.Compare(b.opened))
	})
	states := make([]State, 0, len(sources))
	for _, s := range sources {
		if st := s.State(); st.Phase != Closed {
			states = append(states, st)
		}
	}
	return states
}
