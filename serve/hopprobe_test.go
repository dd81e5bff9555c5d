package serve

import (
	"errors"
	"io"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// TestRequestToReplacedReplica guards a request in flight at a replica whose machine has lost its power and started
// again: nothing ends its connection, and the replica stays a member until its lease ends.
func TestRequestToReplacedReplica(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e) // b keeps its lease, as in the first seconds after a loss of power
	peer := a.replica.Find(t.Context(), b.replica.ID())
	if peer == nil {
		t.Fatal("the other replica was not found")
	}
	const idle = 5 // connections that look alive until they are used
	var open sync.WaitGroup
	var broken atomic.Int32
	open.Add(idle)
	dead := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == pingPath {
				broken.Add(1)
				panic(http.ErrAbortHandler)
			}
			open.Done()
			open.Wait()
		}),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = dead.Serve(b.replica.Listener()) }()
	t.Cleanup(func() { _ = dead.Close() })
	var requests sync.WaitGroup
	for range idle {
		requests.Go(func() {
			resp, err := askReplica(t.Context(), peer, "/")
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	requests.Wait()
	_ = b.replica.Listener().Close()
	started, err := cluster.Join(t.Context(), e, &cluster.Options{Listen: b.replica.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.Leave(t.Context()) })
	server := &http.Server{
		Handler:  http.NotFoundHandler(),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = server.Serve(started.Listener()) }()
	t.Cleanup(func() { _ = server.Close() })

	h := a.homes(&noProcesses{}).hop
	request := new(cluster.Canceler)
	watched := h.probes.watch(peer, request)
	defer h.probes.unwatch(watched, request)
	for deadline := time.Now().Add(10 * time.Second); request.Cause() == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the request waits for the lease of the replica to end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := broken.Load(); n != 1 {
		t.Errorf("%d probes on connections of the dead process, want 1", n)
	}
	if cause := request.Cause(); !errors.Is(cause, cluster.ErrGone) || h.probes.suspended(peer) {
		t.Errorf("the request ended with %v, suspended %v; want %v, false", cause, h.probes.suspended(peer), cluster.ErrGone)
	}
}
