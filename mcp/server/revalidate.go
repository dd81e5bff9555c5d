package server

import (
	"context"
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

// watch schedules the revalidation of the set's requests. s.mu is held.
func (s *requestSet) watch() {
	if s.watching {
		return
	}
	s.watching = true
	time.AfterFunc(keepAlive, s.revalidate)
}

// revalidate cancels the requests whose clients may no longer wait, and schedules the
// next run if any other requests wait.
func (s *requestSet) revalidate() {
	s.mu.Lock()
	var waiting []*flight
	for f := range s.set {
		if f.valid != nil {
			waiting = append(waiting, f)
		}
	}
	s.watching = len(waiting) > 0
	s.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	requests := make(chan *flight)
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
	time.AfterFunc(keepAlive, s.revalidate)
}
