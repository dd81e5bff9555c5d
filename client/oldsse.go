package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// oldConn is a connection of 2024-11-05 ("Transports", HTTP with SSE): one event stream
// carries everything that the server sends, and names the URL to post to.
type oldConn struct {
	// link is the HTTP link that found out that the server uses the transport of
	// 2024-11-05.
	link *httpLink
	// post is the URL to which messages are posted, as announced by the server.
	post *url.URL
	// events reads the server's messages from body.
	events *peer.EventReader
	body   io.Closer
	cancel context.CancelFunc
}

var _ server.Conn = (*oldConn)(nil)

// openOld connects to a server of 2024-11-05.
func (l *httpLink) openOld(ctx context.Context) (*stream, error) {
	mine, cancel := context.WithCancel(l.quit)
	stop := context.AfterFunc(ctx, cancel) // ctx only bounds connecting
	resp, err := l.get(mine, "")
	if err != nil {
		cancel()
		return nil, err
	}
	c := &oldConn{
		link:   l,
		events: peer.NewEventReader(resp.Body, l.endpoint.maxMessage()),
		body:   resp.Body,
		cancel: cancel,
	}
	err = c.readEndpoint(resp.Request.URL)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close() // another error is returned already
		return nil, err
	}
	old := newStream(c, l.ses, l.tapOf(resp).On(tap.SSE))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.old = old
	return old, nil
}

// readEndpoint reads the event that names the URL to post to.
func (c *oldConn) readEndpoint(base *url.URL) error {
	for {
		ev, err := c.events.Next()
		if err != nil {
			return err
		}
		if ev.Name != "endpoint" {
			continue
		}
		c.post, err = base.Parse(string(bytes.TrimSpace(ev.Data)))
		if err != nil || c.post.Scheme != base.Scheme || c.post.Host != base.Host {
			return errors.New("the server names an endpoint that is not on its own host")
		}
		return nil
	}
}

// ReadMessage implements server.Conn. It ignores ctx: it ends with the connection.
func (c *oldConn) ReadMessage(context.Context) ([]byte, error) {
	for {
		ev, err := c.events.Next()
		if err != nil {
			return nil, err
		}
		data := bytes.TrimSpace(ev.Data)
		if ev.IsMessage() && len(data) > 0 {
			return data, nil
		}
	}
}

// WriteMessage implements server.Conn.
func (c *oldConn) WriteMessage(msg []byte) error {
	ctx, cancel := context.WithTimeout(c.link.quit, tellTimeout)
	defer cancel()
	header, _ := c.link.header(nil)
	resp, err := c.link.endpoint.post(ctx, c.post, header, bytes.Clone(msg),
		c.link.ses.src.tap)
	if notServed(err) {
		return plainCause(err)
	}
	if err != nil {
		return &lostError{
			cause:  plainCause(err),
			unseen: isDial(err),
		}
	}
	if resp.StatusCode > 299 {
		return &lostError{
			cause:  c.link.refusal(resp),
			unseen: resp.StatusCode < 500,
		}
	}
	drainAndClose(resp.Body)
	return nil
}

// Close ends the stream.
func (c *oldConn) Close() error {
	c.cancel()
	return c.body.Close()
}
