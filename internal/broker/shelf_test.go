package broker

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestShelfFirst guards that a form that is sent several times at once is used once.
func TestShelfFirst(t *testing.T) {
	for range 20_000 {
		s := newShelf[struct{}](time.Now, time.Minute, 10, 10)
		var firsts atomic.Int64
		var callers sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			callers.Go(func() {
				<-begin
				if s.first("form", struct{}{}) {
					firsts.Add(1)
				}
			})
		}
		close(begin)
		callers.Wait()
		if n := firsts.Load(); n != 1 {
			t.Fatalf("%d of 8 callers were first", n)
		}
	}
}
