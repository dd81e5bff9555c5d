package serve

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// writeTimeout is how long a client may stop reading, or up to half as long again.
	writeTimeout = 30 * time.Second
	// writeChunk is how many bytes it must read within that time.
	writeChunk = 64 << 10
)

// timeoutListener closes connections whose clients do not read. The server of net/http
// can only limit the time of a whole response, which may be a long stream; without a
// limit, a client that never reads keeps a goroutine, and its share of [Limits], forever.
type timeoutListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l timeoutListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &timeoutConn{Conn: conn}, nil
}

// timeoutConn has a write deadline that is extended as data is written, unless another
// one is set.
type timeoutConn struct {
	net.Conn

	mu     sync.Mutex
	until  time.Time // the last deadline set
	theirs bool      // set by SetWriteDeadline
}

// Write implements [net.Conn].
func (c *timeoutConn) Write(p []byte) (n int, err error) {
	for {
		piece := p
		if c.extend() && len(p) > writeChunk {
			piece = p[:writeChunk]
		}
		m, err := c.Conn.Write(piece)
		n += m
		p = p[len(piece):]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// extend resets the deadline when it is near, which is cheaper than for each write. It
// reports whether the deadline is ours.
func (c *timeoutConn) extend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.theirs {
		return false
	}
	if now := time.Now(); c.until.Sub(now) < writeTimeout {
		c.until = now.Add(writeTimeout + writeTimeout/2)
		_ = c.Conn.SetWriteDeadline(c.until) // a connection without deadlines never blocks
	}
	return true
}

// SetWriteDeadline implements [net.Conn]. The zero time restores our own deadline.
func (c *timeoutConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.theirs = !t.IsZero()
	c.until = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements [net.Conn].
func (c *timeoutConn) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite lets net/http close a connection so that the client receives the last
// response.
func (c *timeoutConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn implements [syscall.Conn], for code that hijacks the connection.
func (c *timeoutConn) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// limitStreams limits the writes of handlers over HTTP/2 like those of a [timeoutConn]: a stream whose client
// opens no window waits in net/http, where no deadline of the connection applies. A stream that waits too long is
// reset, and the connection stays usable.
func limitStreams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			next.ServeHTTP(w, r)
			return
		}
		s := &timeoutStream{ResponseWriter: w}
		next.ServeHTTP(s, r)
		if s.buffered { // net/http writes the rest after the handler
			s.limit()
		}
	})
}

// timeoutStream is the response of a stream with a write deadline during each write, unless another one is set.
type timeoutStream struct {
	http.ResponseWriter

	buffered bool // something was written and not flushed; used by one goroutine at a time, like the response

	mu     sync.Mutex
	theirs bool // set by SetWriteDeadline
}

// Write implements [http.ResponseWriter].
func (s *timeoutStream) Write(p []byte) (n int, err error) {
	s.buffered = true
	defer s.unlimit() // the deadline of a stream resets it even if nothing is written
	for {
		piece := p[:min(len(p), writeChunk)]
		s.limit()
		m, err := s.ResponseWriter.Write(piece)
		n += m
		p = p[len(piece):]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// FlushError is called by [http.ResponseController.Flush].
func (s *timeoutStream) FlushError() error {
	s.buffered = false
	s.limit()
	defer s.unlimit()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// limit sets our deadline, and unlimit clears it.
func (s *timeoutStream) limit() { s.set(time.Now().Add(writeTimeout)) }

func (s *timeoutStream) unlimit() { s.set(time.Time{}) }

func (s *timeoutStream) set(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.theirs {
		_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(t)
	}
}

// SetWriteDeadline is called by [http.ResponseController]. The zero time restores our own deadlines.
func (s *timeoutStream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.theirs = !t.IsZero()
	return http.NewResponseController(s.ResponseWriter).SetWriteDeadline(t)
}

// Unwrap lets [http.ResponseController] reach the other methods.
func (s *timeoutStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }
