package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/frame"
)

// The bounds of idle connections, in bytes of resident memory.
const (
	sessionBound = 600
	streamBound  = 4 << 10
	socketBound  = 18 << 10
)

// workers is the number of connections that the driver opens concurrently.
const workers = 8

// warmUp runs a little of everything, so that one-time allocations of the server happen
// before the measurements.
func warmUp(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	err = each(200, workers, func(i int) error {
		c, err := dial(srv.mcp)
		if err != nil {
			return err
		}
		defer c.Close()
		id, err := c.initialize()
		if err != nil {
			return err
		}
		for _, tool := range []string{"echo", "blob", "progress"} {
			if _, _, err := c.post(sessionHead(id), callBody(2, tool, `{"steps":3,"bytes":100}`)); err != nil {
				return err
			}
		}
		if err := deleteSession(srv, id); err != nil {
			return err
		}
		s, err := dialWebSocket(srv.mcp)
		if err != nil {
			return err
		}
		defer s.Close()
		l, err := listen(srv.mcp, 1, "")
		if err != nil {
			return err
		}
		return l.Close()
	})
	if err != nil {
		return err
	}
	_, err = srv.settle(ctx, before, patience, func() error { return srv.change(0) })
	return err
}

func deleteSession(srv *server, id string) error {
	c, err := dial(srv.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.begin(http.MethodDelete, sessionHead(id), "")
	if err == nil && answer.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("DELETE: %s", answer.Status)
	}
	return err
}

// rssEach is the figure that the bounds of idle connections apply to.
const rssEach = "RSS each"

// cost adds the cost of n idle connections since before.
func (k *soak) cost(ctx context.Context, srv *server, what, name string, n, bound int, before reading) error {
	after, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	each := func(now, then int64) float64 { return float64((now - then) / int64(n)) }
	k.table.AtMost(what, rssEach, each(after.rss, before.rss), float64(bound), "B")
	k.table.Note(what, "heap each", each(after.heap, before.heap), "B")
	if after.goroutines >= before.goroutines+n {
		k.table.Note(what, "stack each", each(after.stacks, before.stacks), "B")
	}
	return k.profile(ctx, srv, name)
}

// goroutines adds the total number of goroutines for all connections.
func (k *soak) goroutines(ctx context.Context, srv *server, what string, bound int, before reading) error {
	now, err := srv.read(ctx, false)
	k.table.AtMost(what, "goroutines of all together", float64(now.goroutines-before.goroutines), float64(bound), "")
	return err
}

// idleSessions begins many sessions, opens GET streams for some of them, notifies them of
// a change, and lets the clients disappear.
func (k *soak) idleSessions(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, k.sessions)
	if err := begin(srv.mcp, ids); err != nil {
		return err
	}
	what := figures.Quantity(float64(k.sessions), "") + " idle sessions"
	if err := k.cost(ctx, srv, what, "sessions", k.sessions, sessionBound, before); err != nil {
		return err
	}
	if err := k.goroutines(ctx, srv, what, 0, before); err != nil {
		return err
	}
	if err := k.streamsOf(ctx, srv, ids[:k.streams]); err != nil {
		return err
	}
	return each(len(ids), workers, func(i int) error { return deleteSession(srv, ids[i]) })
}

// begin sets ids to those of new sessions, many per connection.
func begin(addr string, ids []string) error {
	share := (len(ids) + workers - 1) / workers
	return each(workers, workers, func(w int) error {
		c, err := dial(addr)
		if err != nil {
			return err
		}
		defer c.Close()
		for i := w * share; i < min((w+1)*share, len(ids)); i++ {
			if ids[i], err = c.initialize(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (k *soak) streamsOf(ctx context.Context, srv *server, ids []string) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	open := make([]*client, len(ids))
	defer closeAll(open)
	err = each(len(ids), workers, func(i int) (err error) {
		if open[i], err = dial(srv.mcp); err != nil {
			return err
		}
		return open[i].stream(http.MethodGet, sessionHead(ids[i]), "")
	})
	if err != nil {
		return err
	}
	what := figures.Quantity(float64(len(ids)), "") + " idle GET streams"
	if err := k.cost(ctx, srv, what, "streams", len(ids), streamBound, before); err != nil {
		return err
	}
	// One goroutine writes to all of them.
	if err := k.goroutines(ctx, srv, what, 1, before); err != nil {
		return err
	}
	if err := k.broadcast(srv, what, len(open), func(i int) error {
		return open[i].hear("tools/list_changed")
	}); err != nil {
		return err
	}
	return k.leave(ctx, srv, what, connsOf(open), before)
}

// broadcast makes a change and waits until all clients have been notified.
func (k *soak) broadcast(srv *server, what string, n int, hear func(i int) error) error {
	began := time.Now()
	if err := srv.change(0); err != nil {
		return err
	}
	if err := each(n, workers, hear); err != nil {
		return err
	}
	k.table.Within(what, "until all have heard of a change", time.Since(began), 2*time.Second)
	return nil
}

// keepAlive is the maximum interval between the server's writes to an idle stream. A
// client that closed its connection properly is detected by the second of these writes.
const keepAlive = 25 * time.Second

// leave lets half of the clients disappear and the others close, and waits until the
// server has noticed.
func (k *soak) leave(ctx context.Context, srv *server, what string, open []net.Conn, before reading) error {
	for i, c := range open {
		if i%2 == 0 {
			vanish(c)
		} else {
			_ = c.Close()
		}
	}
	began := time.Now()
	after, err := k.noticed(ctx, srv, before)
	if err != nil {
		return err
	}
	k.table.Add(what, "until their end was noticed", figures.Seconds(time.Since(began)))
	k.table.AtMost(what, "descriptors left behind", float64(max(0, after.descriptors-before.descriptors)), 0, "")
	return nil
}

// noticed waits until the server has noticed that clients have disconnected: by itself
// or, in a short run, with the help of change notifications.
func (k *soak) noticed(ctx context.Context, srv *server, were reading) (reading, error) {
	if k.short {
		return srv.settle(ctx, were, patience, func() error { return srv.change(0) })
	}
	return srv.settle(ctx, were, 2*keepAlive+patience, nil)
}

func closeAll(clients []*client) {
	for _, c := range clients {
		if c != nil {
			_ = c.Close()
		}
	}
}

func connsOf(clients []*client) []net.Conn {
	conns := make([]net.Conn, len(clients))
	for i, c := range clients {
		conns[i] = c.TCPConn
	}
	return conns
}

// webSockets opens WebSockets, each with a session and a completed call, notifies them of
// a change, and ends them in every way.
func (k *soak) webSockets(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	open := make([]*frame.Conn, k.sockets)
	err = each(len(open), workers, func(i int) (err error) {
		open[i], err = dialWebSocket(srv.mcp)
		return err
	})
	if err != nil {
		return err
	}
	what := figures.Quantity(float64(len(open)), "") + " idle WebSockets"
	if err := k.cost(ctx, srv, what, "websockets", len(open), socketBound, before); err != nil {
		return err
	}
	// One goroutine reads from each of them; another sends pings to all.
	if err := k.goroutines(ctx, srv, what, len(open)+1, before); err != nil {
		return err
	}
	err = k.broadcast(srv, what, len(open), func(i int) error { return hearWebSocket(open[i], "tools/list_changed") })
	if err != nil {
		return err
	}
	rest := make([]net.Conn, 0, len(open))
	for i, c := range open {
		if i%3 > 0 {
			rest = append(rest, c.Conn)
			continue
		}
		if err := c.Goodbye(); err != nil {
			return fmt.Errorf("close frame: %w", err)
		}
		_ = c.Close()
	}
	return k.leave(ctx, srv, what, rest, before)
}

// listening opens subscriptions of 2026-07-28.
func (k *soak) listening(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	open := make([]*client, k.listens)
	defer closeAll(open)
	err = each(len(open), workers, func(i int) (err error) {
		open[i], err = listen(srv.mcp, i+1, "")
		return err
	})
	if err != nil {
		return err
	}
	what := figures.Quantity(float64(len(open)), "") + " idle subscriptions/listen"
	if err := k.cost(ctx, srv, what, "listens", len(open), streamBound, before); err != nil {
		return err
	}
	if err := k.goroutines(ctx, srv, what, 1, before); err != nil {
		return err
	}
	if err := k.broadcast(srv, what, len(open), func(i int) error {
		return open[i].hear("tools/list_changed")
	}); err != nil {
		return err
	}
	return k.leave(ctx, srv, what, connsOf(open), before)
}
