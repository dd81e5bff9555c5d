package freeze

import (
	"context"
	"sync"
	"sync/atomic"
)

// inParallel does work for each item, as concurrently as opts allow, and returns the
// outcomes in the order of the items. It returns when all work has stopped.
func inParallel[T, R any](
	ctx context.Context,
	opts *Requests,
	items []T,
	work func(T) R,
) ([]R, error) {
	results := make([]R, len(items))
	report := func(done int64) {
		if opts.Compared != nil {
			opts.Compared(int(done), len(items))
		}
	}
	var taken, done atomic.Int64
	report(0)
	var workers sync.WaitGroup
	for range opts.Concurrency {
		workers.Go(func() {
			next := func() int { return int(taken.Add(1)) - 1 }
			for i := next(); i < len(items) && ctx.Err() == nil; i = next() {
				results[i] = work(items[i])
				report(done.Add(1))
			}
		})
	}
	workers.Wait()
	return results, ctx.Err()
}
