package load

import (
	"fmt"
	"io"
	"net/http"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/wire"
)

// Idle opens clients that then stay idle: sessions, their GET streams, or WebSockets.
type Idle struct {
	// Addr is where the peer listens, and Workload the kind of idle client.
	Addr     string
	Workload fix.Workload

	sessions []string // for streams
	conns    []io.Closer
}

// Prepare opens what the measurement requires, which is the sessions for streams. It also
// opens a few clients of the measured kind, so that one-time allocations of the peer are
// not measured.
func (l *Idle) Prepare() error {
	const few = 50
	if l.Workload.Kind == fix.IdleStream {
		if err := l.openSessions(few + l.Workload.Count); err != nil {
			return err
		}
	}
	return l.open(few)
}

// Open opens the clients to measure.
func (l *Idle) Open() error { return l.open(l.Workload.Count) }

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

// generator returns a generator for the handshakes.
func (l *Idle) generator() *Generator {
	return &Generator{
		Addr:     l.Addr,
		Workload: l.Workload,
	}
}

// openSessions begins sessions over one connection.
func (l *Idle) openSessions(n int) error {
	t, err := l.generator().connect(readSize)
	if err != nil {
		return err
	}
	defer t.Close()
	for range n {
		h := t.(*httpLink)
		h.session = ""
		if err := handshake(h); err != nil {
			return fmt.Errorf("open session: %w", err)
		}
		l.sessions = append(l.sessions, h.session)
	}
	return nil
}

// open opens n clients of the measured kind.
func (l *Idle) open(n int) error {
	if l.Workload.Kind == fix.IdleSession {
		return l.openSessions(n)
	}
	for range n {
		var conn io.Closer
		var err error
		if l.Workload.Kind == fix.IdleWebSocket {
			conn, err = l.generator().open(idleSize)
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

// openStream opens the GET stream of the next session.
func (l *Idle) openStream() (io.Closer, error) {
	conn, err := wire.Dial(l.Addr, idleSize)
	if err != nil {
		return nil, err
	}
	answer, err := conn.Begin(fmt.Appendf(nil, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n"+
		"MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n\r\n", l.Addr, fix.Legacy, l.sessions[0]))
	l.sessions = l.sessions[1:]
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("status %d", answer.Status)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open stream: %w", err)
	}
	return conn, nil
}
