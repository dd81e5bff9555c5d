package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/wire"
)

// The outcomes of calls and standing streams.
const (
	answered = "calls answered"
	late     = "of these after the signal"
	refused  = "refused: the server no longer listens"
	told     = "refused with an error response"
	unrun    = "refused: closed without a byte, and never run"
	lost     = "lost: run, but without a complete answer"
	ended    = "standing streams that ended properly"
	standing = "standing streams"
)

// outcomes are numbers of calls and streams by outcome.
type outcomes map[string]int

// drain stops servers under load and counts the outcome of every call.
func (k *soak) drain(ctx context.Context) error {
	all := make(outcomes)
	worst := time.Duration(0)
	for i := range k.drains {
		fmt.Fprintf(k.progress, "SIGTERM under load, %d of %d\n", i+1, k.drains)
		srv, err := start(ctx, k.binary)
		if err != nil {
			return err
		}
		took, err := k.drainOne(srv, all)
		srv.Stop()
		if err != nil {
			return err
		}
		worst = max(worst, took)
	}
	what := fmt.Sprintf("SIGTERM under load, %d times %d connections", k.drains, k.clients+k.clients/4)
	for _, outcome := range []string{answered, late, refused, told, unrun} {
		k.table.Note(what, outcome, float64(all[outcome]), "")
	}
	k.table.Exactly(what, lost, all[lost], 0)
	k.table.Exactly(what, ended, all[ended], all[standing])
	k.table.Within(what, "longest time from the signal to the exit", worst, 3*time.Second)
	return nil
}

// crew is the set of clients of one server.
type crew struct {
	addr   string
	next   atomic.Int64 // call numbers
	ending atomic.Bool

	mu      sync.Mutex
	counts  outcomes
	unknown []int // calls without a complete answer
	fault   error // an error that the end of the server does not explain
}

// drainOne stops one server, and returns how long that took.
func (k *soak) drainOne(srv *server, all outcomes) (time.Duration, error) {
	c := &crew{addr: srv.mcp, counts: make(outcomes)}
	conns, err := openAll(40, c.openStanding)
	defer closeAll(conns)
	if err != nil {
		return 0, err
	}
	c.counts[standing] = len(conns)
	var group sync.WaitGroup
	for i := range k.clients {
		group.Go(func() { c.note(c.overHTTP(i)) })
	}
	for range k.clients / 4 {
		group.Go(func() { c.note(c.overWebSocket()) })
	}
	time.Sleep(500 * time.Millisecond)
	c.ending.Store(true)
	began := time.Now()
	for _, s := range conns {
		group.Go(func() {
			if _, err := io.Copy(io.Discard, s.Conn); err == nil { // rather than a reset
				c.count(ended)
			}
		})
	}
	ran, err := srv.terminate()
	took := time.Since(began)
	group.Wait()
	c.settle(ran, all)
	return took, errors.Join(err, c.fault)
}

// settle determines which of the calls without an answer the server has run, and adds up
// the totals.
func (c *crew) settle(ran []int, all outcomes) {
	for _, call := range c.unknown {
		if slices.Contains(ran, call) {
			all[lost]++
		} else {
			all[unrun]++
		}
	}
	for outcome, n := range c.counts {
		all[outcome] += n
	}
}

func (c *crew) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = err
	}
}

func (c *crew) count(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[outcome]++
	if outcome == answered && c.ending.Load() {
		c.counts[late]++
	}
}

func (c *crew) unanswered(call int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown = append(c.unknown, call)
}

// openStanding opens a subscription or a GET stream.
func (c *crew) openStanding(i int) (*wire.Conn, error) {
	if i%2 == 0 {
		return listen(c.addr, i+1)
	}
	s, err := dial(c.addr)
	if err != nil {
		return nil, err
	}
	id, err := initialize(s)
	if err != nil {
		return s, err
	}
	return s, stream(s, request(http.MethodGet, id, "", ""))
}

// overHTTP makes calls until the server stops listening.
func (c *crew) overHTTP(i int) error {
	session := ""
	for {
		conn, err := dial(c.addr)
		if err != nil {
			if c.ending.Load() && isGone(err) {
				c.count(refused)
				return nil
			}
			return err
		}
		for again := true; again && err == nil; i++ {
			if session == "" && i%2 == 0 {
				if session, err = initialize(conn); err != nil {
					if session = ""; c.ending.Load() {
						err = nil
					}
					break
				}
			}
			again, err = c.call(conn, i, session)
		}
		conn.Close()
		if err != nil {
			return err
		}
	}
}

// work returns the tool and arguments of a call. All clients make the same calls in turn.
func work(turn, call int) (tool, arguments string) {
	message := fmt.Sprintf(`"message":"call %d","call":%d`, call, call)
	switch turn % 16 {
	case 7:
		return "slow", "{" + message + `,"millis":40}`
	case 15:
		return "progress", "{" + message + `,"millis":10,"steps":5,"bytes":50}`
	}
	return "echo", "{" + message + "}"
}

// call makes one call and determines its outcome. It reports whether the connection can
// be reused.
func (c *crew) call(conn *wire.Conn, i int, session string) (again bool, err error) {
	call := int(c.next.Add(1))
	if i%2 != 0 {
		session = ""
	}
	tool, arguments := work(i, call)
	answer, err := conn.Do(callRequest(session, call, tool, arguments), true)
	whole := err == nil && answer.Status == http.StatusOK &&
		bytes.Contains(answer.Body, fmt.Appendf(nil, `"call %d"`, call))
	switch {
	case whole:
		c.count(answered)
	case !c.ending.Load() && err != nil:
		return false, fmt.Errorf("before the signal: %w", err)
	case !c.ending.Load():
		return false, fmt.Errorf("before the signal: call %d: status %d: %.300s", call, answer.Status, answer.Body)
	case err == nil && answer.Status == http.StatusServiceUnavailable:
		c.count(told)
	default:
		c.unanswered(call)
		return false, nil
	}
	return !answer.Close, nil
}

// inFlight is the number of concurrent calls of a WebSocket client.
const inFlight = 4

// overWebSocket makes calls on one connection until the server closes it or refuses a
// call.
func (c *crew) overWebSocket() error {
	s, err := dialWebSocket(c.addr)
	if err != nil {
		return err
	}
	defer s.Close()
	pending := make(map[int]bool)
	over := false
	for {
		for len(pending) < inFlight && !over {
			call := int(c.next.Add(1))
			tool, arguments := work(call%15, call) // without progress, which HTTP covers
			pending[call] = true
			if s.Send([]byte(callBody(call, tool, arguments))) != nil {
				break // earlier calls may still be answered
			}
		}
		msg, err := s.Receive()
		if err != nil {
			for call := range pending {
				c.unanswered(call)
			}
			if c.ending.Load() && (errors.Is(err, wire.ErrClosed) || isGone(err)) {
				return nil
			}
			return fmt.Errorf("WebSocket: %w", err)
		}
		refused, err := c.match(msg, pending)
		if err != nil {
			return err
		}
		over = over || refused
	}
}

// match removes the call that msg answers from pending, and reports whether it was
// refused.
func (c *crew) match(msg []byte, pending map[int]bool) (refused bool, err error) {
	for call := range pending {
		if !bytes.Contains(msg, fmt.Appendf(nil, `"id":%d,`, call)) {
			continue
		}
		delete(pending, call)
		switch {
		case bytes.Contains(msg, fmt.Appendf(nil, `"call %d"`, call)):
			c.count(answered)
		case c.ending.Load() && bytes.Contains(msg, []byte(`"error"`)):
			c.count(told)
			return true, nil
		default:
			return false, fmt.Errorf("call %d over a WebSocket: %.300s", call, msg)
		}
		return false, nil
	}
	return false, fmt.Errorf("no pending call has this answer: %.300s", msg)
}

// A server that abandons calls it has begun loses answers, which must be detected.
func TestLostAnswersShow(t *testing.T) {
	c := &crew{}
	c.unanswered(3)
	c.unanswered(5)
	all := make(outcomes)
	c.settle([]int{9, 5, 4}, all)
	if all[lost] != 1 || all[unrun] != 1 {
		t.Errorf("%v, want one lost, and one that was never run", all)
	}
}
