package mcptest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// ConnectOptions configure a [Client]. Nil and the zero value are the defaults.
type ConnectOptions struct {
	// Server and HTTP configure the server between the client and the source. [ConnectHTTP]
	// ignores them.
	Server *mcpserver.Options
	HTTP   *mcpserver.HTTPOptions
	// Header is added to every HTTP request.
	Header http.Header
	// Answer answers requests from the server: elicitation/create, sampling/createMessage,
	// roots/list. It returns the result, or an error to send to the server. If Answer is
	// nil, the client declares that it accepts no requests.
	Answer func(method string, params json.RawMessage) (result any, err error)
	// Capabilities are the client's, as JSON. Nil declares elicitation, sampling and roots
	// if Answer is set, otherwise none.
	Capabilities json.RawMessage
	// Timeout is how long an answer may take; 0 means 10 seconds.
	Timeout time.Duration
}

// Client is an in-memory client of one version of the protocol. An error ends the test
// unless a method returns it. Client is safe for concurrent use, but methods that may end
// the test must be called from the test's goroutine.
type Client struct {
	// tb receives failures, so that calls need no error handling in tests.
	tb      testing.TB
	version mcp.Version
	opts    ConnectOptions
	link    link
	begun   json.RawMessage // the result of initialize or server/discover

	mu sync.Mutex
	// waiting are the requests without a response.
	waiting       peer.Table[chan message]
	strays        chan message // responses that no request waits for
	notifications []Notification
	params        map[string][]mcp.HeaderParam // by tool
	answering     sync.WaitGroup               // the goroutines of answer
}

// Notification is a notification from the server.
type Notification struct {
	// Method and Params are as received.
	Method string
	Params json.RawMessage
}

// link carries messages. It passes those from the server to client.received.
type link interface {
	// send sends one message. all reports whether everything that the server sends in
	// response has been received.
	send(msg []byte, header http.Header) (all bool, err error)
	close() error
}

// message is a JSON-RPC message from the server, or text that is not a message.
type message struct {
	peer.Message
	text []byte // as received
}

// Connect serves source over HTTP, without a network, and returns a client that has
// initialized the connection in version. The connection is closed when the test ends.
// opts may be nil.
func Connect(tb testing.TB, source mcp.Source, version mcp.Version, opts *ConnectOptions) *Client {
	tb.Helper()
	c := newClient(tb, version, opts)
	c.link = &httpLink{
		client:  c,
		handler: c.serve(source).HTTPHandler(c.opts.HTTP),
	}
	return c.begin()
}

// ConnectHTTP is [Connect] for any handler of an MCP endpoint.
func ConnectHTTP(tb testing.TB, handler http.Handler, version mcp.Version, opts *ConnectOptions) *Client {
	tb.Helper()
	c := newClient(tb, version, opts)
	c.link = &httpLink{
		client:  c,
		handler: handler,
	}
	return c.begin()
}

// ConnectStdio is [Connect] over a pair of streams with one message per line.
func ConnectStdio(tb testing.TB, source mcp.Source, version mcp.Version, opts *ConnectOptions) *Client {
	tb.Helper()
	c := newClient(tb, version, opts)
	c.link = newStreamLink(c, c.serve(source))
	return c.begin()
}

// newClient returns a client that is not connected. It declares the capabilities for which
// it has answers.
func newClient(tb testing.TB, version mcp.Version, opts *ConnectOptions) *Client {
	c := &Client{
		tb:      tb,
		version: version,
		strays:  make(chan message, 1000),
		params:  make(map[string][]mcp.HeaderParam),
	}
	if opts != nil {
		c.opts = *opts
	}
	c.opts.Timeout = cmp.Or(max(c.opts.Timeout, 0), 10*time.Second)
	switch {
	case c.opts.Capabilities != nil:
	case c.opts.Answer != nil:
		c.opts.Capabilities = json.RawMessage(`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`)
	default:
		c.opts.Capabilities = json.RawMessage(`{}`)
	}
	return c
}

// serve returns a server for a source that is shut down when the test ends.
func (c *Client) serve(source mcp.Source) *mcpserver.Server {
	server := mcpserver.New(source, c.opts.Server)
	c.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			c.tb.Errorf("shut down the server: %v", err)
		}
	})
	return server
}

// begin initializes the connection as the client's version requires.
func (c *Client) begin() *Client {
	c.tb.Helper()
	c.tb.Cleanup(func() {
		c.answering.Wait()
		if err := c.link.close(); err != nil {
			c.tb.Errorf("close the connection: %v", err)
		}
	})
	if c.version.Modern() {
		c.begun = c.Call("server/discover", nil)
		return c
	}
	c.begun = c.Call("initialize", map[string]any{
		"protocolVersion": c.version.String(),
		"capabilities":    c.opts.Capabilities,
		"clientInfo":      clientInfo,
	})
	if got := memberText(c.begun, "protocolVersion"); got != c.version.String() {
		c.tb.Fatalf("the server speaks %q, want %q", got, c.version)
	}
	c.Notify("notifications/initialized", nil)
	return c
}

var clientInfo = json.RawMessage(`{"name":"mcptest","version":"1"}`)

// Version returns the client's protocol version.
func (c *Client) Version() mcp.Version { return c.version }

// Begun returns the result of initialize or server/discover.
func (c *Client) Begun() json.RawMessage { return c.begun }

// Notifications returns the notifications received so far. Those of a request arrive
// before its answer.
func (c *Client) Notifications() []Notification {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.notifications)
}

// Call sends a request and returns its result. params is encoded as JSON, nil means none,
// and the fields that the client's version requires in every request are added. An error
// response ends the test.
func (c *Client) Call(method string, params any) json.RawMessage {
	c.tb.Helper()
	result, e := c.Try(method, params)
	if e != nil {
		c.tb.Fatalf("%s: error %d: %s %s", method, e.Code, e.Message, e.Data)
	}
	return result
}

// Try is [Client.Call] for requests that may be answered with an error.
func (c *Client) Try(method string, params any) (json.RawMessage, *mcp.Error) {
	c.tb.Helper()
	result, err := c.request(method, params)
	var e *mcp.Error
	switch {
	case errors.As(err, &e):
		return nil, e
	case err != nil:
		c.tb.Fatalf("%s: %v", method, err)
	}
	return result, nil
}

// maxRounds is how often a request is repeated with answers to the server's questions.
const maxRounds = 10

// request sends a request until it has its final result. A 2026-07-28 server may return
// questions first.
func (c *Client) request(method string, params any) (json.RawMessage, error) {
	members, err := asMembers(params)
	if err != nil {
		return nil, err
	}
	for range maxRounds {
		result, err := c.once(method, members)
		if err != nil || !c.version.Modern() || c.opts.Answer == nil {
			return result, err
		}
		more, err := c.answerRound(result, members)
		if err != nil || !more {
			return result, err
		}
	}
	return nil, fmt.Errorf("the server still asks after %d rounds", maxRounds)
}

// once sends a request and waits for its answer.
func (c *Client) once(method string, members map[string]json.RawMessage) (json.RawMessage, error) {
	params, err := c.envelope(members)
	if err != nil {
		return nil, err
	}
	header, err := c.header(method, members)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	id := c.waiting.Add(answer)
	c.mu.Unlock()
	defer c.takeWaiting(id)
	all, err := c.link.send(peer.AppendRequest(nil, id, method, params), header)
	if err != nil {
		return nil, err
	}
	m, err := c.wait(answer, all)
	switch {
	case err != nil:
		return nil, err
	case m.Failure != nil:
		var e wireError
		if err := json.Unmarshal(m.Failure, &e); err != nil {
			return nil, fmt.Errorf("invalid error in the answer: %w: %s", err, m.text)
		}
		return nil, &mcp.Error{
			Code:    e.Code,
			Message: e.Message,
			Data:    e.Data,
		}
	case m.Result == nil:
		return nil, fmt.Errorf("the answer has neither a result nor an error: %s", m.text)
	}
	return m.Result, nil
}

// wireError is a JSON-RPC error object.
type wireError struct {
	Code    mcp.Code        `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) {
	c.tb.Helper()
	members, err := asMembers(params)
	if err != nil {
		c.tb.Fatalf("%s: %v", method, err)
	}
	var encoded json.RawMessage
	if params != nil || c.version.Modern() {
		encoded, err = c.envelope(members)
	}
	var header http.Header
	if err == nil {
		header, err = c.header(method, members)
	}
	if err == nil {
		_, err = c.link.send(peer.Notification(method, encoded), header)
	}
	if err != nil {
		c.tb.Fatalf("%s: %v", method, err)
	}
}

// Raw sends msg unchanged and returns the answer as received, or nil for a message that
// requires none. Only the HTTP headers of the client's version are added.
func (c *Client) Raw(msg []byte) []byte {
	c.tb.Helper()
	for len(c.strays) > 0 {
		<-c.strays
	}
	all, err := c.link.send(msg, c.rawHeader(msg))
	if err != nil {
		c.tb.Fatalf("send %s: %v", short(string(msg)), err)
	}
	if len(c.strays) == 0 && (all || !answerDue(msg)) {
		return nil
	}
	m, err := c.wait(c.strays, all)
	if err != nil {
		c.tb.Fatalf("send %s: %v", short(string(msg)), err)
	}
	return m.text
}

// answerDue reports whether a server must answer msg, that is, unless it is a
// notification or a response.
func answerDue(msg []byte) bool {
	var m peer.Message
	return m.Scan(msg) != nil || m.Method != nil && m.ID != nil
}

var errNoAnswer = errors.New("no answer")

// wait waits for an answer. If all is true, no more can arrive.
func (c *Client) wait(answer <-chan message, all bool) (message, error) {
	if all && len(answer) == 0 {
		return message{}, errNoAnswer
	}
	timer := time.NewTimer(c.opts.Timeout)
	defer timer.Stop()
	select {
	case m := <-answer:
		return m, nil
	case <-timer.C:
		return message{}, errNoAnswer
	}
}

// takeWaiting removes and returns the channel for the answer with that id, or nil.
func (c *Client) takeWaiting(id uint64) chan message {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, _ := c.waiting.Take(id)
	return answer
}

// received dispatches a message from the server. An answer must repeat the id of its
// request exactly.
func (c *Client) received(text []byte) {
	m := message{text: text}
	switch err := m.Scan(text); {
	case err != nil: // a batch, or invalid
		c.strays <- m
	case m.Method != nil && m.ID != nil:
		c.answering.Go(func() { c.answer(m) })
	case m.Method != nil:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.notifications = append(c.notifications, Notification{string(m.Method), json.RawMessage(m.Params)})
	default:
		id, _ := strconv.ParseUint(string(m.ID), 10, 64) // 0 is not an id of a request
		if answer := c.takeWaiting(id); answer != nil {
			answer <- m
		} else {
			c.strays <- m
		}
	}
}

// isClosed reports whether err only means that the other side has closed the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
}
