package soak

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
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/wire"
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
	// much is a number of ten-kilobyte answers that exceeds any socket buffer.
	much = 1000
)

// slowReaders are clients that do not read what they request: a subscription, an event
// stream, pipelined plain answers, and answers over a WebSocket.
func slowReaders() []func(addr string, i int) (*wire.Conn, error) {
	uris := make([]string, longURIs)
	for i := range uris {
		uris[i] = strconv.Quote(fix.LongURI(i))
	}
	filter := `"notifications":{"resourceSubscriptions":[` + strings.Join(uris, ",") + `]}`
	deaf := func(use func(c *wire.Conn, i int) error) func(addr string, i int) (*wire.Conn, error) {
		return func(addr string, i int) (*wire.Conn, error) {
			c, err := dial(addr)
			if err != nil {
				return nil, err
			}
			return c, errors.Join(limitBuffer(c), use(c, i))
		}
	}
	return []func(addr string, i int) (*wire.Conn, error){
		deaf(func(c *wire.Conn, i int) error {
			return stream(c, modernRequest(i, "subscriptions/listen", "", filter))
		}),
		deaf(func(c *wire.Conn, _ int) error {
			return stream(c, callRequest("", 1, "progress", `{"steps":2000,"bytes":8192}`))
		}),
		deaf(func(c *wire.Conn, _ int) error {
			return push(c, bytes.Repeat(callRequest("", 1, "blob", `{}`), much))
		}),
		func(addr string, _ int) (*wire.Conn, error) {
			c, err := dialWebSocket(addr)
			if err != nil {
				return nil, err
			}
			var all []byte
			for i := range much {
				all = wire.AppendFrame(all, []byte(callBody(i+10, "blob", `{}`)))
			}
			return c, push(c, all)
		},
	}
}

// push sends as much of all as the server accepts. The server may stop reading or close
// the connection: it must not be forced to accept everything.
func push(c *wire.Conn, all []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return err
	}
	_, err := c.Write(all)
	if err != nil && !isGone(err) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// slow verifies that the server stays responsive for others while clients do not read.
// They are few, because they cost memory on both sides.
func (k *soak) slow(ctx context.Context, srv *server, before reading) error {
	n := max(1, k.bad/10)
	kinds := slowReaders()
	conns := make([]*wire.Conn, n*len(kinds))
	defer func() {
		for _, c := range conns {
			if c != nil {
				vanish(c)
			}
		}
	}()
	for i := range conns {
		var err error
		if conns[i], err = kinds[i%len(kinds)](srv.mcp, i/len(kinds)); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("4 × %d slow readers", n)
	if err := k.serveOthers(srv, what); err != nil {
		return err
	}
	now, err := srv.read(ctx, false)
	if err != nil {
		return err
	}
	k.table.Note(what, "RSS during it", float64(now.rss)/(1<<20), "MiB")
	if k.short {
		return nil
	}
	began := time.Now()
	after, err := srv.awaitRelease(ctx, before, cutAfter, nil)
	k.table.AtMost(what, "still connected without reading, "+figures.Seconds(time.Since(began))+" later",
		float64(max(0, after.descriptors-before.descriptors)), 0, "")
	return err
}

// serveOthers measures the service for others while slow clients do not read.
func (k *soak) serveOthers(srv *server, what string) error {
	conns, err := openAll(healthy, func(i int) (*wire.Conn, error) { return listen(srv.mcp, i+1) })
	defer closeAll(conns)
	if err != nil {
		return err
	}
	var over atomic.Bool
	var latency load.Histogram
	var group sync.WaitGroup
	var callErr error
	group.Go(func() { callErr = callUntil(srv, &over, &latency) })
	worst, err := changes(srv, conns)
	over.Store(true)
	group.Wait()
	k.table.Within(what, "slowest change until all others have received it", worst, 2*time.Second)
	k.table.Within(what, "p99 of calls by others", latency.Quantile(0.99), time.Second)
	return errors.Join(err, callErr)
}

// changes makes rounds of changes and returns the duration of the slowest.
func changes(srv *server, conns []*wire.Conn) (worst time.Duration, err error) {
	for range rounds {
		began := time.Now()
		if err := srv.change(longURIs); err != nil {
			return worst, err
		}
		if err := each(len(conns), workers, func(i int) error { return awaitChange(conns[i]) }); err != nil {
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
		if err := expect(c, callRequest("", 1, "echo", `{"message":"well"}`), `"well"`); err != nil {
			return err
		}
		latency.Add(time.Since(began))
	}
	return nil
}

// vanishing disconnects clients during responses: event streams in both eras, a slow
// call, and a call over a WebSocket.
func (k *soak) vanishing(ctx context.Context, srv *server, before reading) error {
	began := time.Now()
	if err := each(k.bad, k.bad, func(i int) error { return vanishDuringCall(srv.mcp, i) }); err != nil {
		return err
	}
	after, err := srv.awaitRelease(ctx, before, patience, nil)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d clients that disconnect during a call", k.bad)
	k.table.Within(what, "until nothing is left of them", time.Since(began), 3*time.Second)
	k.leftBehind(what, "goroutines", after.Goroutines-before.Goroutines)
	return nil
}

func vanishDuringCall(addr string, i int) error {
	const steps, slow = `{"steps":50,"millis":20,"bytes":100}`, `{"millis":1000}`
	if i%4 == 3 {
		s, err := dialWebSocket(addr)
		if err != nil {
			return err
		}
		defer vanish(s)
		return s.Send([]byte(callBody(9, "slow", slow)))
	}
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer vanish(c)
	switch i % 4 {
	case 0:
		return stream(c, callRequest("", 1, "progress", steps))
	case 1:
		id, err := initialize(c)
		if err != nil {
			return err
		}
		return errors.Join(stream(c, callRequest(id, 2, "progress", steps)), c.WaitFor(`"progress":3`))
	default:
		_, err := c.Write(callRequest("", 1, "slow", slow))
		return err
	}
}

// The settings of the impatient server.
const (
	headerTimeout = time.Second
	readTimeout   = 2 * time.Second
	pingInterval  = time.Second
	sessionTTL    = time.Second
	maxSessions   = 2000
)

// leeway is the permitted delay on a busy machine until a connection is closed.
const leeway = 3 * time.Second

// opener starts something on a connection and never completes it: it sends text, and then
// drip byte by byte.
type opener struct {
	name  string
	bound time.Duration
	dial  func(addr string) (*wire.Conn, error)
	text  string
	drip  string
}

func openers() []opener {
	const head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	drip := strings.Repeat("X-Slow: loris\r\n", 1000)
	return []opener{
		{"silence", headerTimeout, dial, "", ""},
		{"half a header", headerTimeout, dial, head, ""},
		{"a header without end, byte by byte", headerTimeout, dial, head, drip},
		{"half a body", readTimeout, dial, head + "Content-Length: 1000\r\n\r\n{\"jsonrpc\":", ""},
		{"a body, byte by byte", readTimeout, dial, head + "Content-Length: 100000\r\n\r\n", drip},
		{"a WebSocket that answers no ping", 2 * pingInterval, upgrade, "", ""},
		{"half a WebSocket frame", 2 * pingInterval, upgrade, "\x81\xff\x00\x00", ""},
	}
}

// halfOpen opens many connections of each kind at once and waits until the server closes
// them.
func (k *soak) halfOpen(ctx context.Context, srv *server, before reading) error {
	kinds := openers()
	took := make([]time.Duration, k.bad*len(kinds))
	err := each(len(took), len(took), func(i int) (err error) {
		took[i], err = kinds[i%len(kinds)].endure(ctx, srv.mcp)
		return err
	})
	if err != nil {
		return err
	}
	for i, kind := range kinds {
		worst := time.Duration(0)
		for j := i; j < len(took); j += len(kinds) {
			worst = max(worst, took[j])
		}
		k.table.Within(fmt.Sprintf("%d times %s", k.bad, kind.name), "until closed", worst, kind.bound+leeway)
	}
	after, err := srv.awaitRelease(ctx, before, patience, nil)
	k.leftBehind("half-open connections", "descriptors", after.descriptors-before.descriptors)
	return err
}

// endure opens a connection and returns how long the server kept it open.
func (o opener) endure(ctx context.Context, addr string) (time.Duration, error) {
	conn, err := o.dial(addr)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", o.name, err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, o.text); err != nil {
		return 0, fmt.Errorf("%s: %w", o.name, err)
	}
	began := time.Now()
	if err := conn.SetDeadline(began.Add(patience)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if o.drip != "" {
		go drip(conn, o.drip)
	}
	_, err = io.Copy(io.Discard, conn.Conn)
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return patience, nil
	}
	return time.Since(began), nil
}

// drip sends text byte by byte until the connection ends.
func drip(conn net.Conn, text string) {
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for i := range len(text) {
		<-ticker.C
		if _, err := conn.Write([]byte(text[i : i+1])); err != nil {
			return
		}
	}
}

// neverDeleted begins far more sessions than allowed, and ends none.
func (k *soak) neverDeleted(ctx context.Context, srv *server, before reading) error {
	ids := make([]string, k.sessions)
	if err := begin(srv.mcp, ids); err != nil {
		return err
	}
	after, err := srv.settle(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s sessions that clients do not delete, %s at most",
		figures.Quantity(float64(k.sessions), ""), figures.Quantity(maxSessions, ""))
	k.table.AtMost(what, "heap more", float64(after.Heap-before.Heap)/1024, maxSessions*sessionBound/1024, "KiB")
	k.table.AtMost(what, "goroutines more", float64(max(0, after.Goroutines-before.Goroutines)), 0, "")
	time.Sleep(sessionTTL + time.Second)
	c, err := dial(srv.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.Do(callRequest(ids[len(ids)-1], 2, "echo", `{}`), false)
	k.table.Exactly(what, "status after the time to live", answer.Status, http.StatusNotFound)
	return err
}
