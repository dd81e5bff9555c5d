package compose

// maxRecent is how many results are kept. Most sources have one catalog at a time; those whose
// catalog depends on the caller have several, many of them equal.
const maxRecent = 16

// recent keeps the latest results of a computation that depends on catalogs. It is guarded by
// the lock of its owner.
type recent[T any] struct{ results []T }

// find returns a result that matches.
func (r *recent[T]) find(matches func(T) bool) (result T, ok bool) {
	for _, one := range r.results {
		if matches(one) {
			return one, true
		}
	}
	return result, false
}

// add keeps a result in place of the oldest one.
func (r *recent[T]) add(result T) {
	if len(r.results) == maxRecent {
		copy(r.results, r.results[1:])
		r.results = r.results[:maxRecent-1]
	}
	r.results = append(r.results, result)
}
