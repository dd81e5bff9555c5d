package freeze

import (
	"context"
	"sync"
)

// inParallel does work for each item, at most n at the same time, and passes the outcomes
// to take in the order of the items. It returns when all work has stopped.
func inParallel[T, R any](ctx context.Context, n int, items []T, work func(T) R, take func(R)) error {
	type job struct {
		at   int
		item T
	}
	type done struct {
		at     int
		result R
	}
	jobs, results := make(chan job), make(chan done, n)
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for j := range jobs {
				results <- done{j.at, work(j.item)}
			}
		})
	}
	waiting := make(map[int]R)
	next, given, pending := 0, 0, 0
	for (given < len(items) && ctx.Err() == nil) || pending > 0 {
		var out chan<- job
		var j job
		// The outcomes waiting for their turn are bounded, too.
		if given < len(items) && ctx.Err() == nil && given-next < 64*n && pending < n {
			out, j = jobs, job{given, items[given]}
		}
		select {
		case out <- j:
			given++
			pending++
		case d := <-results:
			pending--
			waiting[d.at] = d.result
			for r, ok := waiting[next]; ok; r, ok = waiting[next] {
				delete(waiting, next)
				next++
				if ctx.Err() == nil {
					take(r)
				}
			}
		}
	}
	close(jobs)
	workers.Wait()
	return ctx.Err()
}
