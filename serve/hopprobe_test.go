package serve

import (
	"errors"
	"io"
	"log"
	"net/http"
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
	if cause := request.Cause(); !errors.Is(cause, cluster.ErrGone) || h.probes.suspended(peer) {
		t.Errorf("the request ended with %v, suspended %v; want %v, false", cause, h.probes.suspended(peer), cluster.ErrGone)
	}
}
