package mcp

import (
	"context"
	"sync"
	"time"
)

// Conn is a connection that carries whole messages both ways, such as a
// WebSocket. ReadMessage is called by one goroutine at a time, WriteMessage by
// many at once.
type Conn interface {
	// ReadMessage returns the next message, in memory that the caller may keep.
	// At the end of the connection the error is io.EOF. ctx ends once nothing more
	// will be done with a message.
	ReadMessage(ctx context.Context) ([]byte, error)
	// WriteMessage sends a message. It must not keep msg, nor wait long for a
	// client that does not read: an error ends the connection.
	WriteMessage(msg []byte) error
}

// BufferedConn is a Conn that lets messages leave together: WriteMessage may
// keep a copy of the message until Flush is called.
type BufferedConn interface {
	Conn
	// Pending reports whether ReadMessage has a whole message at hand, so that it
	// would not wait. Answers are kept for as long as it has.
	Pending() bool
	// Flush sends what is kept. Like WriteMessage it is called by many at once.
	Flush() error
}

// ConnOptions configure [Server.ServeConn]. The zero value and nil are the defaults.
type ConnOptions struct {
	// MaxInFlight is how many requests may run at once; others are refused with
	// [CodeToolBusy]. Reading goes on, so that a client can cancel requests, and
	// is seen to leave. 0 stands for 1,000.
	MaxInFlight int
	// DrainTimeout is how long requests in flight may take after ctx is done,
	// before they are cancelled; 0 stands for 10 seconds.
	DrainTimeout time.Duration

	// Transport is what the observer is told that the connection is, such as
	// [TransportWebSocket].
	Transport string

	// Remote is the address of the client, such as the RemoteAddr of its request. By
	// it the [Budget] tells clients without a principal apart; connections without a
	// Remote count as one client that has no share of its own.
	Remote string

	// cancelAtEnd says that the end of the input means that the client has gone.
	cancelAtEnd bool
}

// ServeConn serves one client on a connection until it ends, which cancels what
// is in flight, or until ctx is done, which lets it finish. The session of a
// client up to 2025-11-25 is the connection's. A connection beyond the [Budget] ends
// with an [*Error] of [CodeToolBusy]. ServeConn does not close conn.
// opts may be nil.
func (s *Server) ServeConn(ctx context.Context, conn Conn, opts *ConnOptions) error {
	ended := make(chan error, 1)
	s.StartConn(ctx, conn, opts, func(err error) { ended <- err })
	return <-ended
}

// StartConn is [Server.ServeConn] for those who have many connections at rest: it
// holds no goroutine but the one that reads. It returns at once, and ended is
// called with what ServeConn would return.
func (s *Server) StartConn(ctx context.Context, conn Conn, opts *ConnOptions, ended func(error)) {
	var o ConnOptions
	if opts != nil {
		o = *opts
	}
	o.cancelAtEnd = true
	w := &whole{conn: conn, broken: make(chan struct{})}
	w.buffered, _ = conn.(BufferedConn)
	s.newPipe(ctx, w, o).start(ended)
}

// ShedConn ends the oldest connection of the client that has the most, to make room
// for another client, and reports whether there was one. It does not wait for the end.
func (s *Server) ShedConn() bool { return s.ledger.shedOne(keptConnection) }

// link is what a connection reads from and writes to.
type link interface {
	read(ctx context.Context) ([]byte, error)
	// pending reports whether the next message can be read without waiting.
	pending() bool
	// write queues a message, flush sends what is queued.
	write(msg []byte)
	flush() error
	// failed is closed when writing has failed.
	failed() <-chan struct{}
	// limit is the size from which read refuses a message.
	limit() int
}

// whole is the link of a Conn.
type whole struct {
	conn     Conn
	buffered BufferedConn // nil: every message leaves at once
	broken   chan struct{}

	mu  sync.Mutex
	err error
}

func (w *whole) read(ctx context.Context) ([]byte, error) { return w.conn.ReadMessage(ctx) }
func (w *whole) pending() bool                            { return w.buffered != nil && w.buffered.Pending() }
func (w *whole) failed() <-chan struct{}                  { return w.broken }
func (w *whole) limit() int                               { return 0 }
func (w *whole) write(msg []byte)                         { _ = w.noted(w.conn.WriteMessage(msg)) }

func (w *whole) flush() error {
	if w.buffered != nil {
		return w.noted(w.buffered.Flush())
	}
	return w.noted(nil)
}

// noted returns the first error there was.
func (w *whole) noted(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = err
		close(w.broken)
	}
	return w.err
}

// serveLink serves a connection until it ends.
func (s *Server) serveLink(ctx context.Context, l link, o ConnOptions) error {
	return s.newPipe(ctx, l, o).serve()
}

func (c *pipe) serve() error {
	ended := make(chan error, 1)
	c.start(func(err error) { ended <- err })
	return <-ended
}

func (s *Server) newPipe(ctx context.Context, l link, o ConnOptions) *pipe {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 1000
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = 10 * time.Second
	}
	c := &pipe{
		server:  s,
		ctx:     ctx,
		opts:    o,
		session: newSession(""),
		link:    l,
		ended:   make(chan struct{}),
		slots:   make(chan struct{}, o.MaxInFlight),
	}
	c.reading, c.stopReading = context.WithCancel(context.WithoutCancel(ctx))
	c.news.idle.L = &c.news.mu
	return c
}
