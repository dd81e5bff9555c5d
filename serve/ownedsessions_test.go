package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// These tests are in the package itself because they stop a replica between two steps.

// steady is a stateless source, whose resources cannot be subscribed to while failing is set. While
// keeping is set, it is restartable instead.
type steady struct {
	mcp.Unimplemented

	failing, keeping atomic.Bool
}

func (s *steady) Subscribe(context.Context, string) error {
	if s.failing.Load() {
		return errors.New("the upstream server does not answer")
	}
	return nil
}

func (*steady) Watch(func(mcp.Change)) (stop func()) { return func() {} }

func (s *steady) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:      mcp.Implementation{Name: "steady", Version: "1"},
		Tools:       []mcp.Tool{{Name: "level"}},
		Resources:   []mcp.Resource{{URI: "test://a", Name: "a"}},
		Subscribe:   true,
		Logging:     true,
		Stateless:   !s.keeping.Load(),
		Restartable: s.keeping.Load(),
	}, nil
}

func (*steady) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	level := mcp.RequestFrom(ctx).Session().LogLevel().String()
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(level)}}, nil
}

// owner is a replica that owns sessions, without the loop that writes their records.
type owner struct {
	*sessionsAt
	replica *cluster.Replica
	source  *steady
	http    http.Handler
}

func newOwner(t *testing.T, e cluster.Engine) *owner {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, &cluster.Options{Name: "r"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	o := &Options{Logger: slog.New(slog.DiscardHandler)}
	o.Cluster = r
	so := mcpserver.Options{
		Replica:   r.ID(),
		StateKeys: [][]byte{[]byte(strings.Repeat("k", 32))},
	}
	all := newOwnedSessions(o)
	at := all.at("/mcp", &so)
	src := &steady{}
	s := mcpserver.New(src, &so)
	at.serve(s)
	if err := all.probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &owner{at, r, src, s.HTTPHandler(nil)}
}

// send sends a message for a session through w, and returns its id.
func (o *owner) send(w http.ResponseWriter, session, body string) (id string) {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	o.http.ServeHTTP(w, r)
	return w.Header().Get("Mcp-Session-Id")
}

func initializeAs(client string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"` + client + `","version":"1"}}}`
}

// start starts a session that has a record.
func (o *owner) start(t *testing.T) *ownedSession {
	t.Helper()
	s := o.all.find(o.send(httptest.NewRecorder(), "", initializeAs("c")))
	if s == nil || !o.all.flush(t.Context()) || s.revision == 0 {
		t.Fatal("no session with a record")
	}
	return s
}

// placer returns a placer for a request of a session that a replica has released, or not.
func (o *owner) placer(id string, how released) *placer {
	return &placer{
		hop:      &hop{replica: o.replica, sessions: o.all},
		at:       o.sessionsAt,
		id:       id,
		forwards: hopped{released: how},
	}
}

const setAlert = `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`

// TestChangeAtLostSession guards a replica whose session another one continues: it acknowledges
// nothing more for it, neither changes nor answers, however often it has found out.
func TestChangeAtLostSession(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	s := a.start(t)
	claim, err := b.replica.ReadClaim(t.Context(), s.key())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.replica.Adopt(t.Context(), s.key(), &claim, a.replica.ID(), time.Minute); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	fenced := &fencedWriter{
		ResponseWriter: w,
		fence:          s,
		request:        httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil),
	}
	for range 2 {
		if err := a.all.write(t.Context(), s); !errors.Is(err, cluster.ErrLost) {
			t.Errorf("write = %v, want ErrLost", err)
		}
		if err := a.all.verify(t.Context(), s); !errors.Is(err, cluster.ErrLost) {
			t.Errorf("verify = %v, want ErrLost", err)
		}
		if err := a.Changed(t.Context(), s.id); err == nil {
			t.Error("a change of a lost session was acknowledged")
		}
		if err := a.Forget(t.Context(), s.id); err == nil {
			t.Error("the end of a lost session was acknowledged")
		}
	}
	if a.server.HasSession(s.id) || a.all.find(s.id) != nil {
		t.Error("the lost session is still here")
	}
	a.send(fenced, s.id, setAlert)
	if w.Code != http.StatusBadGateway {
		t.Errorf("a request of a lost session was answered: %d %s", w.Code, w.Body)
	}
}

// TestRequestDuringRelease guards a session that is handed over while another request arrives: the
// request is not served without the fence, but waits until the session has left.
func TestRequestDuringRelease(t *testing.T) {
	a := newOwner(t, cluster.NewMemory())
	s := a.start(t)
	left := a.all.startLeaving(s, "successor")
	if left == nil {
		t.Fatal("the session stays")
	}
	if a.all.find(s.id) != s {
		t.Error("a session that the server still has counts as one without a record")
	}
	if a.all.enter(s) {
		t.Error("a message entered a session that is about to leave")
	}
	if a.all.release(t.Context(), s, "another") {
		t.Error("the session was released twice")
	}
	if got, how := a.all.movedTo(s.id); got != "successor" || how != (released{}) {
		t.Errorf("the session moves to %q, released %+v; it is still here", got, how)
	}
	waited := make(chan struct{})
	go func() {
		a.all.awaitLeft(t.Context(), s)
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("the session has left already")
	case <-time.After(10 * time.Millisecond):
	}
	close(left)
	<-waited
}

// TestDeparture guards a message that arrives just before a replica declares that it owns nothing: it is
// either answered before, or served by another replica. Its answer was refused: 502, "it may have run".
func TestDeparture(t *testing.T) {
	a := newOwner(t, cluster.NewMemory())
	s := a.start(t)
	if !a.all.enter(s) {
		t.Fatal("a message did not enter")
	}
	waited := make(chan func())
	go func() { waited <- a.all.beginDeparture(t.Context()) }()
	for a.all.enter(s) { // until the departure has begun
		a.all.leave(s)
		runtime.Gosched()
	}
	select {
	case <-waited:
		t.Fatal("the replica departs during a message")
	default:
	}
	a.all.leave(s)
	departed := <-waited
	if a.all.enter(s) {
		t.Error("a message entered during the departure")
	}
	departed()
	a.all.awaitLeft(t.Context(), s)
}

// TestReleaseUnderLoad hands sessions over while their clients change them: a change that was
// acknowledged is in the record.
func TestReleaseUnderLoad(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	for range 200 {
		s := a.start(t)
		var racing sync.WaitGroup
		acknowledged := "info"
		racing.Go(func() {
			for n := 0; a.server.HasSession(s.id); n++ {
				p := a.placer(s.id, released{})
				w := httptest.NewRecorder()
				placed, done, ok := p.local(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil))
				if done || !ok {
					continue
				}
				level := []string{"alert", "error"}[n%2]
				a.send(placed.w, s.id, strings.Replace(setAlert, "alert", level, 1))
				if placed.leave != nil {
					placed.leave()
				}
				if w.Code == http.StatusOK {
					acknowledged = level
				}
			}
		})
		over := make(chan struct{})
		var renewing sync.WaitGroup
		renewing.Go(func() { // the record is renewed meanwhile, for which a release waits
			for {
				select {
				case <-over:
					return
				default:
					_ = s.lock(context.Background())
					runtime.Gosched()
					s.unlock()
				}
			}
		})
		racing.Go(func() {
			for !a.all.release(t.Context(), s, "successor") {
				runtime.Gosched()
			}
		})
		racing.Wait()
		close(over)
		renewing.Wait()
		if a.server.HasSession(s.id) || a.all.find(s.id) != nil {
			t.Fatal("a released session is still here")
		}
		claim, err := b.replica.ReadClaim(t.Context(), s.key())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.server.RestoreSession(s.id, claim.Value); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		b.send(w, s.id, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"level"}}`)
		if !strings.Contains(w.Body.String(), acknowledged) {
			t.Fatalf("%s was acknowledged, and the record has %s", acknowledged, w.Body)
		}
	}
}

// TestSessionEndedBeforeStarted guards against sessions that are kept for ever: the limits can end
// one before its start has been reported.
func TestSessionEndedBeforeStarted(t *testing.T) {
	a := newOwner(t, cluster.NewMemory())
	a.Ended("ended")
	a.Started("ended")
	if a.all.find("ended") != nil || len(a.all.dirty) != 0 {
		t.Error("a session that has ended is kept")
	}
}

// TestAbsentAtOneEndpoint guards that a request at another endpoint does not make a session
// unknown at its own.
func TestAbsentAtOneEndpoint(t *testing.T) {
	a := newOwner(t, cluster.NewMemory())
	other := &sessionsAt{all: a.all, path: "/mcp/other"}
	a.all.noteAbsent("id", other.keyOf("id"))
	if a.all.isAbsent(a.keyOf("id")) || !a.all.isAbsent(other.keyOf("id")) {
		t.Error("a session counts as absent at the wrong endpoint")
	}
}

// tooLarge is an engine that refuses large records, as NATS does.
type tooLarge struct{ cluster.Engine }

func (e tooLarge) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if len(value) > 4<<10 && strings.HasPrefix(key, sessionGroup) {
		return 0, errors.New("too large")
	}
	return e.Engine.Create(ctx, key, value, ttl)
}

// TestOneRecordFails guards that a session whose record cannot be stored does not keep the records
// of others from being written.
func TestOneRecordFails(t *testing.T) {
	a := newOwner(t, tooLarge{cluster.NewMemory()})
	for i := range 20 {
		name := "c"
		if i == 7 {
			name = strings.Repeat("c", 5<<10)
		}
		a.send(httptest.NewRecorder(), "", initializeAs(name))
	}
	if a.all.flush(t.Context()) {
		t.Error("the record that failed is not tried again")
	}
	if n := len(a.all.dirty); n != 1 {
		t.Errorf("%d sessions have no record, want 1", n)
	}
}

// TestAdoptionThatFails guards a session that a replica adopts but cannot continue at present: its
// record stays, and the next request continues it. A record that the replica cannot read is left to
// others.
func TestAdoptionThatFails(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	s := a.start(t)
	w := httptest.NewRecorder()
	a.send(w, s.id, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://a"}}`)
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "error") {
		t.Fatalf("subscribe: %d %s", w.Code, w.Body)
	}
	adopt := func() error {
		claim, err := b.replica.ReadClaim(t.Context(), s.key())
		if err != nil {
			t.Fatal(err)
		}
		return b.placer(s.id, released{a.replica.ID(), claim.Revision}).adopt(t.Context(), &claim)
	}
	other := mcpserver.New(b.source, &mcpserver.Options{StateKeys: [][]byte{[]byte(strings.Repeat("o", 32))}})
	usual := b.server
	b.sessionsAt.server = other
	if err := adopt(); !errors.Is(err, errUnreadable) {
		t.Errorf("with another key: %v, want errUnreadable", err)
	}
	b.sessionsAt.server = usual
	if claim, err := b.replica.ReadClaim(t.Context(), s.key()); err != nil || claim.Owner != a.replica.ID() {
		t.Errorf("the owner of a record that cannot be read is %q, %v", claim.Owner, err)
	}
	full := mcpserver.New(b.source, &mcpserver.Options{
		StateKeys: [][]byte{[]byte(strings.Repeat("k", 32))},
		Budget:    mcpserver.Budget{Bytes: 1},
	})
	b.sessionsAt.server = full
	if err := adopt(); !errors.Is(err, errNotRestored) || full.HasSession(s.id) || b.all.find(s.id) != nil {
		t.Errorf("without room: %v, want errNotRestored", err)
	}
	b.sessionsAt.server = usual
	b.all.flush(t.Context())
	if err := adopt(); err != nil || !b.server.HasSession(s.id) {
		t.Errorf("the next attempt: %v", err)
	}
	for _, failing := range []bool{true, false} {
		want := http.StatusOK
		if failing {
			want = http.StatusServiceUnavailable
		}
		b.source.failing.Store(failing)
		w := httptest.NewRecorder()
		b.send(w, s.id, setAlert)
		if w.Code != want || failing && w.Header().Get("Retry-After") == "" {
			t.Errorf("subscribing fails (%v): %d %s, want %d", failing, w.Code, w.Body, want)
		}
	}
}

// TestGuests guards the calls of a session whose owner may be alive: another replica serves them only if the
// source keeps nothing for the session.
func TestGuests(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	s := a.start(t)
	claim, err := b.replica.ReadClaim(t.Context(), s.key())
	if err != nil {
		t.Fatal(err)
	}
	for keeps, want := range map[bool]int{false: http.StatusOK, true: http.StatusServiceUnavailable} {
		b.source.keeping.Store(keeps)
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(setAlert))
		_, done, ok := b.placer(s.id, released{}).asGuest(w, r, &claim)
		if !ok || done != keeps || w.Code != want || keeps && w.Header().Get("Retry-After") == "" {
			t.Errorf("a source that keeps something (%v): answered %v with %d, want %d", keeps, done, w.Code, want)
		}
	}
}

// TestReleaseTakenBack guards a replica that was asked to continue a session and hung: the owner has taken
// the session back meanwhile, so the request that arrives late releases nothing.
func TestReleaseTakenBack(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	s := a.start(t)
	if !a.all.release(t.Context(), s, b.replica.ID()) {
		t.Fatal("the session is not released")
	}
	asked := released{a.replica.ID(), s.releasedAt()}
	if to, how := a.all.movedTo(s.id); to != b.replica.ID() || how != asked {
		t.Errorf("later requests go to %q as %+v, want %+v", to, how, asked)
	}
	claim, err := b.replica.ReadClaim(t.Context(), s.key())
	if err != nil || !asked.is(&claim) {
		t.Fatalf("the record is of revision %d, %v; %+v was released", claim.Revision, err, asked)
	}
	if err := a.placer(s.id, released{}).adopt(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	taken, err := b.replica.ReadClaim(t.Context(), s.key())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*cluster.Claim{"read before": &claim, "read now": &taken} {
		if err := b.placer(s.id, asked).adopt(t.Context(), c); err == nil || b.server.HasSession(s.id) {
			t.Errorf("with the record %s: %v, the session has two owners", name, err)
		}
	}
	if !a.server.HasSession(s.id) {
		t.Error("the owner has lost its session")
	}
	if to, how := a.all.movedTo(s.id); to != "" || how != (released{}) {
		t.Errorf("the session that was taken back continues at %q, released %+v", to, how)
	}
}

// TestRequestsAfterRelease guards the requests that follow the one with which a session was handed over: they release
// it as well, so that the other replica continues it whichever arrives first, and does not send one back.
func TestRequestsAfterRelease(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e)
	s := a.start(t)
	if a.replica.Find(t.Context(), b.replica.ID()) == nil || !a.all.release(t.Context(), s, b.replica.ID()) {
		t.Fatal("the session is not released")
	}
	arrived := make(chan http.Header, 1)
	other := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Header
	})}
	go func() { _ = other.Serve(b.replica.Listener()) }()
	t.Cleanup(func() { _ = other.Close() })
	hop := a.homes(&noProcesses{}).hop
	hop.handler.hop, hop.handler.records = hop, a.sessionsAt
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader("{}"))
	if _, done := hop.handler.placeSession(httptest.NewRecorder(), r, s.id); !done {
		t.Fatal("the request is served here")
	}
	want := strconv.FormatUint(s.releasedAt(), 10)
	var got http.Header
	select {
	case got = <-arrived:
	default:
		t.Fatal("the request was not forwarded")
	}
	if got.Get(hopReleased) != a.replica.ID() || got.Get(hopRevision) != want {
		t.Errorf("forwarded with %v, want the release of revision %s by %s", got, want, a.replica.ID())
	}
}

// TestReadsAreBounded ensures that requests that are not authenticated read a limited number of records at once, and
// that the others wait.
func TestReadsAreBounded(t *testing.T) {
	a := newOwner(t, cluster.NewMemory())
	s := a.start(t)
	for range maxReads {
		a.all.reads <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.all.read(ctx, s.key()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beyond the limit: %v", err)
	}
	time.AfterFunc(10*time.Millisecond, func() { <-a.all.reads })
	if claim, err := a.all.read(t.Context(), s.key()); err != nil || claim.Owner != a.replica.ID() {
		t.Errorf("after one has ended: %+v, %v", claim, err)
	}
}

// TestDeletionsDuringOutage guards the goroutine that writes the records of all sessions: if the engine fails, it does
// not wait for each record that is to be deleted. What is left is deleted later.
func TestDeletionsDuringOutage(t *testing.T) {
	e := &countingEngine{Engine: cluster.NewMemory()}
	a := newOwner(t, e)
	const ended = 100
	a.all.mu.Lock()
	for i := range ended {
		a.all.deleteLocked(a.keyOf(strconv.Itoa(i)))
	}
	a.all.mu.Unlock()
	e.failing.Store(true)
	if a.all.flush(t.Context()) {
		t.Error("records were deleted without the engine")
	}
	if asked := e.asked.Load(); asked > 2*recordWriters {
		t.Errorf("the engine was asked %d times, want at most %d", asked, 2*recordWriters)
	}
	if left := len(a.all.deleted); left != ended {
		t.Errorf("%d records are left to be deleted, want %d", left, ended)
	}
	e.failing.Store(false)
	if !a.all.flush(t.Context()) || len(a.all.deleted) != 0 {
		t.Errorf("%d records are left once the engine is back", len(a.all.deleted))
	}
}

// countingEngine is an engine that reads no sessions while failing is set, and counts those questions.
type countingEngine struct {
	cluster.Engine

	failing atomic.Bool
	asked   atomic.Int64
}

func (e *countingEngine) Get(ctx context.Context, key string) (cluster.Record, error) {
	if e.failing.Load() && strings.HasPrefix(key, sessionGroup+"/") {
		e.asked.Add(1)
		return cluster.Record{}, errors.New("down")
	}
	return e.Engine.Get(ctx, key)
}
