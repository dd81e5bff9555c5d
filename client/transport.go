package client

import (
	"context"
	"errors"
	"io"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Transport is a way to reach a server: a [*Command], an [*Endpoint] or a
// [*Dialer].
type Transport interface {
	// String returns the name of the server in errors and in [State]. It contains no
	// secrets.
	String() string

	// connect makes a connection for a session, which receives what the server sends.
	// ctx only bounds connecting.
	connect(ctx context.Context, ses *session) (link, error)
}

// link is a connection to a server, for one session.
type link interface {
	// exchange sends a request and waits for its answer. If ctx is done first, it
	// notifies the server that the answer is no longer wanted.
	exchange(ctx context.Context, c *call) (result []byte, err error)
	// tell sends a notification or a response.
	tell(ctx context.Context, msg []byte) error
	// close ends the connection and waits until everything has stopped. If final is set,
	// calls in flight are cancelled.
	close(final bool)
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

// connect opens a connection with the program's function.
func (d *Dialer) connect(ctx context.Context, ses *session) (link, error) {
	conn, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return newStream(conn, ses, ses.src.tap.Open(tap.Socket)), nil
}

// permanent is an error that a retry will not change.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p) || errors.As(err, new(*BlockedError))
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
	// conn carries messages in both directions.
	conn   server.Conn
	child  *child // conn, if that is a process
	ses    *session
	cancel context.CancelFunc // stops the reading
	done   chan struct{}      // closed when reading has stopped
	// multiline recognizes messages that a server prints over several lines, to explain
	// the failure.
	multiline multiline
	tap       *tap.Stream // nil if nothing is tapped
	posts     bool        // writing a message is an HTTP request, which is tapped itself
}

// newStream starts to read from conn.
func newStream(conn server.Conn, ses *session, tapped *tap.Stream) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{
		conn:   conn,
		ses:    ses,
		cancel: cancel,
		done:   make(chan struct{}),
		tap:    tapped,
	}
	s.child, _ = conn.(*child)
	_, s.posts = conn.(*oldConn)
	go s.read(ctx)
	return s
}

// read passes messages to the session until the connection ends.
func (s *stream) read(ctx context.Context) {
	defer close(s.done)
	for {
		text, err := s.conn.ReadMessage(ctx)
		if err != nil {
			s.ses.lost(s.endReason(err))
			return
		}
		if s.tap != nil {
			s.tap.Received(text, tap.Junk)
		}
		text = text[jsonscan.Space(text, 0):]
		if len(text) == 0 {
			continue // a frame of a WebSocket may be empty
		}
		if text[0] == '[' && eachOf(text, func(text []byte) {
			s.ses.receive(text, nil)
		}) == nil {
			continue
		}
		if !s.multiline.consumes(text, s.ses) {
			s.ses.receive(text, nil)
		}
		if s.child != nil && text[0] != '{' {
			s.child.noteStray(text)
		}
	}
}

// endReason explains the end of a connection.
func (s *stream) endReason(err error) error {
	switch {
	case s.child != nil:
		return s.child.exitError(err)
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the connection")
	}
	return err
}

// exchange implements link.
func (s *stream) exchange(ctx context.Context, c *call) ([]byte, error) {
	var position int64
	var err error
	msg := c.message()
	if s.child != nil {
		s.tapSent(msg)
		position, err = s.child.writer.write(msg)
	} else {
		err = s.write(msg)
	}
	if err != nil {
		return nil, s.writeError(ctx, c, err)
	}
	result, err := c.wait(ctx, func() {
		if c.method != "initialize" {
			_ = s.write(cancelled(c.id)) // on failure, the connection ends soon anyway
		}
	})
	lost, ok := err.(*lostError)
	if ok && s.child != nil && !s.child.mayHaveRead(position) {
		return nil, &lostError{
			cause:  lost.cause,
			unseen: true,
		}
	}
	return result, err
}

// write sends a message.
func (s *stream) write(msg []byte) error {
	s.tapSent(msg)
	return s.conn.WriteMessage(msg)
}

func (s *stream) tapSent(msg []byte) {
	if s.tap != nil && !s.posts {
		s.tap.Sends(msg)
	}
}

// writeError returns the error for a call that could not be written.
func (s *stream) writeError(ctx context.Context, c *call, err error) error {
	if errors.Is(err, errNotReading) {
		return &lostError{
			cause:  err,
			unseen: true,
		}
	}
	if notServed(err) {
		return err
	}
	s.ses.lost(s.endReason(err)) // otherwise a retry would use this connection again
	var lost *lostError
	if errors.As(err, &lost) {
		return err // its error is more precise
	}
	// The session may have ended for another reason, such as a hang, before its pipes
	// were closed.
	_, ended := c.wait(ctx, func() {})
	if errors.As(ended, &lost) {
		err = lost.cause
	}
	return &lostError{
		cause:  err,
		unseen: true,
	}
}

// tell implements link.
func (s *stream) tell(_ context.Context, msg []byte) error {
	return s.write(msg)
}

// close implements link.
func (s *stream) close(bool) {
	s.cancel()
	if c, ok := s.conn.(io.Closer); ok {
		_ = c.Close() // the connection is no longer needed
	}
	<-s.done
}
