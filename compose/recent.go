package compose

import "slices"

// maxRecent is how many results are kept, and maxRecentBytes the size of their catalogs. Most
// sources have one catalog at a time; those whose catalog depends on the caller have several,
// many of them equal.
const (
	maxRecent      = 16
	maxRecentBytes = 64 << 20
)

// recent keeps the latest results of a computation that depends on catalogs. It is guarded by
// the lock of its owner.
type recent[T any] struct {
	// results are the results, oldest first, and sizes the sizes of their catalogs in bytes.
	results []T
	sizes   []int64
	size    int64 // the sum of sizes
}

// find returns a result that matches.
func (r *recent[T]) find(matches func(T) bool) (result T, ok bool) {
	for _, one := range r.results {
		if matches(one) {
			return one, true
		}
	}
	return result, false
}

// add keeps a result whose catalog has a size, in place of the oldest ones if there are too
// many, or if they are too large.
func (r *recent[T]) add(result T, size int64) {
	for len(r.results) > 0 && (len(r.results) == maxRecent || r.size+size > maxRecentBytes) {
		r.size -= r.sizes[0]
		r.results = slices.Delete(r.results, 0, 1)
		r.sizes = slices.Delete(r.sizes, 0, 1)
	}
	r.results = append(r.results, result)
	r.sizes = append(r.sizes, size)
	r.size += size
}
