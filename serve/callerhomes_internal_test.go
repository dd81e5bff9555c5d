package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// TestCallerStartedLate guards a home that was given up while a request used it: a process that the request has started
// since is stopped after the request, unless this replica is the home again.
func TestCallerStartedLate(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	processes := &noProcesses{}
	first, second := a.homes(processes), b.homes(&noProcesses{})
	used := func() *callerHome {
		t.Helper()
		h, _, err := first.find(t.Context(), "ann", homeQuery{fresh: true})
		if h == nil || err != nil {
			t.Fatalf("find = %v, %v; want this replica", h, err)
		}
		return h
	}
	lose := func(h *callerHome) {
		t.Helper()
		if err := a.replica.DeleteClaim(t.Context(), homeKey("ann")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := second.find(t.Context(), "ann", homeQuery{fresh: true}); err != nil {
			t.Fatal(err)
		}
		if err := first.write(t.Context(), h); !errors.Is(err, cluster.ErrLost) {
			t.Fatalf("write = %v, want ErrLost", err)
		}
	}
	h := used()
	lose(h)
	if len(processes.stopped) != 1 {
		t.Errorf("stopped %q when the home was lost", processes.stopped)
	}
	first.leave(h)
	if len(processes.stopped) != 2 {
		t.Errorf("stopped %q after the request, want ann twice", processes.stopped)
	}
	if err := b.replica.DeleteClaim(t.Context(), homeKey("ann")); err != nil {
		t.Fatal(err)
	}
	second.here = make(map[string]*callerHome)
	h = used()
	lose(h)
	if err := b.replica.DeleteClaim(t.Context(), homeKey("ann")); err != nil {
		t.Fatal(err)
	}
	again := used()
	first.leave(h)
	if len(processes.stopped) != 3 {
		t.Errorf("stopped %q, also for the home that is here again", processes.stopped)
	}
	first.leave(again)
}

// TestPlacedWithoutLoad guards programs that do not report how many processes they run: the home of a caller is the
// replica that was asked.
func TestPlacedWithoutLoad(t *testing.T) {
	homes := newOwner(t, cluster.NewMemory()).homes(&noProcesses{})
	h, peer, err := homes.find(t.Context(), "ann", homeQuery{place: true})
	if h == nil || peer != nil || err != nil {
		t.Fatalf("find = %v, %v, %v; want this replica", h, peer, err)
	}
	homes.leave(h)
}

// TestCallerChosenOnce guards requests of a caller that arrive together, such as those that waited for its home to be
// given up: they all belong to the replica that was chosen for the first, unless it does not answer.
func TestCallerChosenOnce(t *testing.T) {
	e := cluster.NewMemory()
	a, b, c := newOwner(t, e), newOwner(t, e), newOwner(t, e)
	homes := a.homes(&noProcesses{})
	homes.retiring.Store(true)
	peers := make(map[string]*peerLoad)
	for _, other := range []*owner{b, c} {
		id := other.replica.ID()
		if a.replica.Find(t.Context(), id) == nil {
			t.Fatal("a replica was not found")
		}
		peers[id] = &peerLoad{ReplicaLoad: ReplicaLoad{Processes: &ProcessLoad{}}}
	}
	homes.handler.placing.peers = peers
	find := func(caller string, unreachable ...string) string {
		t.Helper()
		q := homeQuery{place: true, fresh: true, unreachable: make(map[string]bool)}
		for _, id := range unreachable {
			q.unreachable[id] = true
		}
		_, peer, err := homes.find(t.Context(), caller, q)
		if peer == nil || err != nil {
			t.Fatalf("find = %v, %v; want another replica", peer, err)
		}
		return peer.ID
	}
	first := find("ann")
	for range 3 {
		if again := find("ann"); again != first {
			t.Fatalf("requests of a caller belong to %s and %s", first, again)
		}
	}
	second := find("bob")
	if second == first {
		t.Errorf("two callers belong to %s", first)
	}
	if other := find("ann", first); other != second {
		t.Errorf("a caller belongs to %s, which does not answer", other)
	}
	homes.notMoved("ann", first) // another request of the caller was at the replica that does not answer
	if again := find("ann"); again != second {
		t.Errorf("a newer choice was forgotten: %s instead of %s", again, second)
	}
	homes.notMoved("ann", second)
	if len(homes.chosen) != 1 {
		t.Errorf("the choice for a caller that was not moved is kept: %v", homes.chosen)
	}
	for i := range maxChosen - 1 {
		homes.chosen[fmt.Sprint(i)] = chosenHome{id: first, until: time.Now()}
	}
	find("cid")
	if len(homes.chosen) != 2 || homes.chosen["bob"].id != second {
		t.Errorf("%d choices are kept, want those for bob and cid", len(homes.chosen))
	}
}

// noProcesses is a source with a process for each caller, of which none runs.
type noProcesses struct {
	stopped []string
	stop    func() // called by StopFor if it is not nil
}

func (*noProcesses) PerPrincipal() bool  { return true }
func (*noProcesses) RunsFor(string) bool { return false }
func (n *noProcesses) StopFor(_ context.Context, caller string) {
	n.stopped = append(n.stopped, caller)
	if n.stop != nil {
		n.stop()
	}
}
func (*noProcesses) Guard(func(context.Context, string) (leave func(), err error)) {}

// homes returns the homes of a replica, without the loop that renews their records.
func (o *owner) homes(processes *noProcesses) *callerHomes {
	p := &hop{
		replica:  o.replica,
		sessions: o.all,
		log:      o.all.log,
		handler:  &Handler{server: o.server, placing: &placing{}},
	}
	p.homes = newCallerHomes(p, processes)
	return p.homes
}

// TestCallerDeparture guards a replica that is about to declare that it owns nothing: requests wait until it has, and
// then belong to another replica, which becomes the home of their caller.
func TestCallerDeparture(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	processes := &noProcesses{}
	from, to := a.homes(processes), b.homes(&noProcesses{})
	h, peer, err := from.find(t.Context(), "ann", homeQuery{})
	if h == nil || peer != nil || err != nil {
		t.Fatalf("find = %v, %v, %v; want this replica", h, peer, err)
	}
	from.leave(h)
	a.replica.Find(t.Context(), b.replica.ID()) // a knows b
	done := from.depart(t.Context())
	if len(processes.stopped) != 1 {
		t.Errorf("stopped the processes of %q, want ann", processes.stopped)
	}
	found := make(chan *cluster.Peer)
	go func() {
		_, peer, err := from.find(t.Context(), "ann", homeQuery{})
		if err != nil {
			t.Error(err)
		}
		found <- peer
	}()
	select {
	case <-found:
		t.Error("a request did not wait for the departure")
	case <-time.After(50 * time.Millisecond):
	}
	if err := a.replica.Depart(t.Context()); err != nil {
		t.Fatal(err)
	}
	done()
	if peer := <-found; peer == nil || peer.ID != b.replica.ID() {
		t.Errorf("after the departure, the request belongs to %v", peer)
	}
	// The next home may not know yet that the first one has departed: a refused connection is enough.
	refused := map[string]bool{a.replica.ID(): true}
	if h, _, err := to.find(t.Context(), "ann", homeQuery{fresh: true, unreachable: refused}); h == nil || err != nil {
		t.Errorf("the next home: %v, %v", h, err)
	}
}

// TestCallerRecordLost guards a home whose record the engine has lost: its replica writes it again, unless another one
// has become the home meanwhile. Then it stops the processes.
func TestCallerRecordLost(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	processes := &noProcesses{}
	first, second := a.homes(processes), b.homes(&noProcesses{})
	h, _, err := first.find(t.Context(), "ann", homeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	first.leave(h)
	lose := func() {
		t.Helper()
		if err := a.replica.DeleteClaim(t.Context(), homeKey("ann")); err != nil {
			t.Fatal(err)
		}
		first.markDirty(h)
	}
	lose()
	first.flush(t.Context())
	claim, err := b.replica.ReadClaim(t.Context(), homeKey("ann"))
	if err != nil || claim.Owner != a.replica.ID() {
		t.Errorf("after the record was lost: %+v, %v", claim, err)
	}
	if _, peer, err := second.find(t.Context(), "ann", homeQuery{}); peer == nil || err != nil {
		t.Errorf("another replica finds %v, %v", peer, err)
	}
	lose()
	if _, _, err := second.find(t.Context(), "ann", homeQuery{fresh: true}); err != nil {
		t.Error(err)
	}
	if err := first.write(t.Context(), h); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("write = %v, want ErrLost", err)
	}
	if len(processes.stopped) != 1 || first.fenced.Load() != 1 || len(first.all()) != 0 {
		t.Errorf("stopped %q, fenced %d, %d homes left", processes.stopped, first.fenced.Load(), len(first.all()))
	}
	if _, peer, err := first.find(t.Context(), "ann", homeQuery{}); peer == nil || err != nil {
		t.Errorf("the first replica finds %v, %v", peer, err)
	}
}

// TestCallerHandoverSuspended guards a replica that stops while the only other one does not answer: the home stays
// until the departure, and then moves to the other one if that is back.
func TestCallerHandoverSuspended(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	processes := &noProcesses{}
	from, to := a.homes(processes), b.homes(&noProcesses{})
	a.replica.Find(t.Context(), b.replica.ID()) // a knows b
	suspension := &probe{}
	suspension.suspended.Store(true)
	from.probes.peers = map[*cluster.Peer]*probe{a.replica.Find(t.Context(), b.replica.ID()): suspension}
	from.retiring.Store(true)
	for _, q := range []homeQuery{
		{},
		{move: true, place: true},
		{move: true, place: true, fresh: true},
	} {
		h, peer, err := from.find(t.Context(), "ann", q)
		if h == nil || peer != nil || err != nil || len(processes.stopped) > 0 {
			t.Fatalf("find(%+v) = %v, %v, %v, stopped %q; want this replica", q, h, peer, err, processes.stopped)
		}
		from.leave(h)
	}
	done := from.depart(t.Context())
	if err := a.replica.Depart(t.Context()); err != nil {
		t.Fatal(err)
	}
	done()
	_, peer, err := from.find(t.Context(), "ann", homeQuery{})
	if err != nil || peer == nil || peer.ID != b.replica.ID() {
		t.Fatalf("after the departure: %v, %v; want the other replica", peer, err)
	}
	silent := false
	for range 5 { // a test that is suspended itself cannot judge
		from.probes.peers[peer] = suspension
		suspension.suspended.Store(true)
		silent = silent || !from.probes.answers(peer) && from.probes.suspended(peer)
	}
	if !silent {
		t.Error("a replica that is not served answers")
	}
	server := &hophttp.Server{
		Handler: to.receive(nil),
		Log:     to.log,
	}
	go server.Serve(b.replica.Listener())
	t.Cleanup(func() { server.Close() })
	if !from.probes.answers(peer) || from.probes.suspended(peer) {
		t.Error("a replica that is back does not answer")
	}
}

// TestCallerDeclined guards a replica that has departed, and finds no other one: it declines the request of a replica
// that has forwarded it. That one has just come back, and may become the home itself.
func TestCallerDeclined(t *testing.T) {
	e := cluster.NewMemory()
	from := newOwner(t, e).homes(&noProcesses{})
	from.depart(t.Context())()
	call := func() *http.Request {
		return httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader("{}"))
	}
	for hops, declines := range map[int]bool{0: false, 1: true} {
		p := &placer{
			hop:      from.hop,
			forwards: hopped{hops: hops},
		}
		w := httptest.NewRecorder()
		_, done := p.homeOf(w, call(), "ann", nil)
		if got := w.Header().Get(hopDeclined) != ""; !done || w.Code != http.StatusServiceUnavailable || got != declines {
			t.Errorf("after %d hops: done %v, %d, declined %v", hops, done, w.Code, got)
		}
	}
	other := newOwner(t, e).homes(&noProcesses{})
	server := &hophttp.Server{
		Context: newHopContext,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := &placer{
				hop:      from.hop,
				forwards: *hoppedFrom(r.Context()),

				unreachable: map[string]bool{other.replica.ID(): true},
			}
			p.homeOf(w, r, "ann", nil)
		}),
		Log: from.log,
	}
	go server.Serve(from.replica.Listener())
	t.Cleanup(func() { server.Close() })
	p := &placer{hop: other.hop}
	w := httptest.NewRecorder()
	peer := other.replica.Find(t.Context(), from.replica.ID())
	if p.forwardTo(w, call(), peer) || !p.unreachable[peer.ID] || len(w.Header()) > 0 {
		t.Errorf("a declined request was answered: %d %v", w.Code, w.Header())
	}
}

// TestCallerReleased guards the home of a caller of which a replica has released a session alone: it is still the home.
// After its departure it is not, even if others do not know that yet.
func TestCallerReleased(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	from, to := a.homes(&noProcesses{}), b.homes(&noProcesses{})
	h, _, err := from.find(t.Context(), "ann", homeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	from.leave(h)
	id := a.replica.ID()
	for fields, departed := range map[hopped]bool{
		{released: released{by: id, revision: 7}}:               false,
		{released: released{by: id}}:                            true,
		{released: released{by: id, revision: 7}, departed: id}: true,
		{released: released{by: "r@another"}, departed: id}:     true,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
		p := &placer{
			hop:      to.hop,
			forwards: *hoppedFrom(newHopContext(t.Context(), fields.appendFields(nil, r))),
		}
		_, peer, _ := to.find(t.Context(), "ann", homeQuery{fresh: true, unreachable: p.notHomes()})
		if isHome := peer != nil && peer.ID == id; isHome == departed {
			t.Errorf("%+v: the home is found: %v", fields, isHome)
		}
	}
}

// TestCallerClaimedOnce guards two requests that find no record of a caller: the second one does not replace the home
// that the first has made since.
func TestCallerClaimedOnce(t *testing.T) {
	homes := newOwner(t, cluster.NewMemory()).homes(&noProcesses{})
	h, err := homes.claim(t.Context(), "ann", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := homes.claim(t.Context(), "ann", nil); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("claim again = %v, want ErrConflict", err)
	}
	if homes.all()[0] != h {
		t.Error("the home was replaced while it is used")
	}
	homes.leave(h)
}

// TestCallerDepartureIdle guards a request that may be about to start a process while its replica departs: the
// processes are stopped after it, and calls that take long do not hold the departure up.
func TestCallerDepartureIdle(t *testing.T) {
	processes := &noProcesses{}
	homes := newOwner(t, cluster.NewMemory()).homes(processes)
	h, _, err := homes.find(t.Context(), "ann", homeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan time.Time, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		ended <- time.Now()
		homes.leave(h)
	})
	homes.depart(t.Context())
	if stopped := time.Now(); len(ended) == 0 || (<-ended).After(stopped) || len(processes.stopped) != 1 {
		t.Errorf("stopped %q while a request was served", processes.stopped)
	}
	other := newOwner(t, cluster.NewMemory()).homes(processes)
	if h, _, err = other.find(t.Context(), "bob", homeQuery{}); err != nil {
		t.Fatal(err)
	}
	other.depart(t.Context())
	if len(processes.stopped) != 2 {
		t.Errorf("stopped %q, want bob at the end", processes.stopped)
	}
	other.leave(h)
}

// TestCallerDepartureDuringRelease guards a home that is being given up when its replica departs: the departure waits,
// as another replica may start a process afterwards.
func TestCallerDepartureDuringRelease(t *testing.T) {
	e := cluster.NewMemory()
	processes := &noProcesses{}
	homes := newOwner(t, e).homes(processes)
	h, _, err := homes.find(t.Context(), "ann", homeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	homes.leave(h)
	begun, exited := make(chan struct{}), make(chan struct{})
	processes.stop = func() {
		processes.stop = nil
		close(begun)
		<-exited
	}
	go homes.release(t.Context(), h)
	<-begun
	departed := make(chan struct{})
	go func() {
		homes.depart(t.Context())
		close(departed)
	}()
	select {
	case <-departed:
		t.Error("the replica departed while a process was exiting")
	case <-time.After(100 * time.Millisecond):
	}
	close(exited)
	<-departed
}

// TestCallerPermitDuringDeparture guards a request that uses a process of its caller while the departure of its replica
// waits for it: they do not wait for each other. Requests that arrive later belong to another replica.
func TestCallerPermitDuringDeparture(t *testing.T) {
	homes := newOwner(t, cluster.NewMemory()).homes(&noProcesses{})
	h, _, err := homes.find(t.Context(), "ann", homeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	departed := make(chan struct{})
	go func() {
		homes.depart(t.Context())()
		close(departed)
	}()
	for homes.departure() == nil {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	leave, err := homes.permit(t.Context(), "ann")
	if took := time.Since(began); err != nil || took > holdTime/2 {
		t.Fatalf("permit = %v after %v, want at once", err, took)
	}
	leave()
	homes.leave(h)
	<-departed
	if _, err := homes.permit(t.Context(), "ann"); err == nil {
		t.Error("a process was permitted after the departure")
	}
}
