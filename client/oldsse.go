package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// oldConn is a connection of 2024-11-05 ("Transports", HTTP with SSE): one event stream
// carries everything that the server sends, and names the URL to post to.
type oldConn struct {
	link   *httpLink
	post   string
	events *peer.EventReader
	body   io.ReadCloser
	cancel context.CancelFunc
	once   sync.Once
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
	c := &oldConn{link: l, events: peer.NewEventReader(resp.Body, l.endpoint.maxMessage()), body: resp.Body, cancel: cancel}
	if err := c.endpoint(resp.Request.URL); err != nil || !stop() {
		_ = c.Close()
		return nil, err
	}
	l.mu.Lock()
	l.old = newStream(c, l.in)
	old := l.old
	l.mu.Unlock()
	return old, nil
}

// endpoint reads the event that names the URL to post to.
func (c *oldConn) endpoint(base *url.URL) error {
	for {
		ev, err := c.events.Next()
		if err != nil {
			return err
		}
		if ev.Name != "endpoint" {
			continue
		}
		u, err := base.Parse(string(bytes.TrimSpace(ev.Data)))
		if err != nil || u.Scheme != base.Scheme || u.Host != base.Host {
			return errors.New("the server names an endpoint that is not on its own host")
		}
		c.post = u.String()
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
		if data := bytes.TrimSpace(ev.Data); ev.IsMessage() && len(data) > 0 {
			return data, nil
		}
	}
}

// WriteMessage implements server.Conn.
func (c *oldConn) WriteMessage(msg []byte) error {
	ctx, cancel := context.WithTimeout(c.link.quit, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.post, bytes.NewReader(bytes.Clone(msg)))
	if err != nil {
		return err
	}
	req.Header, _ = c.link.header(nil)
	req.Header["Content-Type"] = jsonContent
	resp, err := c.link.endpoint.client.Do(req)
	if err != nil {
		return &lostError{cause: plainCause(err), unseen: isDial(err)}
	}
	defer finishBody(resp.Body)
	if resp.StatusCode > 299 {
		return &lostError{cause: &StatusError{Status: resp.StatusCode}, unseen: resp.StatusCode < 500}
	}
	return nil
}

// Close ends the stream.
func (c *oldConn) Close() error {
	c.once.Do(func() { c.cancel(); _ = c.body.Close() })
	return nil
}
