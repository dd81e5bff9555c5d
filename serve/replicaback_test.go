package serve

import (
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// TestReplicaIsBack guards a replica that the others took for gone and that is back, as after a suspension: it is
// another peer, so what was found out about the previous one, and what ended with it, does not concern it.
func TestReplicaIsBack(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	h := a.homes(&noProcesses{}).hop
	id := b.replica.ID()
	gone := a.replica.Find(t.Context(), id)
	if gone == nil {
		t.Fatal("the other replica was not found")
	}
	suspension := &probe{waiting: make(map[*cluster.Canceler]struct{})}
	suspension.suspended.Store(true)
	h.probes.peers = map[*cluster.Peer]*probe{gone: suspension}
	record, err := e.Get(t.Context(), "member/"+id)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Delete(t.Context(), "member/"+id, record.Revision); err != nil {
		t.Fatal(err)
	}
	<-gone.Context().Done()
	back := a.replica.Known(id)
	for deadline := time.Now().Add(10 * time.Second); back == nil; back = a.replica.Known(id) {
		if time.Now().After(deadline) {
			t.Fatal("the other replica did not report again")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !h.probes.suspended(gone) || h.probes.suspended(back) {
		t.Error("a replica that is back is taken for suspended")
	}
	p := h.handler.placing
	p.peers = map[string]*peerLoad{id: {ReplicaLoad: ReplicaLoad{Processes: &ProcessLoad{}}}}
	h.retiring.Store(true)
	if peer, _ := p.choose(h); peer != back {
		t.Errorf("a caller is placed at %p, want %p; the previous one was %p", peer, back, gone)
	}
	if peer := h.successor("ann", nil); peer != back {
		t.Errorf("a session is handed over to %p, want %p", peer, back)
	}
	request := new(cluster.Canceler)
	watched := h.probes.watch(back, request)
	h.probes.run(gone, suspension)
	if request.Cause() != nil {
		t.Errorf("a request to the replica that is back ended with the previous one: %v", request.Cause())
	}
	h.probes.unwatch(watched, request)
}
