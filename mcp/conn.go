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
	// At the end of the connection the error is io.EOF.
	ReadMessage(ctx context.Context) ([]byte, error)
	// WriteMessage sends a message. It must not keep msg, nor wait long for a
	// client that does not read: an error ends the connection.
	WriteMessage(msg []byte) error
}

// ConnOptions configure [Server.ServeConn]. The zero value and nil are the defaults.
type ConnOptions struct {
	// MaxInFlight is how many requests may run at once; beyond it, reading waits.
	// 0 stands for 1,000.
	MaxInFlight int
	// DrainTimeout is how long requests in flight may take after ctx is done,
	// before they are cancelled; 0 stands for 10 seconds.
	DrainTimeout time.Duration

	// cancelAtEnd says that the end of the input means that the client has gone.
	cancelAtEnd bool
}

// ServeConn serves one client on a connection until it ends, which cancels what
// is in flight, or until ctx is done, which lets it finish. The session of a
// client up to 2025-11-25 is the connection's. ServeConn does not close conn.
// opts may be nil.
func (s *Server) ServeConn(ctx context.Context, conn Conn, opts *ConnOptions) error {
	var o ConnOptions
	if opts != nil {
		o = *opts
	}
	o.cancelAtEnd = true
	return s.serveLink(ctx, &whole{conn: conn, broken: make(chan struct{})}, o)
}

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
	conn   Conn
	broken chan struct{}

	mu  sync.Mutex
	err error
}

func (w *whole) read(ctx context.Context) ([]byte, error) { return w.conn.ReadMessage(ctx) }
func (w *whole) pending() bool                            { return false }
func (w *whole) failed() <-chan struct{}                  { return w.broken }
func (w *whole) limit() int                               { return 0 }

func (w *whole) write(msg []byte) {
	err := w.conn.WriteMessage(msg)
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		close(w.broken)
	}
}

func (w *whole) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (s *Server) serveLink(ctx context.Context, l link, o ConnOptions) error {
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
	c.news.idle.L = &c.news.mu
	return c.serve()
}
