package mcp

import (
	"context"
	"sync"
	"time"
)

// errRevoked answers requests that were cancelled as their token has ended. It has no
// HTTP status of its own: a client that is answered with 401 gets another token and
// repeats the request, which may have been carried out.
var errRevoked = Errorf(CodeToolDenied,
	"the request was cancelled: its token has expired or was revoked, or can no longer be verified")

// revalidations is how many requests are checked at the same time.
const revalidations = 16

// watch sees to it that the requests of the set are revalidated. s.mu is held.
func (s *requestSet) watch() {
	if s.watching {
		return
	}
	s.watching = true
	time.AfterFunc(keepAlive, s.revalidate)
}

// revalidate cancels the requests whose clients may not wait any longer, and comes
// again as long as there are others.
func (s *requestSet) revalidate() {
	s.mu.Lock()
	var waiting []*requestContext
	for rc := range s.set {
		if rc.valid != nil {
			waiting = append(waiting, rc)
		}
	}
	s.watching = len(waiting) > 0
	s.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	requests := make(chan *requestContext)
	var workers sync.WaitGroup
	for range min(revalidations, len(waiting)) {
		workers.Go(func() {
			for rc := range requests {
				if !rc.valid(context.WithoutCancel(rc.parent)) {
					rc.cancelBecause(errRevoked)
				}
			}
		})
	}
	for _, rc := range waiting {
		requests <- rc
	}
	close(requests)
	workers.Wait()
	time.AfterFunc(keepAlive, s.revalidate)
}
