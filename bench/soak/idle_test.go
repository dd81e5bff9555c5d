package soak

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/wire"
)

// The bounds of idle connections, in bytes of resident memory.
const (
	sessionBound = 600
	streamBound  = 4 << 10
	socketBound  = 18 << 10
)

// idle is a kind of idle connection.
type idle struct {
	what    string
	profile string // name of its file
	count   int
	bound   int // of the memory of each
	workers int // goroutines for all of them
	open    func(i int) (*wire.Conn, error)
	await   func(c *wire.Conn) error // waits for a change
	goodbye bool                     // whether clients may send a close frame
}

// warmUp runs a little of everything, so that one-time allocations of the server happen
// before the measurements.
func warmUp(ctx context.Context, srv *server) error {
	before, err := srv.settle(ctx)
	if err != nil {
		return err
	}
	err = each(200, workers, func(i int) error {
		c, err := dial(srv.mcp)
		if err != nil {
			return err
		}
		defer c.Close()
		id, err := initialize(c)
		if err != nil {
			return err
		}
		for _, tool := range []string{"echo", "blob", "progress"} {
			if _, err := c.Do(callRequest(id, 2, tool, `{"steps":3,"bytes":100}`), false); err != nil {
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
		l, err := listen(srv.mcp, 1)
		if err != nil {
			return err
		}
		return l.Close()
	})
	if err != nil {
		return err
	}
	_, err = srv.awaitRelease(ctx, before, patience, func() error { return srv.change(0) })
	return err
}

func deleteSession(srv *server, id string) error {
	c, err := dial(srv.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.Begin(request(http.MethodDelete, id, "", ""))
	if err == nil && answer.Status != http.StatusNoContent {
		err = fmt.Errorf("DELETE: status %d", answer.Status)
	}
	return err
}

// rssEach is the figure that the bounds of idle connections apply to.
const rssEach = "RSS each"

// cost adds the cost of idle connections since before.
func (k *soak) cost(ctx context.Context, srv *server, kind idle, before reading) error {
	after, err := srv.settle(ctx)
	if err != nil {
		return err
	}
	each := func(now, then int64) float64 { return float64((now - then) / int64(kind.count)) }
	k.table.AtMost(kind.what, rssEach, each(after.rss, before.rss), float64(kind.bound), "B")
	k.table.Note(kind.what, "heap each", each(after.Heap, before.Heap), "B")
	if after.Goroutines >= before.Goroutines+kind.count {
		k.table.Note(kind.what, "stack each", each(after.Stacks, before.Stacks), "B")
	}
	if err := k.profile(ctx, srv, kind.profile); err != nil {
		return err
	}
	now, err := srv.read(ctx, false)
	k.table.AtMost(kind.what, "goroutines of all together", float64(now.Goroutines-before.Goroutines),
		float64(kind.workers), "")
	return err
}

// hold opens idle connections, notifies them of a change, and ends them in every way.
func (k *soak) hold(ctx context.Context, srv *server, before reading, kind idle) error {
	kind.what = figures.Quantity(float64(kind.count), "") + " " + kind.what
	conns, err := openAll(kind.count, kind.open)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	if err := k.cost(ctx, srv, kind, before); err != nil {
		return err
	}
	began := time.Now()
	if err := srv.change(0); err != nil {
		return err
	}
	if err := each(len(conns), workers, func(i int) error { return kind.await(conns[i]) }); err != nil {
		return err
	}
	k.table.Within(kind.what, "until all have received a change", time.Since(began), 2*time.Second)
	for i, c := range conns {
		switch {
		case kind.goodbye && i%3 == 0:
			if err := c.Goodbye(); err != nil {
				return fmt.Errorf("close frame: %w", err)
			}
			_ = c.Close()
		case i%2 == 0:
			vanish(c)
		default:
			_ = c.Close()
		}
	}
	began = time.Now()
	after, err := k.awaitClosed(ctx, srv, before)
	if err != nil {
		return err
	}
	k.table.Add(kind.what, "until the server noticed that they were closed", figures.Seconds(time.Since(began)))
	k.leftBehind(kind.what, "descriptors", after.descriptors-before.descriptors)
	return nil
}

// leftBehind adds the number of descriptors or goroutines that should be gone.
func (k *soak) leftBehind(what, kind string, n int) {
	k.table.AtMost(what, kind+" left behind", float64(max(0, n)), 0, "")
}

// keepAlive is the maximum interval between the server's writes to an idle stream. A
// client that closed its connection properly is detected by the second of these writes.
const keepAlive = 25 * time.Second

// awaitClosed waits until the server has noticed that clients have disconnected: by itself
// or, in a short run, with the help of change notifications.
func (k *soak) awaitClosed(ctx context.Context, srv *server, before reading) (reading, error) {
	if k.short {
		return srv.awaitRelease(ctx, before, patience, func() error { return srv.change(0) })
	}
	return srv.awaitRelease(ctx, before, 2*keepAlive+patience, nil)
}

// idleSessions begins many sessions, opens GET streams for some of them, and ends them.
func (k *soak) idleSessions(ctx context.Context, srv *server, before reading) error {
	ids := make([]string, k.sessions)
	if err := begin(srv.mcp, ids); err != nil {
		return err
	}
	what := figures.Quantity(float64(k.sessions), "") + " idle sessions"
	sessions := idle{what: what, profile: "sessions", count: k.sessions, bound: sessionBound}
	if err := k.cost(ctx, srv, sessions, before); err != nil {
		return err
	}
	before, err := srv.settle(ctx)
	if err != nil {
		return err
	}
	err = k.hold(ctx, srv, before, idle{
		what: "idle GET streams", profile: "streams", count: k.streams, bound: streamBound, workers: 1, await: awaitChange,
		open: func(i int) (*wire.Conn, error) { return openStream(srv.mcp, ids[i]) },
	})
	if err != nil {
		return err
	}
	return each(len(ids), workers, func(i int) error { return deleteSession(srv, ids[i]) })
}

// idleWebSockets opens WebSockets, each with a session and a completed call. One goroutine
// reads from each of them; another sends pings to all.
func (k *soak) idleWebSockets(ctx context.Context, srv *server, before reading) error {
	return k.hold(ctx, srv, before, idle{
		what: "idle WebSockets", profile: "websockets", count: k.sockets, bound: socketBound, workers: k.sockets + 1,
		open:    func(int) (*wire.Conn, error) { return dialWebSocket(srv.mcp) },
		await:   func(c *wire.Conn) error { return awaitMessage(c, listChanged) },
		goodbye: true,
	})
}

// idleListens opens subscriptions of 2026-07-28.
func (k *soak) idleListens(ctx context.Context, srv *server, before reading) error {
	return k.hold(ctx, srv, before, idle{
		what: "idle subscriptions/listen", profile: "listens", count: k.listens, bound: streamBound, workers: 1,
		open:  func(i int) (*wire.Conn, error) { return listen(srv.mcp, i+1) },
		await: awaitChange,
	})
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
			if ids[i], err = initialize(c); err != nil {
				return err
			}
		}
		return nil
	})
}
