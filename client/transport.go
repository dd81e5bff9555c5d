package client

import (
	"context"
	"errors"
	"io"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Transport is a way to reach a server: a [*Command], an [*Endpoint] or a
// [*Dialer].
type Transport interface {
	// String returns the name of the server in errors and in [State]. It contains no
	// secrets.
	String() string

	// connect makes a connection. Messages from the server are passed to in, from a
	// goroutine of the link. ctx only bounds connecting.
	connect(ctx context.Context, in inbox) (link, error)
}

// link is a connection to a server, for one session.
type link interface {
	// exchange sends a request and waits for its answer. If ctx is done first, it
	// notifies the server that the answer is no longer wanted.
	exchange(ctx context.Context, c *call) (result []byte, err error)
	// tell sends a notification or a response.
	tell(ctx context.Context, msg []byte) error
	// ready is called with the result of the handshake.
	ready(version mcp.Version, capabilities []byte)
	// close ends the connection and waits until everything has stopped. If final is set,
	// calls in flight are cancelled.
	close(final bool)
	// process returns the process at the other end, or nil.
	process() *child
	// modernFirst reports whether the handshake of 2026-07-28 is tried first.
	modernFirst() bool
	// listen opens the stream for notifications, if the link has a separate one. refresh
	// is called when messages may have been missed.
	listen(refresh func())
	// abort fails the calls in flight whose answers need connections of their own.
	abort(why error)
}

// inbox receives what a server sends.
type inbox interface {
	// receive handles one message. origin is the call on whose stream it arrived, or nil
	// if that is unknown.
	receive(text []byte, origin *call)
	// unreadable fails the request with that id, whose answer cannot be read. If the id
	// is 0, it fails all requests in flight, because one of them would wait forever.
	unreadable(id uint64, why *UnreadableError)
	// sent reports whether a request with that id was sent.
	sent(id uint64) bool
	// lost reports the end of the connection. It is called once, after all other calls.
	lost(err error)
}

// Dialer is a server on a connection that is made by a function, such as a WebSocket.
type Dialer struct {
	// Name names the server in errors.
	Name string
	// Dial makes a connection; ctx only bounds that. A connection that implements
	// io.Closer is closed when it is no longer needed, which must unblock ReadMessage.
	Dial func(ctx context.Context) (server.Conn, error)
}

var _ Transport = (*Dialer)(nil)

// String returns the name.
func (d *Dialer) String() string { return d.Name }

func (d *Dialer) connect(ctx context.Context, in inbox) (link, error) {
	conn, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return newStream(conn, in), nil
}

// permanent is an error that a retry will not change.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p) || isBlocked(err)
}

// lostError is why a request has no answer: the connection was lost.
type lostError struct {
	cause error
	// unseen reports whether the server cannot have acted on the request.
	unseen bool
}

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// stream is the link over a connection that carries all messages in both directions.
type stream struct {
	conn   server.Conn
	in     inbox
	cancel context.CancelFunc // stops the reading
	done   chan struct{}      // closed when reading has stopped
	spread spread
}

func newStream(conn server.Conn, in inbox) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{conn: conn, in: in, cancel: cancel, done: make(chan struct{})}
	go s.read(ctx)
	return s
}

func (s *stream) read(ctx context.Context) {
	defer close(s.done)
	for {
		text, err := s.conn.ReadMessage(ctx)
		if err != nil {
			s.in.lost(s.why(err))
			return
		}
		if text[0] == '[' {
			if eachOf(text, func(text []byte) { s.in.receive(text, nil) }) == nil {
				continue
			}
		}
		if !s.spread.consumes(text, s.in) {
			s.in.receive(text, nil)
		}
		if j, ok := s.conn.(interface{ junk([]byte) }); ok && text[0] != '{' {
			j.junk(text)
		}
	}
}

// why explains the end of a connection.
func (s *stream) why(err error) error {
	if c, ok := s.conn.(interface{ why(error) error }); ok {
		return c.why(err)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server closed the connection")
	}
	return err
}

// tracker is a connection that knows how much of the written data was read.
type tracker interface {
	write(msg []byte) (place int64, err error)
	reached(place int64) bool
}

func (s *stream) exchange(ctx context.Context, c *call) ([]byte, error) {
	buf := buffers.get()
	buf.b = peer.AppendRequest(buf.b[:0], c.id, c.method, c.params)
	var place int64
	var err error
	t, tracked := s.conn.(tracker)
	if tracked {
		place, err = t.write(buf.b)
	} else {
		err = s.conn.WriteMessage(buf.b)
	}
	buffers.put(buf)
	if err != nil {
		var lost *lostError
		if errors.Is(err, errNotReading) {
			return nil, &lostError{cause: err, unseen: true}
		}
		s.in.lost(s.why(err)) // otherwise a retry would use this connection again
		if errors.As(err, &lost) {
			return nil, err // its error is more precise
		}
		// The session may have ended for another reason, such as a hang, before its pipes
		// were closed.
		if _, ended := c.wait(ctx, func() {}); errors.As(ended, &lost) {
			err = lost.cause
		}
		return nil, &lostError{cause: err, unseen: true}
	}
	result, err := c.wait(ctx, func() {
		if c.method != "initialize" {
			_ = s.conn.WriteMessage(cancelled(c.id)) // on failure, the connection ends soon anyway
		}
	})
	if lost, ok := err.(*lostError); ok && tracked && !t.reached(place) {
		return nil, &lostError{cause: lost.cause, unseen: true}
	}
	return result, err
}

func (s *stream) tell(_ context.Context, msg []byte) error { return s.conn.WriteMessage(msg) }

func (s *stream) ready(mcp.Version, []byte) {}

func (s *stream) close(bool) {
	s.cancel()
	if c, ok := s.conn.(io.Closer); ok {
		_ = c.Close() // the connection is no longer needed
	}
	<-s.done
}

func (s *stream) process() *child {
	c, _ := s.conn.(*child)
	return c
}

func (s *stream) modernFirst() bool { return false }

func (s *stream) listen(func()) {}

func (s *stream) abort(error) {}
