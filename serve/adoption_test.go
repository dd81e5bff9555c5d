package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/test/cutengine"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

// stateless is a stateless source with tools that answer, wait, and report the log level.
type stateless struct {
	changing

	started chan struct{}
	release chan struct{}
	// stateful means that it declares to keep something for sessions.
	stateful bool
}

func newStateless() *stateless {
	return &stateless{
		started: make(chan struct{}, 100),
		release: make(chan struct{}),
	}
}

func (s *stateless) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := s.changing.Catalog(ctx)
	cat.Tools = []mcp.Tool{{Name: "echo"}, {Name: "wait"}, {Name: "level"}}
	cat.Logging = true
	cat.Stateless = !s.stateful
	return cat, err
}

func (s *stateless) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := string(p.Arguments)
	switch p.Name {
	case "level":
		text = mcp.RequestFrom(ctx).Session().LogLevel().String()
	case "wait":
		s.started <- struct{}{}
		select {
		case <-s.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// startSession starts a session and waits until the engine has its record.
func startSession(t *testing.T, p *replica, e cluster.Engine) (header map[string]string) {
	t.Helper()
	status, session, answer := p.post(t, nil, initialize)
	if status != http.StatusOK {
		t.Fatalf("initialize: %d %s", status, answer)
	}
	waitFor(t, "a record of the session", func() bool {
		all, _ := e.List(t.Context(), "session")
		return len(all) > 0
	})
	return map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s in time", what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func callOf(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}}}`,
		id, tool, id)
}

// mustCall calls echo and fails unless the answer is right.
func (p *replica) mustCall(t *testing.T, header map[string]string, id int) {
	t.Helper()
	status, _, answer := p.post(t, header, callOf(id, "echo"))
	if status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`{\"n\":%d}`, id)) {
		t.Errorf("call %d: %d %s", id, status, answer)
	}
}

// metric returns the sum of the samples of a metric with that prefix.
func (p *replica) metric(t *testing.T, prefix string) (sum float64) {
	t.Helper()
	resp, err := http.Get(strings.TrimSuffix(p.url, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(body)) {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		var value float64
		fields := strings.Fields(line)
		_, _ = fmt.Sscan(fields[len(fields)-1], &value)
		sum += value
	}
	return sum
}

const adoptions = "slipway_cluster_sessions_adopted_total"

// TestHandover guards a replica that stops under load: its sessions continue at others, with their
// log level, subscriptions and event numbers, and no call fails.
func TestHandover(t *testing.T) {
	race.SkipSlow(t)
	e := cluster.NewMemory()
	src := newStateless()
	a := startLeased(t, e, src, time.Minute, steadyLease)
	others := []*replica{
		startLeased(t, e, src, time.Second, steadyLease),
		startLeased(t, e, src, time.Second, steadyLease),
	}
	header := startSession(t, a, e)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`,
	} {
		if status, _, answer := a.post(t, header, body); status/100 != 2 {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
	}
	sessions := []map[string]string{header}
	for range 20 {
		sessions = append(sessions, startSession(t, a, e))
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	calls := make([]atomic.Int64, len(sessions))
	for i := range sessions {
		clients.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				others[n%2].mustCall(t, sessions[i], n)
				calls[i].Add(1)
			}
		})
	}
	<-time.After(100 * time.Millisecond)
	a.stop()
	for i := range calls {
		before := calls[i].Load()
		waitFor(t, "calls after the end", func() bool { return calls[i].Load() > before+10 })
	}
	close(stop)
	clients.Wait()
	moved := others[0].metric(t, adoptions+`{how="handover"}`) + others[1].metric(t, adoptions+`{how="handover"}`)
	if moved != 21 {
		t.Errorf("%v sessions were handed over, want 21", moved)
	}
	for _, p := range others {
		if _, _, answer := p.post(t, header, callOf(9, "level")); !strings.Contains(answer, "alert") {
			t.Errorf("log level after the handover: %s", answer)
		}
	}
	resumed := others[0].stream(t, header, "0-7")
	expectEvent(t, resumed, "0-8", "list_changed")
	for e := range resumed {
		if strings.Contains(e, "resources/updated") {
			break // the subscription, because an update may have been missed
		}
	}
	src.change(mcp.Change{URI: "test://a"})
	for e := range resumed {
		if strings.Contains(e, "resources/updated") {
			return
		}
	}
	t.Error("the subscription was lost")
}

func expectEvent(t *testing.T, events <-chan string, id, part string) {
	t.Helper()
	select {
	case e := <-events:
		if !strings.HasPrefix(e, id+" ") || !strings.Contains(e, part) {
			t.Errorf("event %q, want number %s with %s", e, id, part)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("no event, want %s", id)
	}
}

// stream opens the notification stream of a session after an event, and returns its events as
// "ID DATA". The channel is closed after five seconds.
func (p *replica) stream(t *testing.T, header map[string]string, last string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET: %s", resp.Status)
	}
	events := make(chan string, 100)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		id := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = rest
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- id + " " + data
			}
		}
	}()
	return events
}

// TestHandoverWaits guards that a session stays where its calls are in flight, so that a
// cancellation reaches them, and moves afterwards.
func TestHandoverWaits(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	src := newStateless()
	a, b, c := startDraining(t, e, src, time.Minute), startReplica(t, e, src), startReplica(t, e, src)
	header := startSession(t, a, e)
	answered := make(chan int, 1)
	go func() {
		status, _, _ := b.post(t, header, callOf(8, "wait"))
		answered <- status
	}()
	<-src.started
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.stop()
	}()
	waitFor(t, "retirement", func() bool { return leaving(e) })
	b.mustCall(t, header, 9) // while it waits
	c.post(t, header, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	select {
	case <-answered:
	case <-time.After(5 * time.Second):
		t.Error("the cancellation did not reach the call")
	}
	<-stopped
	b.mustCall(t, header, 10)
	c.mustCall(t, header, 11)
}

// leaving reports whether a replica is about to leave.
func leaving(e cluster.Engine) bool {
	all, _ := e.List(context.Background(), "member")
	for _, m := range all {
		if strings.Contains(string(m.Value), `"leaving":true`) {
			return true
		}
	}
	return false
}

// TestTakeover guards a replica that is cut off from the engine: another one continues its
// sessions once its lease is over, exactly one does, and the first one answers nothing more for
// them, neither calls in flight nor new ones, until it is back and forwards them.
func TestTakeover(t *testing.T) {
	race.SkipSlow(t)
	e := cluster.NewMemory()
	src := newStateless()
	cut := &cutengine.Engine{Engine: e}
	a := startDraining(t, cut, src, time.Minute)
	b, c := startReplica(t, e, src), startReplica(t, e, src)
	header, idle := startSession(t, a, e), startSession(t, a, e)
	a.mustCall(t, header, 1)
	answered := make(chan string, 1)
	go func() {
		status, _, answer := a.post(t, header, callOf(8, "wait"))
		answered <- fmt.Sprint(status, answer)
	}()
	<-src.started
	<-time.After(1200 * time.Millisecond) // b and c have just joined, and adopt after the time of a lease
	cut.Cut.Store(true)
	waitFor(t, "adoption", func() bool {
		// Forwarded, refused for a moment, and then served here.
		status, _, answer := b.post(t, header, callOf(2, "echo"))
		if status != http.StatusOK && status != http.StatusServiceUnavailable && status != http.StatusBadGateway {
			t.Errorf("call during the partition: %d %s", status, answer)
		}
		return b.metric(t, adoptions) > 0
	})
	status, _, answer := a.post(t, header, callOf(3, "echo"))
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "engine") {
		t.Errorf("a replica without a lease answered %d %s, want 503", status, answer)
	}
	close(src.release)
	if got := <-answered; !strings.HasPrefix(got, "502") || !strings.Contains(got, "may have run") {
		t.Errorf("a call in flight at a replica without a lease was answered: %s", got)
	}
	var clients sync.WaitGroup
	for i := range 20 {
		clients.Go(func() { []*replica{b, c}[i%2].mustCall(t, idle, i) })
	}
	clients.Wait()
	if n := b.metric(t, adoptions) + c.metric(t, adoptions); n != 2 {
		t.Errorf("%v adoptions of two sessions", n)
	}
	if status, _, _ := c.post(t, header, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel",`+
		`"params":{"level":"alert"}}`); status != http.StatusOK {
		t.Errorf("setLevel: %d", status)
	}
	cut.Cut.Store(false)
	waitFor(t, "the first replica again", func() bool {
		status, _, answer := a.post(t, header, callOf(4, "level"))
		return status == http.StatusOK && strings.Contains(answer, "alert")
	})
	if n := a.metric(t, "slipway_cluster_sessions_fenced_total"); n != 1 {
		t.Errorf("%v sessions were fenced at the first replica, want 1: the other was not used", n)
	}
	for _, p := range []*replica{a, b, c} {
		p.mustCall(t, idle, 5)
	}
	if status := b.delete(t, header); status != http.StatusNoContent {
		t.Errorf("DELETE: %d", status)
	}
	for i, p := range []*replica{a, b, c} {
		if status, _, _ := p.post(t, header, callOf(6, "echo")); status != http.StatusNotFound {
			t.Errorf("replica %d: an ended session got %d, want 404", i, status)
		}
	}
}

func (p *replica) delete(t *testing.T, header map[string]string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, p.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestSessionMovesTwice guards what replicas remember of where sessions are: two that take each other for the owner
// find the real one, and the first learns where it is.
func TestSessionMovesTwice(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	src := newStateless()
	engines := []*cutengine.Engine{{Engine: e}, {Engine: e}}
	first, second := startReplica(t, engines[0], src), startReplica(t, engines[1], src)
	third := startReplica(t, e, src)
	header := startSession(t, first, e)
	<-time.After(1200 * time.Millisecond) // they have just joined, and adopt after the time of a lease
	for i, to := range []*replica{second, third} {
		engines[i].Cut.Store(true)
		waitFor(t, "adoption", func() bool {
			_, _, _ = to.post(t, header, callOf(1, "echo"))
			return to.metric(t, adoptions) > 0
		})
		engines[i].Cut.Store(false)
		waitFor(t, "the replica that was cut off", func() bool {
			status, _, _ := []*replica{first, second}[i].post(t, header, callOf(2, "echo"))
			return status == http.StatusOK
		})
	}
	for _, p := range []*replica{first, second} {
		status, _, answer := p.post(t, header,
			`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`)
		if status != http.StatusOK {
			t.Errorf("a change, which the owner alone can make: %d %s", status, answer)
		}
	}
	const answered = `slipway_cluster_hops_total{outcome="answered"}`
	before := first.metric(t, answered) + second.metric(t, answered)
	for i, p := range []*replica{first, second} {
		p.mustCall(t, header, i)
	}
	if n := first.metric(t, answered) + second.metric(t, answered) - before; n != 2 {
		t.Errorf("%v hops for two calls, want one each", n)
	}
}

// TestEngineDown guards that sessions continue where they are while no replica reaches the engine,
// for longer than a lease, and that a change that cannot be stored is refused.
func TestEngineDown(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := cluster.NewMemory()
	src := newStateless()
	engines := []*cutengine.Engine{{Engine: e}, {Engine: e}}
	const lease = 2 * time.Second // a busy machine may keep a replica from renewing a shorter one
	a := startLeased(t, engines[0], src, time.Second, lease)
	b := startLeased(t, engines[1], src, time.Second, lease)
	header := startSession(t, a, e)
	for _, p := range []*replica{a, b} {
		waitFor(t, "two replicas", func() bool { return p.metric(t, "slipway_cluster_replicas") == 2 })
	}
	for _, c := range engines {
		c.Cut.Store(true)
	}
	for end := time.Now().Add(7 * lease / 2); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		a.mustCall(t, header, 1)
		b.mustCall(t, header, 2)
	}
	status, _, answer := a.post(t, header,
		`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`)
	if status != http.StatusServiceUnavailable {
		t.Errorf("a change that cannot be stored got %d %s, want 503", status, answer)
	}
	if _, _, answer := b.post(t, header, callOf(3, "level")); !strings.Contains(answer, "info") {
		t.Errorf("level after a refused change: %s", answer)
	}
	for _, c := range engines {
		c.Cut.Store(false)
	}
	waitFor(t, "changes again", func() bool {
		status, _, _ := b.post(t, header,
			`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`)
		return status == http.StatusOK
	})
	e.Lose()
	<-time.After(lease + lease/2)
	a.mustCall(t, header, 4)
	b.mustCall(t, header, 5)
	if n := a.metric(t, adoptions) + b.metric(t, adoptions); n != 0 {
		t.Errorf("%v sessions moved, want none", n)
	}
}

// denying is an engine that does not permit records of sessions.
type denying struct{ cluster.Engine }

func (d denying) Get(ctx context.Context, key string) (cluster.Record, error) {
	if strings.HasPrefix(key, "session/") {
		return cluster.Record{}, cutengine.ErrCut
	}
	return d.Engine.Get(ctx, key)
}

// TestSessionsNotPermitted guards that sessions work, and end with their replica, if the engine does
// not permit their records.
func TestSessionsNotPermitted(t *testing.T) {
	t.Parallel()
	e := denying{cluster.NewMemory()}
	src := newStateless()
	a, b := startReplica(t, e, src), startReplica(t, e, src)
	_, session, _ := a.post(t, nil, initialize)
	header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
	status, _, answer := b.post(t, header,
		`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"alert"}}`)
	if status != http.StatusOK {
		t.Errorf("setLevel: %d %s", status, answer)
	}
	a.stop()
	if status, _, _ := b.post(t, header, callOf(2, "echo")); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
}

// TestStatefulSessionsStay guards that the sessions of a source that keeps something for them end
// with their replica.
func TestStatefulSessionsStay(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	src := newStateless()
	src.stateful = true
	a, b := startReplica(t, e, src), startReplica(t, e, src)
	_, session, _ := a.post(t, nil, initialize)
	header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
	b.mustCall(t, header, 1)
	if all, _ := e.List(t.Context(), "session"); len(all) != 0 {
		t.Errorf("%d records", len(all))
	}
	a.stop()
	if status, _, _ := b.post(t, header, callOf(2, "echo")); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
	// One that was stateless when the session began.
	was, is := startReplica(t, e, newStateless()), b
	header = startSession(t, was, e)
	is.mustCall(t, header, 3)
	was.stop()
	if status, _, _ := is.post(t, header, callOf(4, "echo")); status != http.StatusNotFound {
		t.Errorf("a replica whose source is not stateless continues a session: %d, want 404", status)
	}
}
