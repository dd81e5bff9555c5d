package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Request is the protocol request that a Source method is serving. It can send messages
// to the client while the method runs. It is safe for concurrent use, also after the
// method has returned; from then on it sends nothing.
type Request struct{ served served }

// served is the server's side of a [Request]; its methods are those of Request.
type served interface {
	Version() Version
	Method() string
	Session() Session
	Params() json.RawMessage
	Meta() json.RawMessage
	Header() http.Header
	RemoteAddr() string
	ClientCapabilities() json.RawMessage
	Client() string
	Share(limit int) int
	ServedBy(name *string)
	StartUpstream(ctx context.Context, u *Upstream) context.Context
	EndUpstream(ctx context.Context, u *Upstream, err error, toolError bool)
	Keep(size int, giveUp func()) (release func(), err error)

	Progress(progress, total float64, message string)
	ForwardProgress(params json.RawMessage)
	Log(level LogLevel, logger string, data any)
	ForwardLog(params json.RawMessage)
	Abandoned() bool
	Disconnect(retry time.Duration) bool

	RequireCapability(name string) error
	Ask(ctx context.Context, questions ...Question) ([]json.RawMessage, error)
	State() (json.RawMessage, error)
	SetState(state json.RawMessage)
	RequireTasks() error
	Task(context.Context, *TaskOptions, func(context.Context) (*CallToolResult, error)) (*CallToolResult, error)
}

// NewRequest returns the Request of a server, whose methods call those of s. The context
// of the Source method returns a pointer to it as the value of the key (*Request)(nil).
func NewRequest(s served) Request { return Request{s} }

// RequestFrom returns the request being served under ctx, or nil if a program rather than
// a client called the Source. All methods of a nil *Request work and do nothing.
func RequestFrom(ctx context.Context) *Request {
	r, _ := ctx.Value((*Request)(nil)).(*Request)
	return r
}

// Version returns the protocol version of the request, or [LatestVersion] for a nil
// Request.
func (r *Request) Version() Version {
	if r == nil {
		return LatestVersion
	}
	return r.served.Version()
}

// Method returns the method of the request, such as "tools/list", or "" for a nil
// Request.
func (r *Request) Method() string {
	if r == nil {
		return ""
	}
	return r.served.Method()
}

// Session returns the session of the request, or nil if it has none. Sessions do not
// exist in 2026-07-28, nor for clients that did not send initialize.
func (r *Request) Session() Session {
	if r == nil {
		return nil
	}
	return r.served.Session()
}

// Params returns the request's params as received, or nil.
func (r *Request) Params() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.served.Params()
}

// Meta returns the _meta object of the params as received, or nil.
func (r *Request) Meta() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.served.Meta()
}

// Header returns the header of the HTTP request, or nil on other surfaces. It must not be
// modified.
func (r *Request) Header() http.Header {
	if r == nil {
		return nil
	}
	return r.served.Header()
}

// RemoteAddr returns the address the request came from, which may be that of a proxy. It
// is "" if the surface does not know the address.
func (r *Request) RemoteAddr() string {
	if r == nil {
		return ""
	}
	return r.served.RemoteAddr()
}

// ClientCapabilities returns the capabilities that the client declared, a JSON object, or
// nil if it declared none.
func (r *Request) ClientCapabilities() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.served.ClientCapabilities()
}

// Client identifies the client to which the request is charged in shared limits: its
// principal, or its network address. It is empty for a nil Request, and for
// the single client of a pair of streams.
func (r *Request) Client() string {
	if r == nil {
		return ""
	}
	return r.served.Client()
}

// Share returns how many of limit entries the client of the request may use. It returns
// limit if [Request.Client] is empty.
func (r *Request) Share(limit int) int {
	if r == nil {
		return limit
	}
	return r.served.Share(limit)
}

// ServedBy records which of several servers serves the request, for the
// observer. The last call wins. The string must not change during the request.
func (r *Request) ServedBy(name *string) {
	if r != nil {
		r.served.ServedBy(name)
	}
}

// Progress reports the progress of the request to the client, if the client requested it.
// progress must increase with every call; other values are skipped. total is the value at
// completion, or 0 if unknown. message may be empty.
func (r *Request) Progress(progress, total float64, message string) {
	if r != nil {
		r.served.Progress(progress, total, message)
	}
}

// ForwardProgress is [Request.Progress] for a progress notification from another server.
// params are those of its notifications/progress, a valid object. They are sent to the
// client unchanged, including unknown members, except that the token is replaced with the
// client's, and message is omitted in versions without it.
func (r *Request) ForwardProgress(params json.RawMessage) {
	if r != nil {
		r.served.ForwardProgress(params)
	}
}

// Log sends a log line to the client if the client wants lines of that level. Clients
// choose the level with logging/setLevel, or from 2026-07-28 on in each request. data is
// encoded as JSON and must not contain secrets. logger may be empty. Nothing is sent
// unless [Catalog.Logging] is true.
func (r *Request) Log(level LogLevel, logger string, data any) {
	if r != nil {
		r.served.Log(level, logger, data)
	}
}

// ForwardLog is [Request.Log] for a log line of another server. params are those of its
// notifications/message, a valid object, and are sent to the client unchanged.
func (r *Request) ForwardLog(params json.RawMessage) {
	if r != nil {
		r.served.ForwardLog(params)
	}
}

// Abandoned reports whether the client has closed the connection of the request without
// cancelling the request, as clients up to 2025-11-25 may. The client may reconnect for
// the answer, but usually it has given up.
func (r *Request) Abandoned() bool {
	if r == nil {
		return false
	}
	return r.served.Abandoned()
}

// Disconnect closes the connection on which the client waits, and asks the client to
// reconnect after retry. This avoids holding connections during long work (2025-11-25,
// "Streamable HTTP"). It reports whether that was possible: the client needs a session
// and a resumable event stream.
func (r *Request) Disconnect(retry time.Duration) bool {
	if r == nil {
		return false
	}
	return r.served.Disconnect(retry)
}

// RequireCapability returns nil if the client declared the capability, given as the path
// of a member of ClientCapabilities such as "sampling" or "sampling/tools". Otherwise it
// returns the error to return from the Source method.
func (r *Request) RequireCapability(name string) error {
	if r == nil {
		return nil
	}
	return r.served.RequireCapability(name)
}

// State returns the last value passed to [Request.SetState], in this or an earlier round
// of the same request, or nil. The client cannot change it.
func (r *Request) State() (json.RawMessage, error) {
	if r == nil {
		return nil, nil
	}
	return r.served.State()
}

// SetState stores a JSON value for the next round of the same request, sealed against
// reading and modification. It only has an effect if the Source method then returns
// [ErrInputRequired].
func (r *Request) SetState(state json.RawMessage) {
	if r != nil {
		r.served.SetState(state)
	}
}

// Keep books memory that a Source keeps for the client beyond the end of the method, such
// as a call that waits until the client reconnects: size bytes, and the request itself.
// If the client exceeds its share or the budget is exhausted, the server calls giveUp
// to request its release, at most once, on any goroutine; giveUp must not wait. The
// Source calls release when the memory has been freed, also after giveUp. The error is
// for the client. Keep does nothing on a nil Request.
func (r *Request) Keep(size int, giveUp func()) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	return r.served.Keep(size, giveUp)
}

// RequireTasks returns nil if the call can be answered with a task, and otherwise the
// error to return. A tool that needs both tasks and input calls it before [Request.Ask].
func (r *Request) RequireTasks() error {
	if r == nil {
		return nil
	}
	return r.served.RequireTasks()
}

// TaskOptions configures [Request.Task]. Nil and the zero value use the defaults.
type TaskOptions struct {
	// Required rejects clients without the extension, instead of running the work while they
	// wait.
	Required bool
	// TTL is how long the task is kept; 0 means one hour.
	TTL time.Duration
	// PollInterval is how often the client should poll; 0 means one second.
	PollInterval time.Duration
}

// Task runs the work of a tool call as a task if the client supports tasks: it returns
// immediately, and the Source method must return Task's results. Otherwise it runs work
// while the client waits.
//
// work runs on its own goroutine, under a context that ends when the task is cancelled or
// its TTL has passed. The [Request] of that context can ask the client, but sends neither
// progress nor log lines. [Catalog.Tasks] must be set.
func (r *Request) Task(
	ctx context.Context,
	opts *TaskOptions,
	work func(context.Context) (*CallToolResult, error),
) (*CallToolResult, error) {
	if r == nil {
		return work(ctx)
	}
	return r.served.Task(ctx, opts, work)
}
