// Package loopback sends requests to a Source exactly as they are written, through a server
// in memory, for programs that compare whole responses.
//
// Start with [Open].
package loopback

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Options configure a [Conn]. Nil and the zero value mean the defaults.
type Options struct {
	// Timeout is how long to wait for a response; 0 means a minute.
	Timeout time.Duration
	// MaxLine is the largest message in bytes; 0 means 64 MiB.
	MaxLine int
	// Answer, if not nil, returns the response to a question of the server. Nil refuses all.
	Answer func(question *peer.Message) []byte
}

// Conn is a connection to a Source. It sends one request at a time.
type Conn struct {
	opts      Options
	out       io.WriteCloser
	in        io.ReadCloser
	id        uint64
	responses chan reply
	done      chan struct{} // closed by Close
	cancel    context.CancelFunc
	ended     chan struct{} // closed when the server has ended
}

// reply is a message from the server, or the end of the connection.
type reply struct {
	m   peer.Message
	err error
}

// Open connects to a Source, which is not closed. The connection ends with ctx. opts may be
// nil. The caller must call Close.
func Open(ctx context.Context, src mcp.Source, opts *Options) *Conn {
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	c := &Conn{
		out:       toServer,
		in:        fromServer,
		responses: make(chan reply, 1),
		done:      make(chan struct{}),
		ended:     make(chan struct{}),
	}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Timeout <= 0 {
		c.opts.Timeout = time.Minute
	}
	if c.opts.MaxLine <= 0 {
		c.opts.MaxLine = 64 << 20
	}
	ctx, c.cancel = context.WithCancel(ctx)
	go func() {
		defer close(c.ended)
		_ = server.New(src, nil).ServeStdio(ctx, serverIn, serverOut, &server.StdioOptions{
			MaxLine:      c.opts.MaxLine,
			DrainTimeout: time.Second,
		}) // its requests have failed already
		_ = serverOut.Close()
		_ = serverIn.Close() // so that requests fail
	}()
	go c.read()
	return c
}

// Close ends the connection.
func (c *Conn) Close() {
	close(c.done)
	c.cancel()
	_ = c.out.Close() // a pipe in memory
	_ = c.in.Close()
	<-c.ended
}

// read answers the questions of the server, and passes its responses on.
func (c *Conn) read() {
	lines := peer.NewLineReader(c.in, c.opts.MaxLine)
	for {
		text, err := lines.Next()
		got := reply{err: err}
		if err == nil {
			if got.m.Scan(bytes.Clone(text)) != nil ||
				got.m.Method != nil && got.m.ID == nil {
				continue
			}
			if got.m.Method != nil {
				// The next read fails as well.
				_, _ = c.out.Write(append(c.answer(&got.m), '\n'))
				continue
			}
		}
		select {
		case c.responses <- got:
		case <-c.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *Conn) answer(question *peer.Message) []byte {
	if c.opts.Answer != nil {
		return c.opts.Answer(question)
	}
	return peer.Failure(question.ID, int(mcp.CodeMethodNotFound),
		"no questions are answered")
}

// Request sends a request and waits for its response, which is a result or an error of the
// protocol. The error is the end of the connection, the timeout, which cancels the request, or that
// of ctx. It does not name the method.
func (c *Conn) Request(ctx context.Context, method string, params json.RawMessage) (*peer.Message, error) {
	c.id++
	if _, err := c.out.Write(append(peer.AppendRequest(nil, c.id, method, params), '\n')); err != nil {
		return nil, fmt.Errorf("the connection ended: %w", err)
	}
	timer := time.NewTimer(c.opts.Timeout)
	defer timer.Stop()
	for {
		select {
		case got := <-c.responses:
			if got.err != nil {
				return nil, fmt.Errorf("the connection ended: %w", got.err)
			}
			if peer.Number(got.m.ID) == c.id {
				return &got.m, nil
			}
		case <-timer.C:
			cancel := fmt.Appendf(nil, `{"requestId":%d}`, c.id)
			// If it fails, so does the next request.
			_, _ = c.out.Write(append(peer.Notification("notifications/cancelled", cancel), '\n'))
			return nil, fmt.Errorf("no response within %v", c.opts.Timeout)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Initialize performs the handshake of the versions up to 2025-11-25. Nil params mean the
// latest of them, without capabilities. Requests of 2026-07-28 need no handshake.
func (c *Conn) Initialize(ctx context.Context, params json.RawMessage) error {
	if params == nil {
		params = []byte(`{"protocolVersion":"` + mcp.LatestLegacyVersion.String() +
			`","capabilities":{},"clientInfo":{"name":"slipway","version":"1"}}`)
	}
	m, err := c.Request(ctx, "initialize", params)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if m.Failure != nil {
		return fmt.Errorf("initialize: %s", m.Failure)
	}
	_, err = c.out.Write(append(peer.Notification("notifications/initialized", nil), '\n'))
	return err
}
