package server

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Conn is a bidirectional connection for whole messages, such as a WebSocket. ReadMessage
// is called by one goroutine at a time, WriteMessage concurrently.
type Conn interface {
	// ReadMessage returns the next message, in memory that the caller may keep. At the end
	// of the connection the error is io.EOF. ctx ends once messages are no longer processed.
	ReadMessage(ctx context.Context) ([]byte, error)
	// WriteMessage sends a message. It must not keep msg, and must not wait long for a
	// client that does not read: an error closes the connection.
	WriteMessage(msg []byte) error
}

// BufferedConn is a Conn that can send several messages together: WriteMessage may keep a
// copy of the message until Flush is called.
type BufferedConn interface {
	Conn
	// Pending reports whether ReadMessage would return a message without waiting. Answers
	// are buffered as long as it returns true.
	Pending() bool
	// Flush sends the buffered messages. Like WriteMessage, it is called concurrently.
	Flush() error
}

// ConnOptions configures [Server.ServeConn]. Nil and the zero value use the defaults.
type ConnOptions struct {
	// MaxInFlight is the maximum number of concurrent requests; others are rejected with
	// [mcp.CodeToolBusy], or wait while an answer is being written. Reading continues otherwise, so that
	// a client can cancel requests and a disconnect is noticed. 0 means 1,000.
	MaxInFlight int
	// DrainTimeout is how long requests in flight may take after ctx is done, before they
	// are cancelled; 0 means 10 seconds.
	DrainTimeout time.Duration

	// Transport is the kind of connection reported to the observer, such as
	// [TransportWebSocket].
	Transport string

	// Remote is the address of the client, such as the RemoteAddr of its request. The
	// [Budget] uses it to distinguish clients without a principal; connections without a
	// Remote count as one client that has no share of its own.
	Remote string

	// Queues means that WriteMessage never waits for a client that does not read: conn queues the
	// message instead, and counts its queue with [Server.ReserveBody]. Otherwise the server counts an
	// answer until WriteMessage and Flush return, and its request as in flight.
	Queues bool

	// cancelAtEnd means that the end of the input is a disconnect of the client.
	cancelAtEnd bool
}

// ServeConn serves one client on a connection. It returns when the connection ends, which
// cancels the requests in flight, or when ctx is done, which lets them finish. The
// session of a client up to 2025-11-25 is bound to the connection. If the [Budget] does
// not allow another connection, the result is an [*mcp.Error] with [mcp.CodeToolBusy]. ServeConn
// does not close conn. opts may be nil.
func (s *Server) ServeConn(ctx context.Context, conn Conn, opts *ConnOptions) error {
	return s.newPipe(ctx, conn, opts.withDefaults()).serve()
}

// StartConn is [Server.ServeConn] for callers with many idle connections: the only
// goroutine it holds is the one that reads. It returns immediately, and calls ended with
// the result of ServeConn.
func (s *Server) StartConn(ctx context.Context, conn Conn, opts *ConnOptions, ended func(error)) {
	s.newPipe(ctx, conn, opts.withDefaults()).start(ended)
}

// withDefaults returns the options of a connection whose end is a disconnect of its
// client.
func (o *ConnOptions) withDefaults() ConnOptions {
	d := ConnOptions{}
	if o != nil {
		d = *o
	}
	d.cancelAtEnd = true
	return d
}

// ShedConn ends the oldest connection of the client that has the most connections, to
// make room for another client. It reports whether there was one. It does not wait for
// the end.
func (s *Server) ShedConn() bool {
	return s.ledger.shedOne(keptConnection)
}

// link reads and writes the messages of a pipe, and records that writing has failed.
type link struct {
	// conn is the transport of the connection.
	conn     Conn
	buffered BufferedConn  // nil: messages are sent one by one
	failed   chan struct{} // closed when writing has failed
	tap      *tap.Stream   // nil if nothing is tapped

	mu sync.Mutex
	// err is the first error of writing; later writes return it.
	err error
}

// newLink wraps a transport. Batching is used only if it can buffer.
func newLink(conn Conn) *link {
	l := &link{
		conn:   conn,
		failed: make(chan struct{}),
	}
	l.buffered, _ = conn.(BufferedConn)
	return l
}

// pending reports whether the next message can be read without waiting.
func (l *link) pending() bool {
	return l.buffered != nil && l.buffered.Pending()
}

// write sends a message, or queues it for flush.
func (l *link) write(msg []byte) { l.answer(msg, nil) }

// answer is write for the answer to rc, which may be nil.
func (l *link) answer(msg []byte, rc *request) {
	if l.tap != nil {
		l.tap.Sends(msg)
	}
	if stream, ok := l.conn.(*sseConn); ok {
		_ = l.recordError(stream.write(msg, rc))
		return
	}
	_ = l.recordError(l.conn.WriteMessage(msg))
}

// flush sends the queued messages. It returns the first error of any write.
func (l *link) flush() error {
	if l.buffered == nil {
		return l.recordError(nil)
	}
	return l.recordError(l.buffered.Flush())
}

// recordError records err, and returns the first error recorded.
func (l *link) recordError(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.err == nil {
		l.err = err
		close(l.failed)
	}
	return l.err
}

// newPipe returns the pipe of a connection, to be served or started.
func (s *Server) newPipe(ctx context.Context, conn Conn, o ConnOptions) *pipe {
	o.MaxInFlight = cmp.Or(max(o.MaxInFlight, 0), 1000)
	o.DrainTimeout = cmp.Or(max(o.DrainTimeout, 0), 10*time.Second)
	c := &pipe{
		server:  s,
		ctx:     ctx,
		opts:    o,
		session: newSession(""),
		link:    newLink(conn),
		ended:   make(chan struct{}),
		slots:   make(chan struct{}, o.MaxInFlight),
	}
	c.reading, c.stopReading = context.WithCancel(context.WithoutCancel(ctx))
	c.link.tap = s.tap.Open(channelOf(o.Transport))
	c.news.idle.L = &c.news.mu
	return c
}

// serve serves the connection until it ends.
func (c *pipe) serve() error {
	ended := make(chan error, 1)
	c.start(func(err error) { ended <- err })
	return <-ended
}
