package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// peer is one client of one version, on one transport, in a synctest bubble. It can send
// any message at any time, and receives the server's messages immediately. At the end,
// all messages are validated against the version's schema.
type peer struct {
	t            *testing.T
	version      mcp.Version
	capabilities string
	server       *mcpserver.Server
	write        func(line string)
	close        func() // ends the connection, once

	out  lockedBuffer // the server's messages, one per line
	said []string
	all  strings.Builder
	web  *web // nil over stdio
}

// web is the additional state of a peer over HTTP.
type web struct {
	handler http.Handler
	header  http.Header
	context context.Context
	leave   context.CancelFunc
	running sync.WaitGroup
	news    lockedBuffer // the messages of the GET stream
	raw     lockedBuffer // the unparsed GET stream
}

const httpTransport, stdioTransport = "http", "stdio"

// onTransports runs a test on each transport.
func onTransports(t *testing.T, test func(t *testing.T, transport string)) {
	t.Helper()
	for _, transport := range []string{httpTransport, stdioTransport} {
		t.Run(transport, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, transport) })
		})
	}
}

// connect starts a conversation of that version. capabilities are declared by the client;
// "" means none.
func connect(t *testing.T, transport string, v mcp.Version, server *mcpserver.Server, capabilities string) *peer {
	t.Helper()
	if capabilities == "" {
		capabilities = "{}"
	}
	p := &peer{t: t, version: v, capabilities: capabilities, server: server}
	if transport == httpTransport {
		p.overHTTP(server.HTTPHandler(nil))
	} else {
		p.overStdio()
	}
	t.Cleanup(func() {
		p.close()
		p.received()
		checkTruth(t, v, p.said, p.all.String())
	})
	if !v.Modern() {
		p.send(strings.NewReplacer("$VERSION", v.String(), `"capabilities":{}`,
			`"capabilities":`+capabilities).Replace(handshake))
		if got := p.received(); !strings.Contains(got, `"protocolVersion":"`+v.String()+`"`) {
			t.Fatalf("initialize: %s", got)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.received()
	}
	return p
}

func (p *peer) overStdio() {
	in, w := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- p.server.ServeStdio(context.Background(), in, &p.out, nil)
		in.Close() // later messages of the client are dropped
	}()
	p.write = func(line string) { io.WriteString(w, line+"\n") }
	p.close = sync.OnceFunc(func() {
		w.Close()
		if err := <-served; err != nil {
			p.t.Errorf("ServeStdio = %v", err)
		}
	})
}

func (p *peer) overHTTP(handler http.Handler) {
	p.web = &web{handler: handler, header: make(http.Header)}
	p.web.context, p.web.leave = context.WithCancel(context.Background())
	p.write = func(line string) {
		r := httptest.NewRequestWithContext(p.web.context, http.MethodPost, "http://localhost/mcp", strings.NewReader(line))
		r.Header = clientHeader(line)
		p.web.serve(r, &lineWriter{header: make(http.Header), lines: &p.out})
	}
	p.close = sync.OnceFunc(func() {
		p.web.leave()
		p.web.running.Wait()
	})
}

// serve runs the handler for r on a goroutine, until it waits.
func (web *web) serve(r *http.Request, w *lineWriter) {
	for name, values := range web.header {
		r.Header[name] = values
	}
	web.running.Go(func() {
		web.handler.ServeHTTP(w, r)
		w.end()
	})
	synctest.Wait()
	if id := w.begunSession(); id != "" {
		web.header.Set("Mcp-Session-Id", id)
	}
}

// send sends one message; in 2026-07-28 with an envelope.
func (p *peer) send(line string) {
	p.t.Helper()
	if p.version.Modern() {
		line = strings.Replace(inEnvelope(line), `clientCapabilities":{}`, `clientCapabilities":`+p.capabilities, 1)
	}
	p.said = append(p.said, line)
	p.write(line)
}

// call sends a request and returns the messages received until the server is idle.
func (p *peer) call(line string) string {
	p.t.Helper()
	p.send(line)
	return p.received()
}

// listen opens the stream for notifications of a session. Over stdio it already exists.
func (p *peer) listen() {
	if p.web == nil {
		return
	}
	r := httptest.NewRequestWithContext(p.web.context, http.MethodGet, "http://localhost/mcp", nil)
	r.Header.Set("Accept", "text/event-stream")
	p.web.serve(r, &lineWriter{header: make(http.Header), lines: &p.web.news, raw: &p.web.raw})
}

// received returns the server's messages since the last call, except those on the stream
// opened by listen.
func (p *peer) received() string {
	synctest.Wait()
	got := p.out.take()
	p.all.WriteString(got)
	return got
}

// heard returns the messages since the last call on the stream opened by listen.
func (p *peer) heard() string {
	if p.web == nil {
		return p.received()
	}
	synctest.Wait()
	got := p.web.news.take()
	p.all.WriteString(got)
	return got
}

// lineWriter is a response whose messages become lines.
type lineWriter struct {
	header http.Header
	lines  io.Writer
	raw    io.Writer // what was written; may be nil

	mu      sync.Mutex
	status  int
	session string // the header when it was sent
	body    string // an incomplete message
}

func (w *lineWriter) Header() http.Header { return w.header }
func (w *lineWriter) Flush()              {}

func (w *lineWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.session = status, w.header.Get("Mcp-Session-Id")
}

// begunSession returns the session id in the sent header, or "".
func (w *lineWriter) begunSession() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == "" {
		w.session = w.header.Get("Mcp-Session-Id")
	}
	if w.raw != nil {
		w.raw.Write(b)
	}
	w.body += string(b)
	for w.header.Get("Content-Type") == "text/event-stream" {
		event, rest, found := strings.Cut(w.body, "\n\n")
		if !found {
			break
		}
		w.body = rest
		if _, data, ok := strings.Cut(event, "data: "); ok && data != "" {
			io.WriteString(w.lines, data+"\n")
		}
	}
	return len(b), nil
}

// end passes on a body that is not an event stream.
func (w *lineWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.body != "" && w.header.Get("Content-Type") == "application/json" {
		io.WriteString(w.lines, strings.ReplaceAll(w.body, "\n", "")+"\n")
	}
}

// wireMessage is a decoded message of any kind.
type wireMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    mcp.Code
		Message string
		Data    json.RawMessage
	}
}

// messages decodes the received messages, which must be n.
func messages(t *testing.T, received string, n int) []wireMessage {
	t.Helper()
	var all []wireMessage
	for line := range strings.Lines(received) {
		var m wireMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, m)
	}
	if len(all) != n {
		t.Fatalf("%d messages, want %d:\n%s", len(all), n, received)
	}
	return all
}

// textOf returns the text of a tool's result, prefixed with "error: " if it has isError.
func textOf(t *testing.T, m wireMessage) string {
	t.Helper()
	if m.Error != nil {
		t.Fatalf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(m.Result, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("result %s (%v), want one text", m.Result, err)
	}
	if result.IsError {
		return "error: " + result.Content[0].Text
	}
	return result.Content[0].Text
}
