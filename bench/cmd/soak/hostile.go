package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/frame"
)

// The settings of the impatient server.
const (
	headerTimeout = time.Second
	readTimeout   = 2 * time.Second
	pingInterval  = time.Second
	sessionTTL    = time.Second
	maxSessions   = 2000
)

// opener starts something on a connection and never completes it. drip is then sent byte
// by byte.
type opener struct {
	name  string
	bound time.Duration
	open  func(srv *server) (conn net.Conn, err error)
	drip  string
}

// leeway is the permitted delay on a busy machine until a connection is closed.
const leeway = 3 * time.Second

func openers() []opener {
	const head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	drip := strings.Repeat("X-Slow: loris\r\n", 1000)
	return []opener{
		{"no word", headerTimeout, with(""), ""},
		{"half a header", headerTimeout, with(head), ""},
		{"a header without end, byte by byte", headerTimeout, with(head), drip},
		{"half a body", readTimeout, with(head + "Content-Length: 1000\r\n\r\n{\"jsonrpc\":"), ""},
		{"a body, byte by byte", readTimeout, with(head + "Content-Length: 100000\r\n\r\n"), drip},
		{"a WebSocket that answers no ping", 2 * pingInterval, mute(""), ""},
		{"half a WebSocket frame", 2 * pingInterval, mute("\x81\xff\x00\x00"), ""},
	}
}

// with opens a connection and sends text.
func with(text string) func(*server) (net.Conn, error) {
	return func(srv *server) (net.Conn, error) {
		c, err := dial(srv.mcp)
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(c, text)
		return c.TCPConn, err
	}
}

// mute opens a WebSocket and sends text.
func mute(text string) func(*server) (net.Conn, error) {
	return func(srv *server) (net.Conn, error) {
		c, err := frame.Dial(srv.mcp, "/ws", subprotocol, headSize)
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(c, text)
		return c.Conn, err
	}
}

// halfOpen opens many connections of each kind at once and waits until the server closes
// them.
func (k *soak) halfOpen(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	kinds := openers()
	took := make([]time.Duration, k.bad*len(kinds))
	err = each(len(took), len(took), func(i int) (err error) {
		took[i], err = kinds[i%len(kinds)].endure(ctx, srv)
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
		k.table.Within(fmt.Sprintf("%d times %s", k.bad, kind.name), "until cut", worst, kind.bound+leeway)
	}
	after, err := srv.settle(ctx, before, patience, nil)
	k.table.AtMost("half-open connections", "descriptors left behind",
		float64(max(0, after.descriptors-before.descriptors)), 0, "")
	return err
}

// endure opens a connection and returns how long the server kept it open.
func (o opener) endure(ctx context.Context, srv *server) (time.Duration, error) {
	conn, err := o.open(srv)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", o.name, err)
	}
	defer conn.Close()
	began := time.Now()
	if err := conn.SetDeadline(began.Add(patience)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if o.drip != "" {
		go drip(conn, o.drip)
	}
	_, err = io.Copy(io.Discard, conn)
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
func (k *soak) neverDeleted(ctx context.Context, srv *server) error {
	before, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, k.sessions)
	if err := begin(srv.mcp, ids); err != nil {
		return err
	}
	after, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s sessions that clients do not delete, %s at most",
		figures.Quantity(float64(k.sessions), ""), figures.Quantity(maxSessions, ""))
	k.table.AtMost(what, "heap more", float64(after.heap-before.heap)/1024, maxSessions*sessionBound/1024, "KiB")
	k.table.AtMost(what, "goroutines more", float64(max(0, after.goroutines-before.goroutines)), 0, "")
	time.Sleep(sessionTTL + time.Second)
	c, err := dial(srv.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, _, err := c.post(sessionHead(ids[len(ids)-1]), callBody(2, "echo", `{}`))
	if err != nil {
		return err
	}
	k.table.Exactly(what, "status after the time to live", answer.StatusCode, 404)
	return nil
}
