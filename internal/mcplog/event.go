package mcplog

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Version is the version of the format.
const Version = 1

// Header is the first line of a recording.
type Header struct {
	// Format is [Version]. A reader rejects later ones.
	Format int `json:"mcplog"`
	// Started is when the recording began.
	Started time.Time `json:"started"`
	// By is the program that recorded, such as "slipway 1.0".
	By string `json:"by,omitempty"`
	// Sources are the servers, by the numbers in [Event.Source].
	Sources []Source `json:"sources,omitempty"`
	// Redact are the paths of [WriterOptions.Redact].
	Redact []string `json:"redact,omitempty"`
}

// Source is a server in a recording.
type Source struct {
	// ID is used in events, and Name is how the source is called in messages.
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Direction is the direction of an event, from the view of the program that recorded it.
type Direction string

// The directions.
const (
	In  Direction = "in"
	Out Direction = "out"
)

// The kinds of events. For messages, Kind is more precise than that of package tap.
const (
	Request      = "request"
	Response     = "response"
	Notification = "notification"
	Batch        = "batch"
	Gap          = "gap" // events are missing here; Error says why
)

// Event is a line of a recording after the first.
type Event struct {
	// Seq numbers the events of a recording from 1, in the order of their lines.
	Seq uint64 `json:"seq"`
	// Source is a number from [Header.Sources]. Events between the recording program and
	// its own clients have the source 0.
	Source int `json:"src"`
	// Nanoseconds is the time since 1970, in nanoseconds.
	Nanoseconds int64     `json:"ns"`
	Direction   Direction `json:"d,omitempty"`
	// Kind is one of the constants of this package, or of package tap.
	Kind    string `json:"kind"`
	Channel string `json:"ch,omitempty"`
	Stream  uint64 `json:"stream,omitempty"`

	// ID is the id of a message as it was written, Method and Name what it is about.
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Name   string          `json:"name,omitempty"`
	// Bytes is the size of the body before redaction.
	Bytes int `json:"bytes,omitempty"`

	// HTTPMethod, URL, Status, Header and Wait (in nanoseconds) are those of tap.HTTP, and on a
	// received response, so are Reused and Remote.
	HTTPMethod string      `json:"verb,omitempty"`
	URL        string      `json:"url,omitempty"`
	Status     int         `json:"status,omitempty"`
	Header     http.Header `json:"headers,omitempty"`
	Wait       int64       `json:"wait,omitempty"`
	Reused     bool        `json:"reused,omitempty"`
	Remote     string      `json:"remote,omitempty"`

	// Step, Took (in nanoseconds), Detail and Error describe a step of connecting.
	Step   string `json:"step,omitempty"`
	Took   int64  `json:"took,omitempty"`
	Detail string `json:"detail,omitempty"`
	Error  string `json:"error,omitempty"`

	// Body is the body if it is UTF-8, otherwise Binary is.
	Body   string `json:"body,omitempty"`
	Binary []byte `json:"b64,omitempty"`
}

// Time returns when the event happened.
func (e *Event) Time() time.Time { return time.Unix(0, e.Nanoseconds) }

// Text returns the body.
func (e *Event) Text() []byte {
	if e.Binary != nil {
		return e.Binary
	}
	return []byte(e.Body)
}

// The memory of an event besides its texts, and of a header in it, about.
const (
	eventMemory  = 512
	headerMemory = 128
)

// Memory returns how much memory the event uses, about.
func (e *Event) Memory() int {
	return eventMemory + len(e.ID) + len(e.Method) + len(e.Name) + len(e.HTTPMethod) + len(e.URL) + len(e.Step) +
		len(e.Detail) + len(e.Error) + len(e.Body) + len(e.Binary) + HeaderMemory(e.Header)
}

// HeaderMemory returns how much memory a header uses, about.
func HeaderMemory(h http.Header) int {
	n := 0
	for name, values := range h {
		n += headerMemory + len(name)
		for _, value := range values {
			n += headerMemory + len(value)
		}
	}
	return n
}

// newEvent converts an event of a tap without its body.
func newEvent(t *tap.Event, source int) *Event {
	e := &Event{
		Source:      source,
		Nanoseconds: t.Time.UnixNano(),
		Kind:        string(t.Kind),
		Channel:     string(t.Channel),
		Stream:      t.Stream,
		Bytes:       len(t.Body),
		Step:        t.Name,
		Took:        int64(t.Took),
		Detail:      t.Detail,
	}
	if t.Kind != tap.Step {
		e.Direction = In
	}
	if t.Sent {
		e.Direction = Out
	}
	if t.Err != nil {
		e.Error = t.Err.Error()
	}
	if h := t.HTTP; h != nil {
		e.HTTPMethod = h.Method
		e.URL = h.URL
		e.Status = h.Status
		e.Header = h.Header
		e.Wait = int64(h.Wait)
		if !t.Sent && h.Status != 0 { // the address of a client of ours does not belong in a file
			e.Reused, e.Remote = h.Reused, h.Remote
		}
	}
	return e
}

// classify sets what a message is, unless it is malformed.
func (e *Event) classify(text []byte) {
	i := jsonscan.Space(text, 0)
	if i < len(text) && text[i] == '[' {
		if jsonscan.Valid(text) == nil { // and not [redacted]
			e.Kind = Batch
		}
		return
	}
	var m peer.Message
	if m.Scan(text) != nil {
		return
	}
	e.ID = bytes.Clone(m.ID)
	e.Method = string(m.Method)
	e.Name = RequestName(m.Params)
	switch {
	case m.Method == nil:
		e.Kind = Response
	case m.ID == nil:
		e.Kind = Notification
	default:
		e.Kind = Request
	}
}

// RequestName returns the tool, prompt or URI in the params of a request, or "".
func RequestName(params []byte) string {
	for _, member := range []string{"name", "uri"} {
		if s, ok := jsonscan.Unquote(jsonscan.Member(params, member)); ok {
			return s
		}
	}
	return ""
}

// SetText sets the body.
func (e *Event) SetText(text []byte) {
	e.Body = ""
	e.Binary = nil
	if utf8.Valid(text) {
		e.Body = string(text)
		return
	}
	e.Binary = text
}
