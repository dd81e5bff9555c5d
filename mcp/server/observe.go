package server

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Observer receives the events of a [Server], for metrics, logs and traces.
//
// Observe runs on the goroutine of the request, so it must be quick, and safe for
// concurrent use. ctx is the context of the request, for use with [mcp.RequestFrom] and
// [mcp.PrincipalFrom]. It may have ended.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	// EventRequest: a request starts.
	EventRequest EventKind = iota + 1
	// EventAnswer: a request has finished. It follows each EventRequest.
	EventAnswer
	// EventNotification: the client has sent a notification.
	EventNotification
	// EventRefused: a message from the client was rejected before it became a request: it is
	// not JSON, is not a valid message, or does not belong to a session. Err contains the
	// reason.
	EventRefused
	// EventSession: a client up to 2025-11-25 has started a session.
	EventSession
	// EventSessionEnd: a session has ended; Duration is how long it was in use.
	EventSessionEnd
	// EventUpstream: a request that the Source made to another server on behalf of the
	// request has finished. Method, Name, Server, Transport and Version are those of the
	// upstream request.
	EventUpstream
)

// The transports of an [Event] or an [Operation].
const (
	TransportHTTP      = "http"
	TransportStdio     = "stdio"
	TransportWebSocket = "websocket"
	TransportSSE       = "sse" // HTTP+SSE of 2024-11-05: its requests have no response of their own
)

// TransportKey is the key of the transport of a request in its context: a string, as in
// [Event].
type TransportKey struct{}

// Outcome is how a request ended. Its text is for logs.
type Outcome string

// The outcomes of requests.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeError     Outcome = "error"      // the client received an error
	OutcomeToolError Outcome = "tool_error" // a tool result with isError
	OutcomePanicked  Outcome = "panicked"   // the Source has panicked
	OutcomeCancelled Outcome = "cancelled"  // the client no longer wanted the answer
	// OutcomeInputRequired: the answer is a question to the client, which repeats the request
	// with the requested input (2026-07-28). It is not a failure.
	OutcomeInputRequired Outcome = "input_required"
	OutcomeStream        Outcome = "stream" // the answer is an event stream that stays open
)

// Event is an event in the life of a request or session. Fields that do not apply to its
// Kind are zero. It never contains arguments or results.
type Event struct {
	Kind EventKind
	// Method is the method as sent by the client. It may be any text if Err has the code
	// [mcp.CodeMethodNotFound].
	Method string
	// Name is the tool or prompt of the request, if it is in the catalog, or the URI of the
	// resource.
	Name string
	// Server is the name passed to [mcp.Request.ServedBy], which identifies the one of several
	// servers that served the request, or "".
	Server string
	// Transport is one of the constants, [ConnOptions.Transport], or "".
	Transport string
	Version   mcp.Version // 0 if not known
	Session   mcp.Session // nil if there is none

	// Duration is the time from reading the message to its answer, or how long a session
	// or stream existed.
	Duration time.Duration
	// Err is the error sent to the client, including the cause, which the client does not
	// see; nil if the client received a result.
	Err *mcp.Error
	// Outcome is how a request ended, for EventAnswer.
	Outcome Outcome

	// Rule, Item and Approval are those of the [Note] about the request.
	Rule, Item, Approval string

	// Status is the HTTP status of the answer, if the answer has its own HTTP response.
	Status int
	// Received and Sent are the sizes of the message and the answer in bytes.
	Received, Sent int
	// Span is the span of the request, for EventAnswer and EventUpstream with
	// [Options.Tracer], or nil.
	Span Span
}

// Failure returns why a request failed, as OpenTelemetry's error.type: the code of the
// error, or the outcome if there is none. It returns "" for success.
func (e *Event) Failure() string {
	switch {
	case e.Err != nil:
		return strconv.Itoa(int(e.Err.Code))
	case e.Outcome == OutcomeCancelled, e.Outcome == OutcomeToolError:
		return string(e.Outcome)
	}
	return ""
}

// event returns an event with the fields common to all events of a request.
func (rc *request) event(kind EventKind) Event {
	return Event{
		Kind:      kind,
		Method:    rc.methodName(),
		Name:      rc.about,
		Transport: rc.transport,
		Version:   rc.version,
		Session:   rc.Session(),
		Received:  int(rc.msg.size),
	}
}

// methodName returns the method. It does not allocate for methods of the protocol.
func (rc *request) methodName() string {
	if rc.known != nil {
		return rc.known.name
	}
	if name, ok := rc.server.methodNames[string(rc.msg.method)]; ok {
		return name
	}
	return string(rc.msg.method)
}

// observed serves a request and reports it to the observer.
func (s *Server) observed(rc *request, a *answer) {
	started := rc.event(EventRequest)
	if s.opts.Tracer != nil {
		rc.traced, rc.span = s.opts.Tracer.StartRequest(rc, rc.parent, started)
	}
	s.observe(rc, started)
	failed := s.request(rc, a)
	e := rc.event(EventAnswer)
	e.Duration = time.Since(rc.began)
	e.Err, e.Sent = failed, a.size()
	if name := rc.servedBy.Load(); name != nil {
		e.Server = *name
	}
	if n := rc.noted.last.Load(); n != nil {
		e.Rule = n.Rule
		e.Item = n.Item
		e.Approval = n.Approval
	}
	switch e.Outcome = cmp.Or(rc.outcome, OutcomeOK); {
	case a.empty() && e.Outcome != OutcomeStream:
		e.Outcome = OutcomeCancelled
	case failed != nil && e.Outcome != OutcomePanicked:
		e.Outcome = OutcomeError
	}
	if rc.header != nil && e.Outcome != OutcomeCancelled {
		e.Status = cmp.Or(a.status, http.StatusOK)
	}
	if e.Span = rc.span; e.Span != nil {
		e.Span.End(e)
	}
	s.observe(rc, e)
}

// observe passes an event to the observer, if there is one.
func (s *Server) observe(ctx context.Context, e Event) {
	if s.opts.Observer != nil {
		s.opts.Observer.Observe(ctx, e)
	}
}

// refused reports a message that did not become a request.
func (s *Server) refused(rc *request, e *mcp.Error, status int) {
	if s.opts.Observer == nil {
		return
	}
	event := rc.event(EventRefused)
	event.Err = e
	event.Status = status
	s.opts.Observer.Observe(rc, event)
}

// sessionEnded reports the end of a session.
func (s *Server) sessionEnded(session *session, transport string, used time.Duration) {
	s.opts.Clients.notify(ClientEvent{
		Session: session,
		Ended:   true,
	})
	if s.opts.Observer == nil || session.began == 0 {
		return
	}
	s.opts.Observer.Observe(context.Background(), Event{
		Kind:      EventSessionEnd,
		Session:   session,
		Version:   session.Version(),
		Transport: transport,
		Duration:  max(used, 0),
	})
}

// aboutOf returns the name of the request's tool or prompt, if it is in the catalog, or
// the URI of the resource.
func (rc *request) aboutOf(cat *mcp.Catalog) string {
	switch string(rc.msg.method) {
	case "tools/call":
		if name, ok := jsonscan.UnquoteBytes(rc.msg.name); ok {
			if tool := cat.Tool(string(name)); tool != nil {
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

// Stats are figures about the current state of a [Server].
type Stats struct {
	Sessions int // started over HTTP
	Streams  int // open event streams over HTTP
	Tasks    int // running
	InFlight int // requests, including those that arrived over connections

	SessionTTL  time.Duration // how long a session may be idle
	MaxSessions int           // the maximum number of sessions

	// Kept lists what is kept beyond a request, by kind, always in the same order. Kept and the following
	// are figures of all servers that share a Budget, see [Options.ShareBudget].
	Kept []KeptStats
	// KeptBytes is the total of Kept, MaxKeptBytes its limit.
	KeptBytes, MaxKeptBytes int64
	// RequestBytes is the memory of the requests that are being received and served,
	// MaxRequestBytes its limit, and RequestsTooMany how often something did not fit: a request, which was
	// rejected, or an answer or another message to a client, which was dropped.
	RequestBytes, MaxRequestBytes, RequestsTooMany int64
}

// KeptStats are the figures for one kind of state that a [Server] keeps beyond a request,
// see [Budget].
type KeptStats struct {
	// Kind is "session", "stream", "connection", "subscription", "running_task",
	// "finished_task", "replay", "question" or "parked_call".
	Kind string
	// Count and Bytes are the current figures; events kept for replay are not counted in
	// Count.
	Count, Bytes int64
	// Shed is the number of entries dropped to make room, Refused the number rejected
	// because they did not fit, both since the server started.
	Shed, Refused int64
}

// Stats returns figures about the current state of the server.
func (s *Server) Stats() Stats {
	st := Stats{
		SessionTTL:  s.opts.SessionTTL,
		MaxSessions: s.opts.MaxSessions,
	}
	s.ledger.stats(&st)
	st.Sessions = s.sessions.count()
	st.Tasks = s.tasks.count()
	st.InFlight = int(max(0, s.active.n.Load()))
	st.RequestBytes = s.bodies.used.Load()
	st.MaxRequestBytes = s.bodies.total
	st.RequestsTooMany = s.bodies.refused.Load()
	s.hub.mu.Lock()
	st.Streams = len(s.hub.streams)
	s.hub.mu.Unlock()
	return st
}

// OldestSession returns the start time of the oldest session, or zero if there are no
// sessions or the server has no observer. It iterates over all sessions.
func (s *Server) OldestSession() time.Time {
	oldest := int64(0)
	s.sessions.mu.RLock()
	defer s.sessions.mu.RUnlock()
	for _, session := range s.sessions.byID {
		began := session.began
		if began != 0 && (oldest == 0 || began < oldest) {
			oldest = began
		}
	}
	if oldest == 0 {
		return time.Time{}
	}
	return time.Unix(0, oldest)
}
