package ws_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// source is the source that the tests serve.
type source struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
	entered chan struct{} // receives when a call of slow has begun
	release chan struct{} // lets one call of slow finish
	ended   chan error    // receives the outcome of a call of slow

	catalogs chan struct{} // if not nil, each catalog request receives from it

	mu     sync.Mutex
	change func(mcp.Change)
}

var (
	_ mcp.Source  = (*source)(nil)
	_ mcp.Watcher = (*source)(nil)
)

func newSource() *source {
	return &source{
		catalog: &mcp.Catalog{
			Server: mcp.Implementation{Name: "harbour", Version: "1"},
			Tools: []mcp.Tool{{Name: "echo"}, {Name: "slow"}, {Name: "stubborn"}, {Name: "count"}, {Name: "big"},
				{Name: "ask"}, {Name: "who"}},
			Resources: []mcp.Resource{{URI: "x://1", Name: "one"}},
			Subscribe: true,
		},
		entered: make(chan struct{}, 100),
		release: make(chan struct{}, 100),
		ended:   make(chan error, 100),
	}
}

func (s *source) Catalog(context.Context) (*mcp.Catalog, error) {
	if s.catalogs != nil {
		<-s.catalogs
	}
	return s.catalog, nil
}

func (s *source) Watch(changed func(mcp.Change)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change = changed
	return func() {}
}

func (s *source) changed(c mcp.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(c)
}

func (s *source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := string(p.Arguments)
	switch p.Name {
	case "slow":
		s.entered <- struct{}{}
		select {
		case <-s.release:
			text = "done"
			s.ended <- nil
		case <-ctx.Done():
			s.ended <- ctx.Err()
			return nil, ctx.Err()
		}
	case "stubborn":
		s.entered <- struct{}{}
		<-s.release
	case "count":
		for i := range 20 {
			mcp.RequestFrom(ctx).Progress(float64(i+1), 20, "")
		}
	case "big":
		var args struct{ Size int }
		if err := json.Unmarshal(p.Arguments, &args); err != nil {
			return nil, err
		}
		text = strings.Repeat("x", args.Size)
	case "ask":
		s.entered <- struct{}{}
		answer, err := mcp.RequestFrom(ctx).Elicit(ctx, &mcp.ElicitParams{
			Message:         "name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		})
		if err != nil {
			return nil, err
		}
		text = string(answer.Content)
	case "who":
		text = "unknown"
		if p := mcp.PrincipalFrom(ctx); p != nil {
			text = p.Name
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// harness is a server with a WebSocket handler.
type harness struct {
	*source
	tb      testing.TB
	server  *mcpserver.Server
	handler *ws.Handler
	dial    func() (net.Conn, error)
}

// connect returns a client after its handshake.
func (w *harness) connect() *rawConn {
	w.tb.Helper()
	conn, err := w.dial()
	if err != nil {
		w.tb.Fatal(err)
	}
	return upgraded(w.tb, conn)
}

// legacy returns a client after initialize.
func (w *harness) legacy() *rawConn {
	w.tb.Helper()
	c := w.connect()
	c.say(initialize)
	if got := c.hear(); !strings.Contains(got, `"2025-06-18"`) {
		w.tb.Fatalf("initialize: %s", got)
	}
	return c
}

func newHarness(tb testing.TB, ln net.Listener, budget mcpserver.Budget, opts *ws.Options) *harness {
	w := &harness{source: newSource(), tb: tb}
	w.server = mcpserver.New(w.source, &mcpserver.Options{Budget: budget})
	w.handler = ws.NewHandler(w.server, opts)
	hs := &http.Server{Handler: w.handler}
	go func() { _ = hs.Serve(ln) }()
	tb.Cleanup(func() { _ = hs.Close() })
	return w
}

// overTCP serves on a real network.
func overTCP(tb testing.TB, opts *ws.Options) *harness {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w := newHarness(tb, ln, mcpserver.Budget{}, opts)
	w.dial = func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }
	return w
}

// overMemory serves without a network, for tests on fake time. Its connections buffer
// nothing: a write blocks until it is read.
func overMemory(tb testing.TB, opts *ws.Options) *harness {
	return withBudget(tb, mcpserver.Budget{}, opts)
}

// withBudget is overMemory for a server with a budget.
func withBudget(tb testing.TB, budget mcpserver.Budget, opts *ws.Options) *harness {
	ln := &memory{conns: make(chan net.Conn), ended: make(chan struct{})}
	w := newHarness(tb, ln, budget, opts)
	w.dial = ln.dial
	return w
}

type memory struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.ended) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

func (m *memory) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}

// onBoth runs a test over a network and, on fake time, over memory. A fake-time bubble
// must be empty at the end, so this also shows that no goroutine leaks.
func onBoth(t *testing.T, opts *ws.Options, body func(*testing.T, *harness)) {
	t.Run("network", func(t *testing.T) { body(t, overTCP(t, opts)) })
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { body(t, overMemory(t, opts)) })
	})
}

// The messages of the tests.

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		id, tool, arguments)
}

const envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

func modern(id int, method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, method, params, envelope)
}

func begin(version, capabilities string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,`+
			`"clientInfo":{"name":"t","version":"1"}}}`,
		version, capabilities)
}

// say sends a message, hear returns the next one.
func (c *rawConn) say(msg string) { c.tb.Helper(); c.send(frame(opText, msg)) }

func (c *rawConn) hear() string {
	c.tb.Helper()
	op, payload := c.receive()
	if op != opText {
		c.tb.Errorf("received opcode %d with %q, want a message", op, payload)
	}
	return string(payload)
}

// wantMessage verifies that the next message contains every part.
func (c *rawConn) wantMessage(parts ...string) {
	c.tb.Helper()
	got := c.hear()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			c.tb.Errorf("received %s, want %s in it", got, part)
		}
	}
}

// wantClose verifies that the server sends a close frame next, answers it, and verifies
// that the server then ends the connection.
func (c *rawConn) wantClose(code int) {
	c.tb.Helper()
	op, payload := c.receive()
	if op != opClose || len(payload) < 2 {
		c.tb.Fatalf("received opcode %d with %q, want a close frame", op, payload)
	}
	if got := int(payload[0])<<8 | int(payload[1]); got != code {
		c.tb.Errorf("closed with %d %q, want %d", got, payload[2:], code)
	}
	_, _ = c.Write(frame(opClose, string(payload[:2])))
	c.wantEnd()
}

// wantEnd verifies that the connection ends without another frame.
func (c *rawConn) wantEnd() {
	c.tb.Helper()
	if op, payload, err := c.next(); err == nil {
		c.tb.Errorf("received opcode %d with %q, want the end", op, payload)
	}
}
