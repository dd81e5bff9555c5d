package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/wire"
)

// Generator sends the requests of one workload, with a window of requests in flight on
// each connection.
type Generator struct {
	// Workload is what to send and which answer to expect.
	Workload fix.Workload
	// Addr is where an HTTP or WebSocket peer listens, and Connections the number of
	// persistent connections to it.
	Addr        string
	Connections int
	// Queries are those between which [Running.Take] chooses for HTTP requests. If there are none,
	// requests have no query.
	Queries []string
	// In and Out are the standard streams of a stdio peer.
	In  io.Writer
	Out io.Reader
	// Lenient permits an HTTP peer to omit session ids.
	Lenient bool
	// Each, if not nil, checks every answer, in addition to its length.
	Each func(body []byte, id int) error

	length int       // of the checked answer
	pipes  *pipeLink // of stdio, once open
}

// Sizes of read buffers: one fits a small answer, and a large one in a few reads.
const (
	readSize = 128 << 10
	idleSize = 512
)

// transport carries the messages of one connection.
type transport interface {
	io.WriteCloser
	// frame returns a message in the form to write. Only requests of HTTP have a query.
	frame(query string, body []byte) []byte
	// receive reads one answer. It returns nil instead of its text unless keep is set.
	receive(keep bool) (answer []byte, length int, err error)
}

// Initialize connects, sends initialize, and checks its answer.
func (g *Generator) Initialize() error {
	t, err := g.connect(readSize)
	if err != nil {
		return err
	}
	defer t.Close()
	return initialize(t)
}

// Check opens a session if the workload has one, sends one request with each query, and reports what
// is wrong with an answer. It must succeed before [Generator.Run] or [Generator.Start] is called.
func (g *Generator) Check() error {
	t, err := g.open(readSize)
	if err != nil {
		return err
	}
	defer t.Close()
	for _, query := range g.queries() {
		answer, err := ask(t, query, g.Workload.Body(fix.FirstID))
		if err != nil {
			return err
		}
		g.length = len(answer)
		if err := g.Workload.Check(answer, fix.FirstID); err != nil {
			return err
		}
	}
	return nil
}

// queries returns those of requests, at least one, which may be empty.
func (g *Generator) queries() []string {
	if len(g.Queries) == 0 {
		return []string{""}
	}
	return g.Queries
}

// slack is the permitted difference in length between an answer and the checked one, in
// bytes: ids have a fixed width, but some peers add a time or a counter.
const slack = 16

// checkLength compares the length of an answer with that of the one whose content was
// checked; reading every answer would measure the generator.
func checkLength(got, want int) error {
	if got < want-slack || got > want+slack {
		return fmt.Errorf("answer of %d bytes, but the checked one had %d", got, want)
	}
	return nil
}

// maxID is the largest id of the fixed width.
const maxID = 9_999_999_999

// newWorker opens the ith connection of a run. Ids differ between connections too, like
// those of several clients of one proxy.
func (g *Generator) newWorker(i int) (*worker, error) {
	t, err := g.open(readSize)
	if err != nil {
		return nil, err
	}
	share := (maxID - fix.FirstID) / max(g.Connections, 1)
	w := &worker{
		transport: t,
		g:         g,
		id:        fix.FirstID + 1 + i*share,
	}
	for _, query := range g.queries() {
		body := g.Workload.Body(fix.FirstID)
		whole := t.frame(query, body)
		w.requests = append(w.requests, request{
			whole: whole,
			body:  whole[bytes.Index(whole, body):],
		})
	}
	return w, nil
}

// open connects, and opens a session if the workload has one.
func (g *Generator) open(size int) (transport, error) {
	t, err := g.connect(size)
	if err != nil || !g.Workload.Session || g.pipes != nil && g.pipes.open {
		return t, err
	}
	if err := handshake(t); err != nil {
		t.Close()
		return nil, fmt.Errorf("open session: %w", err)
	}
	return t, nil
}

// connect opens a connection with a read buffer of size bytes. On stdio, all share one pipe.
func (g *Generator) connect(size int) (transport, error) {
	if g.Out != nil {
		if g.pipes == nil {
			g.pipes = &pipeLink{
				Writer: g.In,
				in:     bufio.NewReaderSize(g.Out, readSize),
			}
		}
		return g.pipes, nil
	}
	if g.Workload.Kind.Socket() {
		c, err := wire.DialWebSocket(g.Addr, SocketPath, Subprotocol, size)
		return socketLink{c}, err
	}
	c, err := wire.Dial(g.Addr, size)
	return &httpLink{
		Conn: c,
		g:    g,
	}, err
}

// handshake opens a session.
func handshake(t transport) error {
	if err := initialize(t); err != nil {
		return err
	}
	if _, err := t.Write(t.frame("", fix.InitializedBody())); err != nil {
		return err
	}
	switch t := t.(type) {
	case *pipeLink:
		t.open = true
	case *httpLink:
		return t.accepted()
	}
	return nil
}

// initialize sends the first message of a session and checks the answer.
func initialize(t transport) error {
	answer, err := ask(t, "", fix.InitBody())
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return fix.CheckInit(answer)
}

// ask sends one message and returns its answer.
func ask(t transport, query string, body []byte) ([]byte, error) {
	if _, err := t.Write(t.frame(query, body)); err != nil {
		return nil, err
	}
	answer, _, err := t.receive(true)
	return answer, err
}

// pipeLink carries one message per line. All its users share it, and Close leaves it
// open.
type pipeLink struct {
	io.Writer
	in   *bufio.Reader
	open bool // the handshake is complete
}

// Close does nothing. The owner of the process closes its streams.
func (p *pipeLink) Close() error                       { return nil }
func (p *pipeLink) frame(_ string, body []byte) []byte { return append(body, '\n') }

// receive returns the next line. It is valid until the next call.
func (p *pipeLink) receive(bool) ([]byte, int, error) {
	line, err := p.in.ReadSlice('\n')
	if err != nil {
		err = fmt.Errorf("read answers: %w", err)
	}
	return line, len(line), err
}

// The endpoint of WebSocket peers.
const (
	SocketPath  = "/ws"
	Subprotocol = "mcp.v1"
)

// socketLink carries one message per WebSocket frame.
type socketLink struct{ *wire.Conn }

func (s socketLink) frame(_ string, body []byte) []byte {
	return wire.AppendFrame(nil, body)
}

// receive returns the next message, or only its length unless keep is set.
func (s socketLink) receive(keep bool) (answer []byte, length int, err error) {
	if !keep {
		length, err = s.Skip()
		return nil, length, err
	}
	answer, err = s.Receive()
	return answer, len(answer), err
}

// httpLink carries one message per POST.
type httpLink struct {
	*wire.Conn
	g *Generator
	// session is the session id of the last answer that had one.
	session string
}

// frame returns a whole request, so that sending it is one write.
func (h *httpLink) frame(query string, body []byte) []byte {
	path := "/mcp"
	if query != "" {
		path += "?" + query
	}
	b := fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", path, h.g.Addr, len(body))
	for _, field := range h.g.Workload.Header() {
		b = fmt.Appendf(b, "%s: %s\r\n", field[0], field[1])
	}
	if h.session != "" {
		b = fmt.Appendf(b, "Mcp-Session-Id: %s\r\n", h.session)
	}
	b = append(b, "\r\n"...)
	return append(b, body...)
}

// receive reads the answer to a request. A status other than 200 is an error.
func (h *httpLink) receive(keep bool) ([]byte, int, error) {
	a, err := h.ReadAnswer(keep)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", a.Status, a.Body)
	}
	if a.Session != "" {
		h.session = a.Session
	}
	return a.Body, a.Length, err
}

// accepted reads the answer to the notification that ends the handshake.
func (h *httpLink) accepted() error {
	a, err := h.ReadAnswer(true)
	switch {
	case err != nil:
		return err
	case a.Status/100 != 2:
		return fmt.Errorf("status %d to notifications/initialized: %.200s",
			a.Status, a.Body)
	case h.session == "" && !h.g.Lenient:
		return errors.New("no Mcp-Session-Id in the answer to initialize")
	}
	return nil
}
