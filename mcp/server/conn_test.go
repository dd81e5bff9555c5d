package server_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// mailbox is an in-memory Conn.
type mailbox struct {
	in  chan string // closed: the end
	out lockedBuffer

	mu     sync.Mutex
	broken error // the error of writes
	held   []string
}

func newMailbox() *mailbox { return &mailbox{in: make(chan string, 100)} }

func (m *mailbox) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case msg, ok := <-m.in:
		if !ok {
			return nil, io.EOF
		}
		return []byte(msg), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *mailbox) WriteMessage(msg []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	_, err := m.out.Write(append(msg, '\n'))
	return err
}

func (m *mailbox) breakWith(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

// came returns what has been written since the last call, after waiting until no slow
// request blocks reading.
func (m *mailbox) came() string {
	time.Sleep(time.Millisecond)
	synctest.Wait()
	return m.out.take()
}

// serveConn serves a connection and returns a channel for its result.
func serveConn(ctx context.Context, source mcp.Source, conn server.Conn, opts *server.ConnOptions) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- server.New(source, nil).ServeConn(ctx, conn, opts) }()
	synctest.Wait()
	return ended
}

// A connection is a session, and supports both eras. When it ends, its client has
// disconnected.
func TestConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserver()
		m := newMailbox()
		ended := serveConn(t.Context(), o, m, nil)
		said := []string{initRequest, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "", " "}
		got := ""
		for i, want := range []int{1, 1, 0, 0} {
			m.in <- said[i]
			came := m.came()
			messages(t, came, want)
			got += came
		}
		checkTruth(t, mcp.Version20250618, said, got)
		m.in <- modern("tools/call", `"name":"stored"`)
		checkTruth(t, mcp.Version20260728, []string{modern("tools/call", "")}, m.came())
		<-o.contexts
		m.in <- waitCall
		ctx := <-o.contexts
		close(m.in)
		<-ctx.Done()
		if err := <-ended; err != nil {
			t.Errorf("ServeConn = %v", err)
		}
		if got := m.came(); got != "" {
			t.Errorf("written without a reader: %s", got)
		}
	})
}

// When serving ends, running requests finish, and new ones are rejected.
func TestConnDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		m := newMailbox()
		ctx, stop := context.WithCancel(t.Context())
		ended := serveConn(ctx, d, m, nil)
		m.in <- initRequest
		m.came()
		m.in <- waitCall
		<-d.entered
		stop()
		synctest.Wait()
		close(d.release)
		if err := <-ended; err != nil {
			t.Errorf("ServeConn = %v", err)
		}
		if got := m.came(); !strings.Contains(got, "released") {
			t.Errorf("came %q, want the answer", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := newMailbox()
		ctx, stop := context.WithCancel(t.Context())
		ended := serveConn(ctx, newDemo(), m, &server.ConnOptions{DrainTimeout: time.Minute})
		m.in <- call(1, "wait")
		m.came()
		stop()
		began := time.Now()
		if err := <-ended; err != nil || time.Since(began) != time.Minute {
			t.Errorf("ServeConn = %v after %v", err, time.Since(began))
		}
	})
}

// An error of reading or writing ends the connection, and is returned.
func TestConnFails(t *testing.T) {
	lost := errors.New("connection lost")
	synctest.Test(t, func(t *testing.T) {
		m := newMailbox()
		ended := serveConn(t.Context(), newDemo(), m, nil)
		m.breakWith(lost)
		m.in <- pingRequest
		synctest.Wait()
		if err := <-ended; !errors.Is(err, lost) {
			t.Errorf("ServeConn = %v, want %v", err, lost)
		}
		close(m.in) // releases a blocked read
	})
	synctest.Test(t, func(t *testing.T) {
		if err := <-serveConn(t.Context(), newDemo(), &deadConn{lost}, nil); !errors.Is(err, lost) {
			t.Errorf("ServeConn = %v, want %v", err, lost)
		}
	})
}

type deadConn struct{ err error }

func (d *deadConn) ReadMessage(context.Context) ([]byte, error) { return nil, d.err }
func (d *deadConn) WriteMessage([]byte) error                   { return d.err }

// gathering is a Conn that sends several messages together.
type gathering struct {
	*mailbox
	flushes int
}

func (g *gathering) WriteMessage(msg []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = append(g.held, string(msg)+"\n")
	return nil
}

func (g *gathering) Pending() bool { return len(g.in) > 0 }

func (g *gathering) Flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.held) > 0 {
		g.flushes++
	}
	for _, msg := range g.held {
		g.out.Write([]byte(msg))
	}
	g.held = nil
	return g.broken
}

func TestConnGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gathering{mailbox: newMailbox()}
		for range 10 {
			g.in <- pingRequest
		}
		ended := serveConn(t.Context(), newDemo(), g, nil)
		messages(t, g.came(), 10)
		if g.flushes != 1 {
			t.Errorf("10 answers left in %d parts, want 1", g.flushes)
		}
		g.breakWith(io.ErrClosedPipe)
		g.in <- pingRequest
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("ServeConn = %v", err)
		}
		close(g.in)
	})
}

func TestConnMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		m := newMailbox()
		ended := serveConn(t.Context(), d, m, &server.ConnOptions{MaxInFlight: 2})
		for i := range 2 {
			m.in <- call(i, "wait")
			m.came()
		}
		m.in <- call(2, "wait")
		if got := messages(t, m.came(), 1)[0]; string(got.ID) != "2" ||
			got.Error == nil ||
			got.Error.Code != mcp.CodeToolBusy {
			t.Errorf("a third at once: id %s, %s %v", got.ID, got.Result, got.Error)
		}
		close(d.release)
		messages(t, m.came(), 2)
		close(m.in)
		if err := <-ended; err != nil {
			t.Errorf("ServeConn = %v", err)
		}
	})
}
