package mcp

import (
	"context"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Observer is told what happens in a [Server], for metrics, logs and traces.
//
// Observe runs on the goroutine of the request it is told of, so it must be
// quick, and safe for concurrent use. ctx is that of the request: [RequestFrom]
// and [PrincipalFrom] find in it who asked for what. It may have ended already.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// EventKind says what an [Event] is about.
type EventKind uint8

// The kinds of events.
const (
	// EventRequest: a request begins to be served.
	EventRequest EventKind = iota + 1
	// EventAnswer: the request is over. It follows each EventRequest.
	EventAnswer
	// EventNotification: the client has sent a notification.
	EventNotification
	// EventRefused: what the client has sent was refused before it became a
	// request: it is not JSON, no message, or belongs to no session. Err says why.
	EventRefused
	// EventSession: a client up to 2025-11-25 has begun a session.
	EventSession
	// EventSessionEnd: the session is over; Duration is how long it was in use.
	EventSessionEnd
)

// Transports of the requests that an [Event] or an [Operation] tells of.
const (
	TransportHTTP      = "http"
	TransportStdio     = "stdio"
	TransportWebSocket = "websocket"
	TransportSSE       = "sse" // HTTP+SSE of 2024-11-05: its requests have no response of their own
)

// Event is something that has happened. Fields that make no sense for its Kind
// are zero. It never holds arguments or results.
type Event struct {
	Kind EventKind
	// Method is what the client wrote. Only of one that was answered without
	// [CodeMethodNotFound] is it known that there is such a method.
	Method string
	// Name is the tool or prompt that the request is about, if the catalog has
	// it, or the URI of the resource.
	Name string
	// Server is which of several servers served the request, by the name that
	// [Request.ServedBy] was told, or "".
	Server string
	// Transport is one of the constants, [ConnOptions.Transport], or "".
	Transport string
	Version   Version  // 0 if not known
	Session   *Session // nil if there is none

	Duration time.Duration
	// Err is what the client was told instead of a result, with the cause that it
	// was not told; nil for a result.
	Err *Error
	// ToolError says that the result of a tool has isError.
	ToolError bool
	// Panicked says that the Source has panicked.
	Panicked bool
	// Cancelled says that the client did not want the answer any more.
	Cancelled bool
	// InputRequired says that the answer is a question to the client, which sends
	// the request again with what it needs (2026-07-28). It is no failure.
	InputRequired bool
	// Standing says that the answer is an event stream that stays open.
	Standing bool

	// Status is the HTTP status of the answer, if it is an HTTP response of its own.
	Status int
	// Received and Sent are the sizes of message and answer in bytes.
	Received, Sent int
}

// transport names the surface of a request.
func (rc *requestContext) transport() string {
	if rc.header != nil {
		return TransportHTTP
	}
	if c, ok := rc.stream.(*pipe); ok {
		return c.opts.Transport
	}
	return ""
}

// event returns what all events of a request have in common.
func (rc *requestContext) event(kind EventKind) Event {
	return Event{
		Kind: kind, Method: rc.methodName(), Name: rc.about, Transport: rc.transport(),
		Version: rc.version, Session: rc.session, Received: rc.msg.size,
	}
}

// methodName avoids a copy of the names that the protocol knows.
func (rc *requestContext) methodName() string {
	if name, ok := rc.server.methodNames[string(rc.msg.method)]; ok {
		return name
	}
	return string(rc.msg.method)
}

// observed serves a request and tells of it.
func (s *Server) observed(rc *requestContext, a *answer) {
	s.opts.Observer.Observe(rc, rc.event(EventRequest))
	failed := s.request(rc, a)
	e := rc.event(EventAnswer)
	e.Duration = time.Since(rc.began)
	e.Err, e.ToolError, e.Panicked = failed, rc.toolError, rc.panicked
	e.Standing = rc.standing
	e.Sent = a.size()
	if name := rc.servedBy.Load(); name != nil {
		e.Server = *name
	}
	e.Cancelled = a.empty() && !rc.standing
	e.InputRequired = rc.asked && failed == nil && !e.Cancelled
	if rc.header != nil && !e.Cancelled {
		if e.Status = a.status; e.Status == 0 {
			e.Status = 200
		}
	}
	s.opts.Observer.Observe(rc, e)
}

// refused tells of a message that did not become a request.
func (s *Server) refused(rc *requestContext, transport string, e *Error, status int) {
	if s.opts.Observer == nil {
		return
	}
	rc.server = s
	rc.public.rc = rc
	told := rc.event(EventRefused)
	told.Transport, told.Err, told.Status = transport, e, status
	s.opts.Observer.Observe(rc, told)
}

// sessionEnded tells of the end of a session.
func (s *Server) sessionEnded(session *Session, transport string, used time.Duration) {
	s.opts.Clients.tell(ClientEvent{Session: session, Ended: true})
	if s.opts.Observer == nil || session.began == 0 {
		return
	}
	s.opts.Observer.Observe(context.Background(), Event{
		Kind: EventSessionEnd, Session: session, Version: session.Version(),
		Transport: transport, Duration: max(used, 0),
	})
}

// aboutOf returns the tool or prompt that a request names, if there is one, or
// the URI of the resource.
func (rc *requestContext) aboutOf(cat *Catalog) string {
	switch string(rc.msg.method) {
	case "tools/call":
		if name, ok := jsonscan.UnquoteBytes(rc.msg.name); ok {
			if tool := cat.tool(name); tool != nil {
				return tool.Name
			}
		}
	case "prompts/get":
		if name, ok := jsonscan.Unquote(rc.msg.name); ok {
			if prompt := cat.Prompt(name); prompt != nil {
				return prompt.Name
			}
		}
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		uri, _ := jsonscan.Unquote(rc.msg.uri)
		return uri
	}
	return ""
}

// Stats counts what a [Server] holds at the moment.
type Stats struct {
	Sessions int // that clients began over HTTP
	Streams  int // event streams that stand open over HTTP
	Tasks    int // that run

	SessionTTL  time.Duration // how long a session may be idle
	MaxSessions int           // how many there may be

	// Kept is what outlives a request, by kind, always in the same order.
	Kept []KeptStats
	// KeptBytes is the total of Kept, MaxKeptBytes its limit.
	KeptBytes, MaxKeptBytes int64
	// RequestBytes is the memory of the requests that are being received and served,
	// MaxRequestBytes its limit, and RequestsTooMany how many it has refused.
	RequestBytes, MaxRequestBytes, RequestsTooMany int64
}

// KeptStats is one kind of what a [Server] keeps beyond a request, see [Budget].
type KeptStats struct {
	// Kind is "session", "stream", "connection", "subscription", "running_task",
	// "finished_task", "replay", "question" or "parked_call".
	Kind string
	// Count and Bytes are what is kept now; events for replay are not counted.
	Count, Bytes int64
	// Shed is how many were given up to make room, Refused how many did not fit,
	// since the server began.
	Shed, Refused int64
}

// Stats returns what the server holds now.
func (s *Server) Stats() Stats {
	st := Stats{SessionTTL: s.opts.SessionTTL, MaxSessions: s.opts.MaxSessions}
	s.ledger.stats(&st)
	st.Sessions = int(st.Kept[keptSession].Count)
	st.Tasks = int(st.Kept[keptRunning].Count)
	st.RequestBytes, st.MaxRequestBytes = s.bodies.used.Load(), s.bodies.total
	st.RequestsTooMany = s.bodies.refused.Load()
	s.hub.mu.Lock()
	st.Streams = len(s.hub.standing)
	s.hub.mu.Unlock()
	return st
}

// OldestSession returns when the oldest session began that there is, zero if there
// is none or nobody observes. It looks at all of them.
func (s *Server) OldestSession() time.Time {
	oldest := int64(0)
	for i := range s.sessions.shards {
		sh := &s.sessions.shards[i]
		sh.mu.RLock()
		for _, session := range sh.byID {
			if began := session.began; began != 0 && (oldest == 0 || began < oldest) {
				oldest = began
			}
		}
		sh.mu.RUnlock()
	}
	if oldest == 0 {
		return time.Time{}
	}
	return time.Unix(0, oldest)
}
