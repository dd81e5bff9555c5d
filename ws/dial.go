package ws

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/slipway-mcp/slipway/mcp"
)

// DialOptions configure [Dial]. The zero value and nil are the defaults.
type DialOptions struct {
	// Subprotocols are offered to the server, which chooses; nil stands for
	// mcp.v1 and mcp, and an empty list for none.
	Subprotocols []string
	// Token is the bearer token to send in the Authorization header.
	Token string
	// Header holds further headers for the upgrade.
	Header http.Header
	// Client makes the upgrade request; nil stands for http.DefaultClient. It
	// never follows a redirect.
	Client *http.Client

	// MaxMessage is the largest message in bytes; 0 stands for 16 MiB. A larger
	// one ends the connection.
	MaxMessage int64
	// WriteTimeout is how long the server may take to accept a message; then the
	// connection ends. 0 stands for 30 seconds.
	WriteTimeout time.Duration
	// PingInterval is how often the server is pinged. If it has not answered by
	// the next time, the connection ends. 0 stands for 30 seconds; a negative one
	// for no pings.
	PingInterval time.Duration
	// Compress offers permessage-deflate.
	Compress bool
}

// Conn is a client's connection. ReadMessage must be called in a loop, by one
// goroutine: nothing else answers pings or notices the end. The other methods
// are safe for concurrent use.
type Conn struct {
	conn         *websocket.Conn
	maxMessage   int64
	writeTimeout time.Duration
	reads        atomic.Int64  // begun and ended calls of ReadMessage: odd during one
	stop         chan struct{} // ends the pings
	once         sync.Once
	pings        sync.WaitGroup
}

var _ mcp.Conn = (*Conn)(nil)

// HandshakeError is why a server did not upgrade a connection.
type HandshakeError struct {
	Status int         // of the response, such as 401
	Header http.Header // of the response
	Reason string      // the beginning of its body
}

func (e *HandshakeError) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// CloseError is why a server closed a connection, other than because one of both
// sides had no more use for it.
type CloseError struct {
	Code   int // such as 1008
	Reason string
}

func (e *CloseError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("the server closed the connection with code %d", e.Code)
	}
	return fmt.Sprintf("the server closed the connection with code %d: %s", e.Code, e.Reason)
}

// Dial connects to a server at a ws, wss, http or https URL. ctx bounds the
// handshake alone. A server that answers but does not upgrade is a
// [HandshakeError]. Close the connection when it is no longer needed. opts may
// be nil.
func Dial(ctx context.Context, target string, opts *DialOptions) (*Conn, error) {
	var o DialOptions
	if opts != nil {
		o = *opts
	}
	conn, response, err := websocket.Dial(ctx, target, o.handshake())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", withoutSecrets(target), dialError(err, response))
	}
	c := &Conn{
		conn:         conn,
		maxMessage:   cmp.Or(max(o.MaxMessage, 0), 16<<20),
		writeTimeout: cmp.Or(max(o.WriteTimeout, 0), 30*time.Second),
		stop:         make(chan struct{}),
	}
	conn.SetReadLimit(c.maxMessage)
	if interval := cmp.Or(o.PingInterval, 30*time.Second); interval > 0 {
		c.pings.Go(func() { c.ping(interval) })
	}
	return c, nil
}

func (o *DialOptions) handshake() *websocket.DialOptions {
	h := &websocket.DialOptions{HTTPHeader: maps.Clone(o.Header), Subprotocols: o.Subprotocols}
	if o.Subprotocols == nil {
		h.Subprotocols = []string{ProtocolV1, Protocol}
	}
	if o.Token != "" {
		if h.HTTPHeader == nil {
			h.HTTPHeader = make(http.Header)
		}
		h.HTTPHeader.Set("Authorization", "Bearer "+o.Token)
	}
	if o.Compress {
		h.CompressionMode = websocket.CompressionNoContextTakeover
	}
	client := *cmp.Or(o.Client, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h.HTTPClient = &client
	return h
}

func dialError(err error, response *http.Response) error {
	if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(response.Body) // its first KiB
		reason := strings.ToValidUTF8(string(bytes.TrimSpace(body)), "?")
		return &HandshakeError{Status: response.StatusCode, Header: response.Header, Reason: reason}
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err // the rest of it repeats the URL, with all that is in it
	}
	return err
}

// withoutSecrets returns where a URL leads to, for messages.
func withoutSecrets(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "a URL that is none"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Subprotocol returns what the server has chosen, or "".
func (c *Conn) Subprotocol() string { return c.conn.Subprotocol() }

// ReadMessage returns the next message. When the connection has ended in order
// the error is io.EOF; when the server had a complaint, a [CloseError]. The end
// of ctx ends the connection, too.
func (c *Conn) ReadMessage(ctx context.Context) ([]byte, error) {
	c.reads.Add(1)
	defer c.reads.Add(1)
	kind, msg, err := c.conn.Read(ctx)
	switch {
	case err != nil:
		return nil, c.readError(ctx, err)
	case kind != websocket.MessageText:
		_ = c.conn.Close(websocket.StatusUnsupportedData, "messages are text frames")
		return nil, errors.New("the server sent a binary frame")
	case !utf8.Valid(msg):
		_ = c.conn.Close(websocket.StatusInvalidFramePayloadData, "the message is not UTF-8")
		return nil, errors.New("the server sent a message that is not UTF-8")
	}
	return msg, nil
}

func (c *Conn) readError(ctx context.Context, err error) error {
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed):
		return closeError(closed)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, websocket.ErrMessageTooBig):
		return fmt.Errorf("the server sent a message of more than %d bytes", c.maxMessage)
	}
	return fmt.Errorf("read from the server: %w", cause(err))
}

func closeError(closed websocket.CloseError) error {
	switch closed.Code {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return io.EOF
	}
	return &CloseError{Code: int(closed.Code), Reason: closed.Reason}
}

// cause returns what the network has to say, without what the framing library
// was about to do.
func cause(err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		return network
	}
	return err
}

// WriteMessage sends a message. It waits while the server does not read, up to
// [DialOptions.WriteTimeout]. An error ends the connection; after its end the
// error is net.ErrClosed.
func (c *Conn) WriteMessage(msg []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.writeTimeout)
	defer cancel()
	err := c.conn.Write(ctx, websocket.MessageText, msg)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the server took no message for %v", c.writeTimeout)
	case errors.Is(err, net.ErrClosed):
		return net.ErrClosed
	}
	return fmt.Errorf("write to the server: %w", cause(err))
}

// Close tells the server that the connection is no longer needed, waits a few
// seconds for its answer, and ends it.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.stop) })
	err := c.conn.Close(websocket.StatusNormalClosure, "")
	c.pings.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ping ends the connection when the server has vanished.
func (c *Conn) ping(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
		}
		if !c.alive(interval) {
			_ = c.conn.CloseNow()
			return
		}
	}
}

// alive pings the server. Without an answer it may be alive all the same, unless
// somebody was waiting for a message all the time.
func (c *Conn) alive(interval time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), interval)
	defer cancel()
	reads := c.reads.Load()
	err := c.conn.Ping(ctx)
	waited := reads%2 == 1 && c.reads.Load() == reads
	return err == nil || errors.Is(err, context.DeadlineExceeded) && !waited
}
