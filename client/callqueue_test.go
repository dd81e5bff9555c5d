package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// callerRequest is the request of a client that has a share of 2.
type callerRequest struct {
	*mcp.Request
	name    string
	session mcp.Session
}

func (r *callerRequest) Client() string       { return r.name }
func (r *callerRequest) Share(int) int        { return 2 }
func (r *callerRequest) Session() mcp.Session { return r.session }

// asking is a session with a server whose tool asks, and its calls by client.
type asking struct {
	ctx    context.Context // of all calls
	cancel context.CancelFunc

	*session
	clients map[string]mcp.Session
}

func newAsking() *asking {
	src := newSource(&Dialer{Name: "asking"}, nil)
	src.askers.note(&call{method: "tools/call", name: "ask"}, asks)
	return &asking{
		session: &session{src: src, ended: make(chan struct{}), oneStream: true},
		clients: make(map[string]mcp.Session),
	}
}

// withAsking runs a test of a server that asks in virtual time. The calls that remain end with it.
func withAsking(t *testing.T, test func(t *testing.T, a *asking)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		a := newAsking()
		a.ctx, a.cancel = ctx, cancel
		test(t, a)
	})
}

// start makes a client call the tool ask. entered is closed once the server receives the call, and
// failed receives the error otherwise.
func (a *asking) start(client string) (c *call, entered chan struct{}, failed chan error) {
	return a.startTool(client, "ask")
}

// startTool is start for a tool with this name.
func (a *asking) startTool(client, tool string) (c *call, entered chan struct{}, failed chan error) {
	if a.clients[client] == nil {
		a.clients[client] = &visitor{}
	}
	request := mcp.NewRequest(&callerRequest{name: client, session: a.clients[client]})
	c = newCall("tools/call")
	c.name = tool
	c.foreign = true
	c.request.Store(&request)
	entered = make(chan struct{})
	failed = make(chan error, 1)
	go func() {
		if err := a.enter(a.ctx, c); err != nil {
			failed <- err
			return
		}
		close(entered)
	}()
	synctest.Wait()
	return c, entered, failed
}

// TestTurnEnds guards that a client that always has a call in flight does not keep the turn of a
// server that asks: once another client has waited for 30 s, it starts no more calls.
func TestTurnEnds(t *testing.T) {
	withAsking(t, func(t *testing.T, a *asking) {
		holding, _, _ := a.start("holder")
		_, waiting, _ := a.start("other")
		for range 100 {
			time.Sleep(time.Second)
			next, entered, _ := a.start("holder")
			a.untrack(holding)
			synctest.Wait()
			if isClosed(waiting) {
				if isClosed(entered) {
					t.Error("both clients have the turn")
				}
				return
			}
			if !isClosed(entered) {
				t.Fatal("the client that has the turn cannot make another call")
			}
			holding = next
		}
		t.Error("the other client has not got the turn in 100 s")
	})
}

// TestDependentCallsStart guards that a call in flight that waits for another call of its client ends, although
// another client has waited for its turn for long: a call of a tool that has not asked starts immediately, and
// one of a tool that has asked after 30 s.
func TestDependentCallsStart(t *testing.T) {
	withAsking(t, func(t *testing.T, a *asking) {
		waiting, _, _ := a.start("holder")
		_, others, _ := a.start("other")
		time.Sleep(2 * longestTurn)
		unknown, entered, _ := a.startTool("holder", "release")
		if !isClosed(entered) {
			t.Error("a call of a tool that has not asked is not started")
		}
		a.untrack(unknown)
		needed, entered, _ := a.start("holder")
		if isClosed(entered) {
			t.Error("a call of a tool that has asked is started before the client that has waited")
		}
		time.Sleep(longestTurn)
		synctest.Wait()
		if !isClosed(entered) || isClosed(others) {
			t.Errorf("started: %t, that of the other client: %t; want only the first", isClosed(entered), isClosed(others))
		}
		a.untrack(needed)
		a.untrack(waiting)
		synctest.Wait()
		if !isClosed(others) {
			t.Error("the other client has not got the turn")
		}
	})
}

// TestNeededCallsEnd ensures that calls that started because another one may depend on them are no reason to
// start further ones: a client with overlapping calls cannot keep the turn.
func TestNeededCallsEnd(t *testing.T) {
	withAsking(t, func(t *testing.T, a *asking) {
		first, _, _ := a.start("holder")
		_, others, _ := a.start("other")
		time.Sleep(longestTurn)
		second, entered, _ := a.start("holder")
		time.Sleep(longestTurn)
		synctest.Wait()
		if !isClosed(entered) {
			t.Fatal("a call on which the first may depend has not started")
		}
		_, entered, _ = a.start("holder")
		a.untrack(first)
		time.Sleep(2 * longestTurn)
		synctest.Wait()
		if isClosed(entered) {
			t.Error("the second call keeps the turn for a third")
		}
		a.untrack(second)
		synctest.Wait()
		if !isClosed(others) {
			t.Error("the other client has not got the turn")
		}
	})
}

// TestTurnEndsForAnswers guards the same for a client whose answer to a question waits for the turn.
func TestTurnEndsForAnswers(t *testing.T) {
	withAsking(t, func(t *testing.T, a *asking) {
		asking, _, _ := a.start("asked")
		q := &serverQuestion{}
		a.mu.Lock()
		a.assignLocked(q, asking)
		a.mu.Unlock()
		holding, _, _ := a.start("holder")
		resumed := make(chan struct{})
		go func() {
			defer close(resumed)
			a.awaitTurn(a.ctx, q)
		}()
		for range 100 {
			time.Sleep(time.Second)
			next, _, _ := a.start("holder")
			a.untrack(holding)
			synctest.Wait()
			if isClosed(resumed) {
				return
			}
			holding = next
		}
		t.Error("the answer has not been sent in 100 s")
	})
}

// TestQueueHasShares guards that one client cannot fill the queue of a server that asks.
func TestQueueHasShares(t *testing.T) {
	withAsking(t, func(t *testing.T, a *asking) {
		a.start("holder")
		for i, want := range []bool{false, false, true} {
			_, _, failed := a.start("greedy")
			if got := len(failed) == 1; got != want {
				t.Errorf("call %d of one client is refused: %t, want %t", i+1, got, want)
			}
		}
		if _, _, failed := a.start("other"); len(failed) > 0 {
			t.Errorf("the call of another client: %v", <-failed)
		}
		a.cancel()
		synctest.Wait()
		if a.waiting.n != 0 || len(a.waiting.clients) != 0 {
			t.Errorf("%+v is counted after all have left, want none", a.waiting)
		}
	})
}
