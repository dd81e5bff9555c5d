package hophttp

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// watch notices that the other replica closes an idle connection, so that no request is sent on one where it cannot
// be served: whether it was served would then be unknown. Where the system can be asked, no goroutine waits.
type watch struct {
	raw    syscall.RawConn // of a connection that can be asked; else nil
	asked  bool            // raw is known
	closed chan error      // receives why a read of the idle connection has ended
}

// begin watches an idle connection until end.
func (w *watch) begin(c *conn) {
	if !w.asked {
		w.asked = true
		w.raw = rawConn(c.Conn)
	}
	if w.raw != nil {
		return
	}
	w.closed = make(chan error, 1)
	go func() { w.closed <- c.in.fill() }()
}

// end reports whether the connection is still open, and nothing has arrived.
func (w *watch) end(c *conn) (open bool) {
	if w.raw != nil {
		return nothingArrived(w.raw)
	}
	_ = c.SetReadDeadline(time.Unix(1, 0))
	if !errors.Is(<-w.closed, os.ErrDeadlineExceeded) {
		return false
	}
	return c.SetReadDeadline(time.Time{}) == nil
}

// rawConn returns the connection of the system below c, or nil if it cannot be asked.
func rawConn(c net.Conn) syscall.RawConn {
	if wrapper, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = wrapper.NetConn()
	}
	// The listener of a cluster wraps the connection again, below TLS.
	if wrapper, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = wrapper.NetConn()
	}
	if s, ok := c.(syscall.Conn); ok && canPeek {
		if raw, err := s.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}
