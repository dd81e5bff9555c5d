package server

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

func TestInflightWaitsWhileMoreBegin(t *testing.T) {
	var f inflight
	var workers, waiters sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 2000 {
				f.begin()
				f.end()
			}
		})
		waiters.Go(func() {
			for range 500 {
				if err := f.wait(t.Context()); err != nil {
					t.Errorf("wait = %v", err)
				}
			}
		})
	}
	workers.Wait()
	waiters.Wait()
}

func TestInflightWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f inflight
		f.begin()
		f.begin()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		go func() { ended <- f.wait(ctx) }()
		synctest.Wait()
		f.end()
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("wait ended with a request in flight")
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("wait = %v after its context ended, want that error", err)
		}
		for range 2 {
			go func() { ended <- f.wait(t.Context()) }()
		}
		synctest.Wait()
		f.end()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("wait = %v with nothing in flight, want nil", err)
			}
		}
	})
}
