package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/frame"
	"github.com/slipway-mcp/slipway/bench/load"
)

const (
	// healthy is the number of other clients that listen and call at the same time.
	healthy = 50
	// longURIs is the number of resources that a slow listener subscribes to. Notifications
	// for all of them take most of a megabyte.
	longURIs = 100
	// rounds of changes fill all socket buffers.
	rounds = 12
	// cutAfter is how long a client may read nothing. Healthy clients that have disconnected
	// are also detected in this time.
	cutAfter = 60 * time.Second
)

// slowReaders verifies that the server stays responsive for others while clients do not
// read what they requested: subscriptions, event streams, plain answers and WebSockets.
func (k *soak) slowReaders(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	slow, err := k.openSlow(srv)
	defer func() {
		for _, c := range slow {
			vanish(c)
		}
	}()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("4 × %d slow readers", k.slow())
	if err := k.beside(srv, what); err != nil {
		return err
	}
	now, err := srv.read(ctx, false)
	if err != nil {
		return err
	}
	k.table.Note(what, "RSS meanwhile", float64(now.rss)/(1<<20), "MiB")
	if !k.short {
		began := time.Now()
		after, err := srv.settle(ctx, before, cutAfter, nil)
		if err != nil {
			return err
		}
		k.table.AtMost(what, "still connected without reading, "+figures.Seconds(time.Since(began))+" later",
			float64(max(0, after.descriptors-before.descriptors)), 0, "")
	}
	return nil
}

// slow returns the number of clients of each kind. It is small because they cost memory
// on both sides.
func (k *soak) slow() int { return max(1, k.bad/10) }

func (k *soak) openSlow(srv *server) (slow []net.Conn, err error) {
	uris := make([]string, longURIs)
	for i := range uris {
		uris[i] = strconv.Quote(fix.LongURI(i))
	}
	for i := range k.slow() {
		c, err := listen(srv.mcp, i, strings.Join(uris, ","))
		if err != nil {
			return slow, err
		}
		slow = append(slow, c.TCPConn)
		if c, err = dial(srv.mcp); err != nil {
			return slow, err
		}
		slow = append(slow, c.TCPConn)
		err = errors.Join(c.deaf(), c.stream(http.MethodPost, modernHead("tools/call", "progress"),
			modernCall(1, "progress", `{"steps":2000,"bytes":8192}`)))
		if err != nil {
			return slow, err
		}
		if c, err = dial(srv.mcp); err != nil {
			return slow, err
		}
		slow = append(slow, c.TCPConn)
		if err := errors.Join(c.deaf(), floodHTTP(c)); err != nil {
			return slow, err
		}
		s, err := dialWebSocket(srv.mcp)
		if err != nil {
			return slow, err
		}
		slow = append(slow, s.Conn)
		if err := flood(s); err != nil {
			return slow, err
		}
	}
	return slow, nil
}

// much is a number of ten-kilobyte answers that exceeds any socket buffer.
const much = 1000

// flood requests much over a WebSocket and reads none of it.
func flood(s *frame.Conn) error {
	var all []byte
	for i := range much {
		all = frame.Append(all, []byte(callBody(i+10, "blob", `{}`)))
	}
	return push(s, all)
}

// floodHTTP does the same with pipelined plain requests.
func floodHTTP(c *client) error {
	one := request(http.MethodPost, c.RemoteAddr().String(), modernHead("tools/call", "blob"), modernCall(1, "blob", `{}`))
	return push(c, bytes.Repeat(one, much))
}

// push sends as much of all as the server accepts. The server may stop reading or close
// the connection: it must not be forced to accept everything.
func push(conn net.Conn, all []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return err
	}
	_, err := conn.Write(all)
	if err != nil && !isGone(err) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// beside measures the service for others while slow clients do not read.
func (k *soak) beside(srv *server, what string) error {
	open := make([]*client, healthy)
	defer closeAll(open)
	err := each(healthy, workers, func(i int) (err error) {
		open[i], err = listen(srv.mcp, i+1, "")
		return err
	})
	if err != nil {
		return err
	}
	var over atomic.Bool
	var latency load.Histogram
	var group sync.WaitGroup
	var callErr error
	group.Go(func() { callErr = callUntil(srv, &over, &latency) })
	worst, err := changes(srv, open)
	over.Store(true)
	group.Wait()
	k.table.Within(what, "slowest change until all others have heard", worst, 2*time.Second)
	k.table.Within(what, "p99 of calls by others", latency.Quantile(0.99), time.Second)
	return errors.Join(err, callErr)
}

// changes makes rounds of changes and returns the duration of the slowest.
func changes(srv *server, open []*client) (worst time.Duration, err error) {
	for range rounds {
		began := time.Now()
		if err := srv.change(longURIs); err != nil {
			return worst, err
		}
		if err := each(len(open), workers, func(i int) error { return open[i].hear("tools/list_changed") }); err != nil {
			return worst, err
		}
		worst = max(worst, time.Since(began))
	}
	return worst, nil
}

// callUntil calls a tool on one connection repeatedly.
func callUntil(srv *server, over *atomic.Bool, latency *load.Histogram) error {
	c, err := dial(srv.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	for !over.Load() {
		began := time.Now()
		answer, text, err := c.post(modernHead("tools/call", "echo"), modernCall(1, "echo", `{"message":"well"}`))
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), `"well"`) {
			return fmt.Errorf("echo: %s: %.200s", answer.Status, text)
		}
		latency.Add(time.Since(began))
	}
	return nil
}

// isGone reports whether err means that the peer has closed the connection.
func isGone(err error) bool {
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &network) && !network.Timeout()
}

// vanishing disconnects clients during responses: event streams in both eras, a slow
// call, and a call over a WebSocket.
func (k *soak) vanishing(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	const steps = `{"steps":50,"millis":20,"bytes":100}`
	began := time.Now()
	err = each(k.bad, k.bad, func(i int) error {
		c, err := dial(srv.mcp)
		if err != nil {
			return err
		}
		defer vanish(c.TCPConn)
		switch i % 4 {
		case 0:
			err = c.stream(http.MethodPost, modernHead("tools/call", "progress"), modernCall(1, "progress", steps))
		case 1:
			var id string
			if id, err = c.initialize(); err == nil {
				err = errors.Join(c.stream(http.MethodPost, sessionHead(id), callBody(2, "progress", steps)),
					c.hear(`"progress":3`))
			}
		case 2:
			_, err = c.Write(request(http.MethodPost, srv.mcp, modernHead("tools/call", "slow"),
				modernCall(1, "slow", `{"millis":1000}`)))
		case 3:
			var s *frame.Conn
			if s, err = dialWebSocket(srv.mcp); err == nil {
				defer vanish(s.Conn)
				err = s.Send([]byte(callBody(9, "slow", `{"millis":1000}`)))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	after, err := srv.settle(ctx, before, patience, nil)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d clients that vanish in the midst", k.bad)
	k.table.Within(what, "until nothing is left of them", time.Since(began), 3*time.Second)
	k.table.AtMost(what, "goroutines left behind", float64(max(0, after.goroutines-before.goroutines)), 0, "")
	return nil
}
