package main

import (
	"bufio"
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
	"github.com/slipway-mcp/slipway/bench/frame"
)

// legacy is the newest version with sessions.
const legacy = "2025-11-25"

const (
	initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `",` +
		`"capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"an-ordinary-client","version":"1.2.3"}}}`
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// callBody returns a tool call of a version with sessions. Its progress token is its id.
func callBody(id int, tool, arguments string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`,
		id, tool, arguments, id)
}

// modernBody returns a request of 2026-07-28. params is a list of JSON members.
func modernBody(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{"progressToken":%d,`+
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		id, method, params, id, fix.Modern)
}

func modernCall(id int, tool, arguments string) string {
	return modernBody(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

// modernHead returns the header fields of a request of 2026-07-28. name is the name of
// the tool if it is a call.
func modernHead(method, name string) string {
	head := "MCP-Protocol-Version: " + fix.Modern + "\r\nMcp-Method: " + method + "\r\n"
	if name != "" {
		head += "Mcp-Name: " + name + "\r\n"
	}
	return head
}

func sessionHead(id string) string {
	return "MCP-Protocol-Version: " + legacy + "\r\nMcp-Session-Id: " + id + "\r\n"
}

// request returns the bytes of a whole request. Each line of fields ends with a line
// break.
func request(method, host, fields, body string) []byte {
	accept := "application/json, text/event-stream"
	if method == http.MethodGet {
		accept = "text/event-stream"
	}
	b := fmt.Appendf(nil, "%s /mcp HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n%s", method, host, accept, fields)
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(b, "\r\n"...), body...)
}

// client is one HTTP connection to the endpoint. It is used by one goroutine.
type client struct {
	*net.TCPConn
	in *bufio.Reader
}

// headSize is the size of the read buffer, which fits the header of any response. It is
// small because there are many idle clients.
const headSize = 512

func dial(addr string) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	c := &client{conn.(*net.TCPConn), bufio.NewReaderSize(conn, headSize)}
	return c, c.SetDeadline(time.Now().Add(2 * time.Minute)) // nothing here lasts longer
}

// vanish closes a connection with a reset, like a crash.
func vanish(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// deaf gives the client a tiny receive buffer.
func (c *client) deaf() error { return c.SetReadBuffer(4 << 10) }

// post sends a message and returns the response, with its status and session id, and its
// body.
func (c *client) post(fields, body string) (answer *http.Response, text []byte, err error) {
	if answer, err = c.begin(http.MethodPost, fields, body); err != nil {
		return nil, nil, err
	}
	text, err = io.ReadAll(answer.Body)
	return answer, text, err
}

// begin sends a request and reads the header of the response.
func (c *client) begin(method, fields, body string) (*http.Response, error) {
	if _, err := c.Write(request(method, c.RemoteAddr().String(), fields, body)); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.in, nil)
}

// initialize begins a session and returns its id.
func (c *client) initialize() (string, error) {
	answer, text, err := c.post("", initializeBody)
	if err != nil {
		return "", err
	}
	id := answer.Header.Get("Mcp-Session-Id")
	if answer.StatusCode != http.StatusOK || id == "" {
		return "", fmt.Errorf("initialize: %s: %.200s", answer.Status, text)
	}
	answer, text, err = c.post(sessionHead(id), initializedBody)
	if err == nil && answer.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("initialized: %s: %.200s", answer.Status, text)
	}
	return id, err
}

// stream sends a request and expects an event stream in response.
func (c *client) stream(method, fields, body string) error {
	answer, err := c.begin(method, fields, body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream"):
		text, _ := io.ReadAll(io.LimitReader(answer.Body, headSize))
		return fmt.Errorf("event stream: %s: %s", answer.Status, text)
	}
	return nil
}

// hear reads a stream up to a line that contains what.
func (c *client) hear(what string) error {
	for {
		line, err := c.in.ReadSlice('\n')
		if bytes.Contains(line, []byte(what)) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}

// listen opens a subscription to changes of the tool list or, if uris is not empty, of
// resources. uris is a list of JSON strings.
func listen(addr string, id int, uris string) (*client, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	filter := `"notifications":{"toolsListChanged":true}`
	if uris != "" {
		filter = `"notifications":{"resourceSubscriptions":[` + uris + `]}`
		if err := c.deaf(); err != nil {
			return nil, err
		}
	}
	body := modernBody(id, "subscriptions/listen", filter)
	if err := c.stream(http.MethodPost, modernHead("subscriptions/listen", ""), body); err != nil {
		return nil, err
	}
	if uris == "" {
		err = c.hear("subscriptions/acknowledged")
	}
	return c, err
}

// change makes the server notify all clients of a change.
func (s *server) change(uris int) error {
	c, err := dial(s.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, text, err := c.post(modernHead("tools/call", "change"),
		modernCall(1, "change", fmt.Sprintf(`{"message":"done","uris":%d}`, uris)))
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"done"`))) {
		err = fmt.Errorf("change: %s: %.200s", answer.Status, text)
	}
	return err
}

// subprotocol is the subprotocol of WebSocket clients.
const subprotocol = "mcp.v1"

// dialWebSocket opens a WebSocket and begins its session.
func dialWebSocket(addr string) (*frame.Conn, error) {
	c, err := frame.Dial(addr, "/ws", subprotocol, headSize)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return nil, err
	}
	for _, exchange := range []struct{ send, hear string }{
		{initializeBody, `"protocolVersion"`},
		{initializedBody, ""},
		{callBody(2, "echo", `{"message":"well"}`), `"well"`},
	} {
		if err := c.Send([]byte(exchange.send)); err != nil {
			return nil, err
		}
		if exchange.hear == "" {
			continue
		}
		if err := hearWebSocket(c, exchange.hear); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// hearWebSocket reads messages up to one that contains what.
func hearWebSocket(c *frame.Conn, what string) error {
	for {
		msg, err := c.Receive(nil)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if bytes.Contains(msg, []byte(what)) {
			return nil
		}
	}
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

// isRefusal reports whether the connection was refused.
func isRefusal(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
