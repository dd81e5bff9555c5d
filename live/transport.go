package live

import (
	"context"
	"errors"
	"io"

	"github.com/slipway-mcp/slipway/mcp"
)

// Transport is a way to reach a server: a [*Command], an [*Endpoint] or a
// [*Dialer].
type Transport interface {
	// String names the server in errors and in [State]. It holds no secrets.
	String() string

	// connect makes a connection. What comes from the server goes to in, from a
	// goroutine of the link's own. ctx bounds the making alone.
	connect(ctx context.Context, in inbox) (link, error)
}

// link is a connection to a server, for one session.
type link interface {
	// exchange sends a request and waits for its answer. When ctx ends it tells
	// the server that the answer is not wanted any more.
	exchange(ctx context.Context, c *call) (result []byte, err error)
	// tell sends a notification or a response. origin is the call that a response
	// belongs to, or nil.
	tell(ctx context.Context, msg []byte) error
	// ready says that the handshake is done and what came of it.
	ready(version mcp.Version, capabilities []byte)
	// close ends the connection and waits until nothing is left of it. final says
	// that no call may go on.
	close(final bool)
	// pid is the process at the other end, or 0.
	pid() int
}

// inbox receives what a server sends.
type inbox interface {
	// receive takes one message. origin is the call on whose stream it came, or
	// nil if that cannot be told.
	receive(text []byte, origin *call)
	// unreadable fails the request with that id, whose answer cannot be read, or with 0
	// all in flight, as one of those would wait for ever.
	unreadable(id uint64, why *UnreadableError)
	// sent reports whether a request had that id.
	sent(id uint64) bool
	// lost says that the connection has ended, once. Nothing comes after it.
	lost(err error)
}

// Dialer is a server at the other end of a connection that somebody else knows
// how to make, such as a WebSocket.
type Dialer struct {
	// Name names the server in errors.
	Name string
	// Dial makes a connection; ctx bounds the making alone. A connection that is
	// an io.Closer is closed when it is no longer needed, which must end a
	// ReadMessage that waits.
	Dial func(ctx context.Context) (mcp.Conn, error)
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

// permanent is an error that another attempt will not change.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p) || isBlocked(err)
}

// lostError is why a request has no answer: the connection has ended.
type lostError struct {
	cause error
	// unseen says that the server cannot have acted on the request.
	unseen bool
}

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// stream is the link over a connection that carries all messages both ways.
type stream struct {
	conn   mcp.Conn
	in     inbox
	cancel context.CancelFunc // ends the reading
	done   chan struct{}      // closed when nothing is read any more
	spread spread
}

func newStream(conn mcp.Conn, in inbox) *stream {
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

// tracker is a connection that knows what of it has been written.
type tracker interface {
	write(msg []byte) (place int64, err error)
	reached(place int64) bool
}

func (s *stream) exchange(ctx context.Context, c *call) ([]byte, error) {
	buf := buffers.get()
	buf.b = appendRequest(buf.b[:0], c)
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
		if !errors.Is(err, errNotReading) {
			s.in.lost(s.why(err)) // or whoever tries again would come back here
		}
		var lost *lostError
		if errors.As(err, &lost) {
			return nil, err // it knows better
		}
		return nil, &lostError{cause: err, unseen: true}
	}
	result, err := c.wait(ctx, func() {
		if c.method != "initialize" {
			_ = s.conn.WriteMessage(cancelled(c.id)) // if it cannot be sent, the end is near anyway
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
		_ = c.Close() // we have no more use for it
	}
	<-s.done
}

func (s *stream) pid() int {
	if p, ok := s.conn.(interface{ pid() int }); ok {
		return p.pid()
	}
	return 0
}
