// Package tap describes what crosses the connections between MCP clients and servers,
// byte for byte, for inspectors and recorders.
//
//	opts := &client.Options{Tap: func(e *tap.Event) {
//		log.Printf("%v %s %s", e.Sent, e.Kind, e.Body)
//	}}
//
// Package client taps the connections to servers, package mcp/server those to clients.
// Both cost one comparison per message when nothing is tapped. A [Tapper] is the sending
// side, for implementations of transports.
package tap

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Func receives events on the goroutine that reads or writes: right after reading, right
// before writing, and from many goroutines at once. It must return quickly, because the
// message waits until it returns. It must not change e, nor keep e.Body after it returns.
type Func func(e *Event)

// Event is one message, or another event of a connection.
type Event struct {
	// Kind selects which of the following fields are set.
	Kind Kind
	// Time is when the bytes were read, or are about to be written. It has a monotonic
	// clock reading.
	Time time.Time
	// Sent reports whether this process is the sender.
	Sent bool
	// Channel is what carries the event; it is empty for a step.
	Channel Channel
	// Stream numbers HTTP exchanges and connections, from 1. An HTTP request and
	// everything in its response have the same number, and so has everything on one pair
	// of pipes or one WebSocket. It is 0 for a step that belongs to none.
	Stream uint64
	// Body is the message, line or body as it crosses the connection; of a server-sent
	// event, it is the data. It may contain secrets. Lines on stderr are redacted.
	Body []byte
	// HTTP describes the request or response, for [Head].
	HTTP *HTTP

	// Name, for [Step], is what was done, such as "resolve" or "initialize"; Took is how
	// long it took, Detail its result, and Err why it failed.
	Name   string
	Took   time.Duration
	Detail string
	Err    error
}

// Kind says what an [Event] is.
type Kind string

// The kinds of events.
const (
	Message Kind = "message" // a JSON-RPC message or batch
	Head    Kind = "head"    // the first line and the headers of an HTTP request or response
	Body    Kind = "body"    // an HTTP body or event that is not a message
	Junk    Kind = "junk"    // a line on stdout that is not a message
	Stderr  Kind = "stderr"  // a line on stderr
	Step    Kind = "step"    // a step of connecting
)

// Channel says what carries an [Event].
type Channel string

// The channels.
const (
	Stdio  Channel = "stdio"
	Post   Channel = "post" // an HTTP request of any method, or a response with a single body
	SSE    Channel = "sse"  // an event of an event stream
	Socket Channel = "socket"
)

// HTTP is the head of an HTTP request or response. [redacted] replaces the values of
// headers that may carry credentials.
type HTTP struct {
	Method string // of a request
	URL    string // of a request, without password and query
	Status int    // of a response
	// Header is the whole header, see [RedactHeader].
	Header http.Header
	// Wait is the time from sending a request to the first byte of its response, if this
	// process is the client.
	Wait time.Duration
	// Reused reports whether the connection had been used before; Remote is the address of
	// the other side.
	Reused bool
	Remote string
}

// Tapper numbers streams, and passes events to a [Func]. A nil Tapper taps nothing. It is
// safe for concurrent use.
type Tapper struct {
	tap     Func
	streams atomic.Uint64 // the last number assigned
}

// New returns a Tapper for f, or nil if f is nil.
func New(f Func) *Tapper {
	if f == nil {
		return nil
	}
	return &Tapper{tap: f}
}

// Step reports a step that began at a time and has just ended.
func (t *Tapper) Step(name string, began time.Time, detail string, err error) {
	if t != nil {
		t.step(0, name, began, detail, err)
	}
}

// step passes a step that ends now.
func (t *Tapper) step(stream uint64, name string, began time.Time, detail string, err error) {
	now := time.Now()
	t.tap(&Event{
		Kind:   Step,
		Time:   now,
		Stream: stream,
		Name:   name,
		Took:   now.Sub(began),
		Detail: detail,
		Err:    err,
	})
}

// Open returns a new stream, or nil for a nil Tapper.
func (t *Tapper) Open(channel Channel) *Stream {
	if t == nil {
		return nil
	}
	return &Stream{
		tapper:  t,
		channel: channel,
		number:  t.streams.Add(1),
	}
}

// Stream is a tapped connection or HTTP exchange. A nil Stream taps nothing.
type Stream struct {
	// tapper receives the events; a Stream is copied for each channel, with the same
	// number.
	tapper  *Tapper
	channel Channel
	number  uint64
}

// On returns the same stream for events on another channel.
func (s *Stream) On(channel Channel) *Stream {
	if s == nil {
		return nil
	}
	return &Stream{
		tapper:  s.tapper,
		channel: channel,
		number:  s.number,
	}
}

// Sends reports a message that is about to be written.
func (s *Stream) Sends(msg []byte) {
	s.Pass(&Event{
		Kind: Message,
		Sent: true,
		Body: msg,
	})
}

// Received reports what was read. other is its kind if it is not a message.
func (s *Stream) Received(text []byte, other Kind) {
	if s == nil {
		return
	}
	s.Pass(&Event{
		Kind: kindOf(text, other),
		Body: text,
	})
}

// kindOf returns Message for a JSON object or array.
func kindOf(text []byte, other Kind) Kind {
	start := bytes.TrimLeft(text, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' ||
		jsonscan.Valid(text) != nil {
		return other
	}
	return Message
}

// Step reports a step of the stream that began at a time and has just ended.
func (s *Stream) Step(name string, began time.Time, detail string, err error) {
	if s != nil {
		s.tapper.step(s.number, name, began, detail, err)
	}
}

// Pass passes an event of the stream, whose Channel and Stream it sets. It sets Time to
// now if that is zero.
func (s *Stream) Pass(e *Event) {
	if s == nil {
		return
	}
	e.Stream = s.number
	e.Channel = s.channel
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	s.tapper.tap(e)
}
