package soak

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/wire"
)

// legacy is the newest version with sessions.
const legacy = "2025-11-25"

const (
	initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `",` +
		`"capabilities":{"roots":{"listChanged":true},"sampling":{}},` +
		`"clientInfo":{"name":"an-ordinary-client","version":"1.2.3"}}}`
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// callBody returns a tool call of a version with sessions. Its progress token is its id.
func callBody(id int, tool, arguments string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`,
		id, tool, arguments, id)
}

// callRequest returns a request that calls a tool: in a session, or of 2026-07-28 if
// session is empty.
func callRequest(session string, id int, tool, arguments string) []byte {
	if session != "" {
		return request(http.MethodPost, session, "", callBody(id, tool, arguments))
	}
	params := fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)
	return modernRequest(id, "tools/call", "Mcp-Name: "+tool+"\r\n", params)
}

// modernRequest returns a request of 2026-07-28. params is a list of JSON members.
func modernRequest(id int, method, fields, params string) []byte {
	fields = "MCP-Protocol-Version: " + fix.Modern + "\r\nMcp-Method: " + method + "\r\n" + fields
	return request(http.MethodPost, "", fields, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{"progressToken":%d,`+
			`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		id, method, params, id, fix.Modern))
}

// request returns the bytes of a whole request. Each line of fields ends with a line
// break.
func request(method, session, fields, body string) []byte {
	accept := "application/json, text/event-stream"
	if method == http.MethodGet {
		accept = "text/event-stream"
	}
	b := fmt.Appendf(nil, "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: %s\r\n%s", method, accept, fields)
	if session != "" {
		b = fmt.Appendf(b, "MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n", legacy, session)
	}
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(b, "\r\n"...), body...)
}

// headSize is the size of read buffers, which fits the header fields of any response. It
// is small because there are many idle clients.
const headSize = 512

// longest is the time limit for everything that a client does.
const longest = 2 * time.Minute

func dial(addr string) (*wire.Conn, error) {
	c, err := wire.Dial(addr, headSize)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(longest))
}

// vanish closes a connection with a reset, like a crash.
func vanish(c *wire.Conn) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// limitBuffer gives a client that does not read a tiny receive buffer.
func limitBuffer(c *wire.Conn) error { return c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10) }

// expect sends a request, which must be answered with a text in the body.
func expect(c *wire.Conn, request []byte, text string) error {
	answer, err := c.Do(request, true)
	if err == nil && (answer.Status != http.StatusOK || !bytes.Contains(answer.Body, []byte(text))) {
		err = fmt.Errorf("status %d, want %s: %.200s", answer.Status, text, answer.Body)
	}
	return err
}

// initialize begins a session and returns its id.
func initialize(c *wire.Conn) (string, error) {
	answer, err := c.Do(request(http.MethodPost, "", "", initializeBody), true)
	if err != nil {
		return "", err
	}
	id := answer.Session
	if answer.Status != http.StatusOK || id == "" {
		return "", fmt.Errorf("initialize: status %d: %.200s", answer.Status, answer.Body)
	}
	answer, err = c.Do(request(http.MethodPost, id, "", initializedBody), true)
	if err == nil && answer.Status != http.StatusAccepted {
		err = fmt.Errorf("initialized: status %d: %.200s", answer.Status, answer.Body)
	}
	return id, err
}

// stream sends a request and expects an event stream in response.
func stream(c *wire.Conn, request []byte) error {
	answer, err := c.Begin(request)
	if err == nil && (answer.Status != http.StatusOK || !strings.HasPrefix(answer.ContentType, "text/event-stream")) {
		err = fmt.Errorf("event stream: status %d, %s", answer.Status, answer.ContentType)
	}
	return err
}

// openStream opens the GET stream of a session.
func openStream(addr, session string) (*wire.Conn, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	return c, stream(c, request(http.MethodGet, session, "", ""))
}

// listen opens a subscription to changes of the tool list.
func listen(addr string, id int) (*wire.Conn, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	err = stream(c, modernRequest(id, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	if err != nil {
		return c, err
	}
	return c, c.WaitFor("subscriptions/acknowledged")
}

const listChanged = "tools/list_changed"

// awaitChange reads a stream up to a change of the tool list.
func awaitChange(c *wire.Conn) error { return c.WaitFor(listChanged) }

// awaitMessage reads a WebSocket up to a message that contains text.
func awaitMessage(c *wire.Conn, text string) error {
	for {
		msg, err := c.Receive()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", text, err)
		}
		if bytes.Contains(msg, []byte(text)) {
			return nil
		}
	}
}

func upgrade(addr string) (*wire.Conn, error) {
	return wire.DialWebSocket(addr, load.SocketPath, load.Subprotocol, headSize)
}

// dialWebSocket opens a WebSocket, begins its session, and makes a call.
func dialWebSocket(addr string) (*wire.Conn, error) {
	c, err := upgrade(addr)
	if err != nil {
		return nil, err
	}
	err = c.SetDeadline(time.Now().Add(longest))
	for _, exchange := range [][2]string{
		{initializeBody, `"protocolVersion"`}, {initializedBody, ""}, {callBody(2, "echo", `{"message":"well"}`), `"well"`},
	} {
		if err == nil {
			err = c.Send([]byte(exchange[0]))
		}
		if err == nil && exchange[1] != "" {
			err = awaitMessage(c, exchange[1])
		}
	}
	return c, err
}

func closeAll(conns []*wire.Conn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// workers is the number of connections that the driver opens concurrently.
const workers = 8

// openAll opens n connections.
func openAll(n int, open func(i int) (*wire.Conn, error)) ([]*wire.Conn, error) {
	conns := make([]*wire.Conn, n)
	err := each(n, workers, func(i int) (err error) {
		conns[i], err = open(i)
		return err
	})
	return conns, err
}

// each calls do for 0 to n-1 on the given number of workers, and returns the first error.
func each(n, workers int, do func(i int) error) error {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		once  sync.Once
		first error
	)
	for range workers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					next.Store(int64(n))
					return
				}
			}
		})
	}
	group.Wait()
	return first
}

// isGone reports whether err means that the server has closed the connection or no longer
// listens.
func isGone(err error) bool {
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.As(err, &network) && !network.Timeout()
}
