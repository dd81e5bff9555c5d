package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// errRevoked answers requests that were cancelled because their token is no longer valid.
// It has no HTTP status of its own: after a 401, clients get another token and repeat the
// request, which may have been executed.
var errRevoked = mcp.Errorf(mcp.CodeToolDenied,
	"the request was cancelled: its token has expired or was revoked, or can no longer be verified")

// revalidations is the maximum number of concurrent checks.
const revalidations = 16

// watch schedules a revalidation of the set's requests, unless one is scheduled.
func (s *requestSet) watch() {
	if s.watching.CompareAndSwap(false, true) {
		time.AfterFunc(keepAlive, s.revalidate)
	}
}

// revalidate cancels the requests whose clients may no longer wait, and schedules the
// next run if any other requests wait.
func (s *requestSet) revalidate() {
	s.watching.Store(false) // from here on, new requests schedule the next run
	waiting := slices.DeleteFunc(s.all(), func(f *requestContext) bool {
		return f.valid == nil
	})
	if len(waiting) == 0 {
		return
	}
	requests := make(chan *requestContext)
	var workers sync.WaitGroup
	for range min(revalidations, len(waiting)) {
		workers.Go(func() {
			for f := range requests {
				if !f.valid(context.WithoutCancel(f.parent)) {
					f.cancelBecause(errRevoked)
				}
			}
		})
	}
	for _, f := range waiting {
		requests <- f
	}
	close(requests)
	workers.Wait()
	s.watch()
}
