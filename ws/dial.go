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

	"github.com/slipway-mcp/slipway/mcp/server"
)

// DialOptions configure [Dial]. Nil and the zero value are the defaults.
type DialOptions struct {
	// Subprotocols are offered to the server, which selects one; nil means mcp.v1 and mcp,
	// an empty list none.
	Subprotocols []string
	// Token is the bearer token to send in the Authorization header.
	Token string
	// Header holds additional headers for the upgrade.
	Header http.Header
	// Client sends the upgrade request; nil means http.DefaultClient. Redirects are never
	// followed.
	Client *http.Client

	// MaxMessage is the size limit of a message in bytes; 0 means 16 MiB. A larger one
	// closes the connection.
	MaxMessage int64
	// WriteTimeout is how long the server may take to accept a message before the connection
	// is closed; 0 means 30 seconds.
	WriteTimeout time.Duration
	// PingInterval is how often the server is pinged; 0 means 30 seconds. If it has not
	// answered by the next ping, the connection is closed. A negative value disables pings.
	PingInterval time.Duration
	// Compress offers permessage-deflate to the server.
	Compress bool
}

// Conn is the client side of a connection. One goroutine must call ReadMessage in a loop:
// nothing else answers pings or notices the end. The other methods are safe for
// concurrent use.
type Conn struct {
	conn         *websocket.Conn
	maxMessage   int64
	writeTimeout time.Duration
	reads        atomic.Int64  // starts and ends of ReadMessage calls: odd during one
	stop         chan struct{} // stops the pings
	once         sync.Once
	pings        sync.WaitGroup
}

var _ server.Conn = (*Conn)(nil)

// HandshakeError is returned if the server answers without upgrading the connection.
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

// CloseError is returned if the server closed the connection for any other reason than a
// normal end.
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

// Dial connects to a server at a ws, wss, http or https URL. ctx limits only the
// handshake. If the server answers without upgrading the connection, the error is a
// [HandshakeError]. Close the connection when it is no longer needed. opts may be nil.
func Dial(ctx context.Context, target string, opts *DialOptions) (*Conn, error) {
	var o DialOptions
	if opts != nil {
		o = *opts
	}
	conn, response, err := websocket.Dial(ctx, target, o.handshake())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", withoutSecrets(target),
			dialError(err, response))
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

// handshake returns the options of the library. Redirects are not followed: the token in
// the header was meant for the original host.
func (o *DialOptions) handshake() *websocket.DialOptions {
	h := &websocket.DialOptions{
		HTTPHeader:   maps.Clone(o.Header),
		Subprotocols: o.Subprotocols,
	}
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
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	h.HTTPClient = &client
	return h
}

// dialError returns what the server answered in place of an upgrade, without the URL,
// which may contain secrets.
func dialError(err error, response *http.Response) error {
	if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(response.Body) // the library keeps only the first KiB
		reason := strings.ToValidUTF8(string(bytes.TrimSpace(body)), "?")
		return &HandshakeError{
			Status: response.StatusCode,
			Header: response.Header,
			Reason: reason,
		}
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err // the rest of the error repeats the full URL
	}
	return err
}

// withoutSecrets returns the scheme, host and path of a URL, for messages.
func withoutSecrets(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "an invalid URL"
	}
	return (&url.URL{
		Scheme: u.Scheme,
		Host:   u.Host,
		Path:   u.Path,
	}).String()
}

// Subprotocol returns the subprotocol that the server selected, or "".
func (c *Conn) Subprotocol() string { return c.conn.Subprotocol() }

// ReadMessage returns the next message. After a normal end of the connection the error is
// io.EOF; if the server reported a problem, a [CloseError]. The end of ctx also closes
// the connection.
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
		_ = c.conn.Close(websocket.StatusInvalidFramePayloadData,
			"the message is not UTF-8")
		return nil, errors.New("the server sent a message that is not UTF-8")
	}
	return msg, nil
}

// readError translates the errors of the library. A connection that was closed in order is
// at its end.
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

// closeError returns io.EOF for the codes of a regular end (RFC 6455, section 7.4.1).
func closeError(closed websocket.CloseError) error {
	switch closed.Code {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return io.EOF
	}
	return &CloseError{
		Code:   int(closed.Code),
		Reason: closed.Reason,
	}
}

// cause returns the network error inside err, if there is one, without the context added
// by the framing library.
func cause(err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		return network
	}
	return err
}

// WriteMessage sends a message. It blocks while the server does not read, up to
// [DialOptions.WriteTimeout]. An error closes the connection, after which the error is
// net.ErrClosed.
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

// Close closes the connection with a close frame, and waits a few seconds for the server
// to answer it. Blocked reads and writes return. Closing again returns nil.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.stop) })
	err := c.conn.Close(websocket.StatusNormalClosure, "")
	c.pings.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ping closes the connection when the server has vanished.
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

// alive pings the server. A missing answer counts only if a ReadMessage call was waiting
// the whole time; otherwise the pong could not have been read.
func (c *Conn) alive(interval time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), interval)
	defer cancel()
	reads := c.reads.Load()
	err := c.conn.Ping(ctx)
	waited := reads%2 == 1 && c.reads.Load() == reads
	return err == nil || errors.Is(err, context.DeadlineExceeded) && !waited
}
