package freeze

import (
	"context"
	"sync"
	"sync/atomic"
)

// inParallel does work for each item, at most n at the same time, and returns the outcomes
// in the order of the items. It returns when all work has stopped.
func inParallel[T, R any](ctx context.Context, n int, items []T, work func(T) R) ([]R, error) {
	results := make([]R, len(items))
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for i := int(taken.Add(1)) - 1; i < len(items) && ctx.Err() == nil; i = int(taken.Add(1)) - 1 {
				results[i] = work(items[i])
			}
		})
	}
	workers.Wait()
	return results, ctx.Err()
}
