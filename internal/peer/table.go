package peer

import (
	"iter"
	"maps"
	"slices"
)

// Table assigns ids to requests and holds those that wait for an answer. Ids count up
// from 1 and are never reused. The zero value is empty. A Table is not safe for
// concurrent use: its owner guards it together with the rest of its state.
type Table[C any] struct {
	last    uint64
	waiting map[uint64]C
}

// Add adds a request and returns its id.
func (t *Table[C]) Add(c C) uint64 {
	if t.waiting == nil {
		t.waiting = make(map[uint64]C)
	}
	t.last++
	t.waiting[t.last] = c
	return t.last
}

// Get returns the request with that id, or the zero value if it does not wait.
func (t *Table[C]) Get(id uint64) C { return t.waiting[id] }

// Take removes the request with that id, and reports whether it was waiting.
func (t *Table[C]) Take(id uint64) (c C, ok bool) {
	c, ok = t.waiting[id]
	delete(t.waiting, id)
	return c, ok
}

// Assigned reports whether a request has had that id.
func (t *Table[C]) Assigned(id uint64) bool {
	return 0 < id && id <= t.last
}

// Len returns the number of requests.
func (t *Table[C]) Len() int { return len(t.waiting) }

// All yields the requests in no particular order.
func (t *Table[C]) All() iter.Seq[C] { return maps.Values(t.waiting) }

// Drain removes and returns all requests.
func (t *Table[C]) Drain() []C {
	all := slices.Collect(t.All())
	t.waiting = nil
	return all
}
