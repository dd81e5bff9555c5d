package main

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
	"time"

	"github.com/slipway-mcp/slipway/bench/frame"
)

// drain stops servers under load and counts the outcome of every call.
func (k *soak) drain(ctx context.Context) error {
	var all fates
	for i := range k.drains {
		fmt.Fprintf(k.progress, "SIGTERM under load, %d of %d\n", i+1, k.drains)
		srv, err := start(ctx, k.binary)
		if err != nil {
			return err
		}
		err = k.drainOne(srv, &all)
		srv.kill()
		if err != nil {
			return err
		}
	}
	what := fmt.Sprintf("SIGTERM under load, %d times %d connections", k.drains, k.clients+k.clients/4)
	t := &k.table
	t.Note(what, "calls answered", float64(all.answered), "")
	t.Note(what, "of these after the signal", float64(all.late), "")
	t.Note(what, "refused: the server no longer listens", float64(all.refused), "")
	t.Note(what, "refused: told so in an answer", float64(all.told), "")
	t.Note(what, "refused: closed without a byte, and never run", float64(all.unrun), "")
	t.Exactly(what, "lost: run, but not answered whole", all.lost, 0)
	t.Exactly(what, "standing streams that ended in order", all.ended, all.standing)
	t.Within(what, "from the signal to the end, at worst", all.worst, 3*time.Second)
	return nil
}

// fates are the numbers of calls by outcome.
type fates struct {
	answered, late       int
	refused, told, unrun int
	lost                 int
	standing, ended      int
	worst                time.Duration
}

// crew is the set of clients of one server.
type crew struct {
	srv    *server
	next   atomic.Int64 // call numbers
	ending atomic.Bool

	mu      sync.Mutex
	fates   fates
	unknown []int // calls without a complete answer
	fault   error // an error that the end of the server does not explain
}

func (k *soak) drainOne(srv *server, all *fates) error {
	c := &crew{srv: srv}
	standing, err := c.stand()
	defer closeAll(standing)
	if err != nil {
		return err
	}
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
	told := srv.signal()
	for _, s := range standing {
		group.Go(func() { c.outlive(s) })
	}
	ran, err := srv.finish(told)
	took := time.Since(began)
	group.Wait()
	if err := errors.Join(err, c.fault); err != nil {
		return err
	}
	c.settle(ran, all)
	all.worst = max(all.worst, took)
	return nil
}

// settle determines which of the calls without an answer the server has run, and adds up
// the totals.
func (c *crew) settle(ran []int, all *fates) {
	slices.Sort(ran)
	for _, call := range c.unknown {
		if _, has := slices.BinarySearch(ran, call); has {
			c.fates.lost++
		} else {
			c.fates.unrun++
		}
	}
	f := c.fates
	all.answered, all.late = all.answered+f.answered, all.late+f.late
	all.refused, all.told, all.unrun = all.refused+f.refused, all.told+f.told, all.unrun+f.unrun
	all.lost, all.standing, all.ended = all.lost+f.lost, all.standing+f.standing, all.ended+f.ended
}

func (c *crew) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = err
	}
}

// count updates the fates.
func (c *crew) count(change func(f *fates)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.fates)
}

func (c *crew) answered() {
	late := c.ending.Load()
	c.count(func(f *fates) {
		f.answered++
		if late {
			f.late++
		}
	})
}

func (c *crew) unanswered(call int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown = append(c.unknown, call)
}

// stand opens GET streams and subscriptions.
func (c *crew) stand() (open []*client, err error) {
	for i := range 40 {
		var s *client
		if i%2 == 0 {
			s, err = listen(c.srv.mcp, i+1, "")
		} else if s, err = dial(c.srv.mcp); err == nil {
			var id string
			if id, err = s.initialize(); err == nil {
				err = s.stream(http.MethodGet, sessionHead(id), "")
			}
		}
		if s != nil {
			open = append(open, s)
		}
		if err != nil {
			return open, err
		}
	}
	c.fates.standing = len(open)
	return open, nil
}

// outlive reads a stream to its end, which must not be a reset.
func (c *crew) outlive(s *client) {
	if _, err := io.Copy(io.Discard, s); err == nil {
		c.count(func(f *fates) { f.ended++ })
	}
}

// overHTTP makes calls until the server stops listening.
func (c *crew) overHTTP(i int) error {
	var conn *client
	session := ""
	for ; ; i++ {
		if conn == nil {
			var err error
			if conn, err = dial(c.srv.mcp); err != nil {
				if c.ending.Load() && (isRefusal(err) || isGone(err)) {
					c.count(func(f *fates) { f.refused++ })
					return nil
				}
				return err
			}
		}
		if session == "" && i%2 == 0 {
			id, err := conn.initialize()
			if err != nil {
				conn.Close()
				if conn = nil; !c.ending.Load() {
					return err
				}
				continue
			}
			session = id
		}
		if again, err := c.call(conn, i, session); err != nil {
			conn.Close()
			return err
		} else if !again {
			conn.Close()
			conn = nil
		}
	}
}

// works returns the calls that a client makes in turn.
func works() []struct{ tool, arguments string } {
	const echo = `{"message":"call %[1]d","call":%[1]d}`
	return []struct{ tool, arguments string }{
		{"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo},
		{"slow", `{"message":"call %[1]d","call":%[1]d,"millis":40}`},
		{"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo}, {"echo", echo},
		{"progress", `{"message":"call %[1]d","call":%[1]d,"millis":10,"steps":5,"bytes":50}`},
	}
}

// call makes one call and determines its outcome. It reports whether the connection can
// be reused.
func (c *crew) call(conn *client, i int, session string) (again bool, err error) {
	call := int(c.next.Add(1))
	work := works()[i%len(works())]
	arguments := fmt.Sprintf(work.arguments, call)
	fields, body := modernHead("tools/call", work.tool), modernCall(call, work.tool, arguments)
	if session != "" && i%2 == 0 {
		fields, body = sessionHead(session), callBody(call, work.tool, arguments)
	}
	answer, text, err := conn.post(fields, body)
	whole := err == nil && answer.StatusCode == http.StatusOK && bytes.Contains(text, fmt.Appendf(nil, `"call %d"`, call))
	switch {
	case whole:
		c.answered()
	case !c.ending.Load() && err != nil:
		return false, fmt.Errorf("before the signal: %w", err)
	case !c.ending.Load():
		return false, fmt.Errorf("before the signal: call %d: %s: %.300s", call, answer.Status, text)
	case err == nil && answer.StatusCode == http.StatusServiceUnavailable:
		c.count(func(f *fates) { f.told++ })
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
	s, err := dialWebSocket(c.srv.mcp)
	if err != nil {
		return err
	}
	defer s.Close()
	under := make(map[int]bool)
	told := false
	for {
		for len(under) < inFlight && !told {
			call := int(c.next.Add(1))
			work := works()[call%(len(works())-1)] // without progress, which HTTP covers
			under[call] = true
			if s.Send([]byte(callBody(call, work.tool, fmt.Sprintf(work.arguments, call)))) != nil {
				break // earlier calls may still be answered
			}
		}
		msg, err := s.Receive(nil)
		if err != nil {
			for call := range under {
				c.unanswered(call)
			}
			return c.closed(err)
		}
		refused, err := c.answer(msg, under)
		if err != nil {
			return err
		}
		told = told || refused
	}
}

// answer removes the call that msg answers from under, and reports whether it was
// refused.
func (c *crew) answer(msg []byte, under map[int]bool) (refused bool, err error) {
	for call := range under {
		if !bytes.Contains(msg, fmt.Appendf(nil, `"id":%d,`, call)) {
			continue
		}
		delete(under, call)
		switch {
		case bytes.Contains(msg, fmt.Appendf(nil, `"call %d"`, call)):
			c.answered()
		case c.ending.Load() && bytes.Contains(msg, []byte(`"error"`)):
			c.count(func(f *fates) { f.told++ })
			return true, nil
		default:
			return false, fmt.Errorf("call %d over a WebSocket: %.300s", call, msg)
		}
		return false, nil
	}
	return false, fmt.Errorf("no call under way has this answer: %.300s", msg)
}

// closed returns an error unless a WebSocket was closed properly.
func (c *crew) closed(err error) error {
	if c.ending.Load() && (errors.Is(err, frame.ErrClosed) || isGone(err)) {
		return nil
	}
	return fmt.Errorf("WebSocket: %w", err)
}
