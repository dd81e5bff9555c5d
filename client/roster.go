package client

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/order"
)

// Roster is the set of servers that a program currently keeps alive. The zero value is
// empty and ready to use, and it is safe for concurrent use. [Options.Roster] adds
// servers. A nil Roster records nothing.
type Roster struct {
	mu sync.Mutex
	// all are the open sources.
	all map[*Source]struct{}
	out map[string][]State // servers that could not be opened, by origin
}

// add adds a source; a nil Roster lists nothing.
func (r *Roster) add(s *Source) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[*Source]struct{})
	}
	r.all[s] = struct{}{}
}

func (r *Roster) remove(s *Source) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, s)
}

// LeftOut records servers that could not be opened, by name, and the reasons. It replaces
// earlier records of the same origin, such as a file.
func (r *Roster) LeftOut(by string, servers map[string]error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var states []State
	for name, err := range servers {
		st := State{
			Name:  name,
			Phase: LeftOut,
			Since: time.Now(),
			Error: err.Error(),
		}
		if i := slices.IndexFunc(r.out[by],
			func(old State) bool {
				return old.Name == name && old.Error == st.Error
			}); i >= 0 {
			st.Since = r.out[by][i].Since
		}
		states = append(states, st)
	}
	if r.out == nil {
		r.out = make(map[string][]State)
	}
	r.out[by] = states
}

// Rebuilt records the outcome of rebuilding the site called name. After an error the site
// is listed as [Stale], with the number of consecutive failures; after a success it is
// not listed.
func (r *Roster) Rebuilt(name string, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	by := "rebuild of " + name
	if err == nil {
		delete(r.out, by)
		return
	}
	st := State{
		Name:     name,
		Kind:     "site",
		Phase:    Stale,
		Since:    time.Now(),
		Failures: 1,
		Error:    err.Error(),
	}
	if old := r.out[by]; len(old) > 0 {
		st.Since = old[0].Since
		st.Failures = old[0].Failures + 1
	}
	if r.out == nil {
		r.out = make(map[string][]State)
	}
	r.out[by] = []State{st}
}

// States returns the states of the servers, sorted by name. While one server replaces
// another of the same name, the older one comes first.
func (r *Roster) States() []State {
	r.mu.Lock()
	sources := make([]*Source, 0, len(r.all))
	for s := range r.all {
		sources = append(sources, s)
	}
	var states []State
	for _, out := range r.out {
		states = append(states, out...)
	}
	r.mu.Unlock()
	slices.SortFunc(sources, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(a.opts.Name, b.opts.Name), a.opened.Compare(b.opened))
	})
	for _, s := range sources {
		if st := s.State(); st.Phase != Closed {
			states = append(states, st)
		}
	}
	order.StableBy(states, func(a, b State) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return states
}
