package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

// Idle opens clients that then stay idle: sessions, their GET streams, or WebSockets.
type Idle struct {
	Addr     string
	Workload fix.Workload

	sessions []string // for streams
	conns    []net.Conn
}

// Prepare opens what the measurement requires, which is the sessions for streams. It also
// opens a few clients of the measured kind, so that one-time allocations of the peer are
// not measured.
func (l *Idle) Prepare() error {
	const few = 50
	switch l.Workload.Kind {
	case fix.IdleSession:
		return l.openSessions(few)
	case fix.IdleStream:
		if err := l.openSessions(few + l.Workload.Count); err != nil {
			return err
		}
	}
	return l.open(few)
}

// Open opens the clients to measure.
func (l *Idle) Open() error {
	if l.Workload.Kind == fix.IdleSession {
		return l.openSessions(l.Workload.Count)
	}
	return l.open(l.Workload.Count)
}

// Close closes all connections.
func (l *Idle) Close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// Free makes the peer return unused memory to the system, if it can.
func (l *Idle) Free() error {
	answer, err := http.Get("http://" + l.Addr + contract.FreePath)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// openSessions begins sessions over one connection.
func (l *Idle) openSessions(n int) error {
	h := &HTTP{Addr: l.Addr, Workload: l.Workload}
	c, err := dial(l.Addr)
	if err != nil {
		return err
	}
	defer c.net.Close()
	for range n {
		session, err := h.handshake(c)
		if err != nil {
			return fmt.Errorf("open session: %w", err)
		}
		l.sessions = append(l.sessions, session)
	}
	return nil
}

// open opens connections that stay open.
func (l *Idle) open(n int) error {
	for range n {
		var conn net.Conn
		var err error
		if l.Workload.Kind == fix.IdleWebSocket {
			conn, err = openIdleSocket(l.Addr)
		} else {
			conn, err = l.openStream()
		}
		if err != nil {
			return err
		}
		l.conns = append(l.conns, conn)
	}
	return nil
}

func openIdleSocket(addr string) (net.Conn, error) {
	const small = 512
	c, err := openSocket(addr, small)
	if err != nil {
		return nil, err
	}
	return c.Conn, nil
}

// openStream opens the GET stream of the next session.
func (l *Idle) openStream() (net.Conn, error) {
	if len(l.sessions) == 0 {
		return nil, errors.New("more streams than sessions")
	}
	session := l.sessions[0]
	l.sessions = l.sessions[1:]
	conn, err := net.Dial("tcp", l.Addr)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n\r\n",
		l.Addr, fix.Legacy, session)
	if err == nil {
		err = streamBegins(conn)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open stream: %w", err)
	}
	return conn, nil
}

// streamBegins reads the start of the answer, and checks its status.
func streamBegins(conn net.Conn) error {
	head := make([]byte, 512)
	n, err := io.ReadAtLeast(conn, head, len("HTTP/1.1 200"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(head[:n]), "HTTP/1.1 200") {
		return fmt.Errorf("answer %.100q", head[:n])
	}
	return nil
}
