package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Options configure [Open]. Nil and the zero value mean the defaults.
type Options struct {
	// Name is the name of the server in [Event] and [server.Event]; "" means no name.
	Name string
	// Origin is where the server comes from, for [Event]; it may be empty. For a server
	// from a registry it begins with the digest.
	Origin string
	// Version is the protocol version to use; 0 means the newest that both sides support.
	// An [Endpoint] is asked for 2026-07-28 first, other transports for 2025-11-25,
	// because some programs exit on unknown requests.
	Version mcp.Version
	// Client is our identity for the server; the zero value means slipway.
	Client mcp.Implementation
	// Capabilities are the client capabilities for the server, a JSON object. Nil means
	// everything that can be relayed to clients: elicitation, sampling and roots. A
	// 2026-07-28 server receives the capabilities of the requesting client instead, if
	// there is one.
	Capabilities json.RawMessage
	// Answer answers questions of the server during a request that was made by a program
	// rather than by a client. It returns the result object of the method:
	// elicitation/create, sampling/createMessage or roots/list. Nil refuses them.
	Answer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// Lazy delays the start of the server until it is needed: Open returns immediately,
	// and does not report a missing server.
	Lazy bool
	// Catalog is the known catalog of the server before its first start, or nil. With
	// Lazy, listing it does not start the server. Watchers are notified if the actual
	// catalog differs.
	Catalog *mcp.Catalog
	// Optional means that there are other servers: Open starts the server without waiting
	// for it, failed attempts are retried even without a request, and until the first
	// successful start the catalog is empty instead of an error.
	Optional bool
	// IdleStop is the idle time after which the server is stopped until it is needed
	// again; 0 means never.
	IdleStop time.Duration
	// StartTimeout is how long a start may take, from connecting to the last list; 0
	// means 60 seconds.
	StartTimeout time.Duration
	// MaxWait is how long a request waits for a server that is down to be restarted; 0
	// means 2 seconds. It does not limit an attempt in progress, and each request waits
	// for one attempt: a request never fails with the result of an earlier one. Requests
	// cause at most four attempts per second.
	MaxWait time.Duration
	// ResetAfter is how long a server that has answered no request must run before its
	// failures are forgotten; 0 means 30 seconds.
	ResetAfter time.Duration
	// HangTimeout is how long a request may be in flight without any message from the
	// server before the server is pinged; 0 means 10 seconds, and a negative value
	// disables this check. The server is also pinged when a request is cancelled or times
	// out and, on Linux, when one of its processes is stopped by a signal.
	HangTimeout time.Duration
	// PingTimeout is how long a server may take to answer a ping; 0 means 20 seconds.
	// Without an answer, another message or a sign of activity (stderr output or, on
	// Linux, CPU time), the server is replaced, and its requests in flight fail with the
	// reason. Signs of activity count for at most 5 minutes. A process that is stopped by
	// a signal is replaced after one second (Linux).
	PingTimeout time.Duration
	// CallTimeout is how long the server may take to answer one request of a client,
	// including questions to the user; 0 means no limit.
	CallTimeout time.Duration

	// MaxInFlight is how many requests may be in flight, and how many may wait for the
	// server to start; 0 means 1,000. Additional ones are refused with
	// [mcp.CodeToolBusy], as are those of a client beyond its [mcp.Request.Share].
	MaxInFlight int
	// MaxEntries is the maximum number of tools, resources, templates and prompts of a
	// server, for each list; 0 means 100,000.
	MaxEntries int
	// MaxListBytes is the maximum size of the responses with all lists of a server
	// together, in bytes; 0 means 32 MiB.
	MaxListBytes int64
	// MaxPages is the maximum number of pages of a list; 0 means 10,000.
	MaxPages int

	// Succeeds is the Source that this one replaces, or nil: calls parked there while
	// their clients are asked resume here, until that Source is closed.
	Succeeds *Source

	// Clients, if not nil, are the clients of the [server.Server] that serves this Source. A
	// question that the server asks outside of a request goes to the only client; if
	// there are several, it is refused.
	Clients *server.Clients

	// Logger logs the events of the server; nil disables logging.
	Logger *slog.Logger
	// Observe, if not nil, is called for events of the server. It must not block.
	Observe func(Event)
	// Roster, if not nil, lists the server while the Source is open.
	Roster *Roster
}

// Source is a server in another process or at a URL. It is safe for concurrent use.
type Source struct {
	transport  Transport
	opts       Options
	opened     time.Time
	clientInfo json.RawMessage

	current atomic.Pointer[session] // the one that requests use, or nil
	catalog atomic.Pointer[mcp.Catalog]
	headers atomic.Pointer[headerParams] // of its tools
	nothing *mcp.Catalog                 // catalog of a server that has never run
	junk    atomic.Int64
	lastUse atomic.Int64 // UnixNano
	lot     *parkingLot
	askers  askers
	owner   mcp.Session // its only client, see [Isolated]; or nil
	unwatch func()      // [server.Clients]
	alias   string      // for [State], if it is not [Options.Name]
	shared  bool        // the transport belongs to another Source

	mu       sync.Mutex // guards the following fields
	state    state
	phase    Phase // of state
	since    time.Time
	next     time.Time // of the next attempt, while waiting
	tried    time.Time // end of the last attempt or session
	attempts uint64    // total failed ones
	failures int       // consecutive failed attempts and short sessions
	starts   int
	lastErr  error
	turn     chan struct{} // closed and replaced when state changes
	waiting  queue         // requests that wait for the start
	watched  watchList

	watchers mcp.Watchers

	hurry chan struct{} // capacity 1: next has changed

	quit context.Context
	stop context.CancelFunc
	work sync.WaitGroup // the supervisor
}

var (
	_ mcp.Source     = (*Source)(nil)
	_ mcp.Watcher    = (*Source)(nil)
	_ mcp.Extender   = (*Source)(nil)
	_ mcp.Subscriber = (*Source)(nil)
)

// Open connects to a server and requests its catalog. ctx only bounds that. A server that
// cannot be reached, or does not speak the protocol, is an error, unless opts.Lazy or
// opts.Optional is set. The caller must close the Source. opts may be nil.
func Open(ctx context.Context, transport Transport, opts *Options) (*Source, error) {
	s := newSource(transport, opts)
	s.opts.Roster.add(s)
	if s.opts.Optional && !s.opts.Lazy {
		s.mu.Lock()
		s.superviseLocked()
		s.mu.Unlock()
	}
	if s.opts.Lazy || s.opts.Optional {
		return s, nil
	}
	if _, err := s.acquire(ctx); err != nil {
		_ = s.Close()
		return nil, &OpenError{Transport: transport, Err: err}
	}
	return s, nil
}

// OpenError is why a server could not be opened.
type OpenError struct {
	Transport Transport
	Err       error
}

// Error implements the error interface.
func (e *OpenError) Error() string { return fmt.Sprintf("%s: %v", e.Transport, e.Err) }

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

func newSource(transport Transport, opts *Options) *Source {
	s := &Source{
		transport: transport, opened: time.Now(), phase: Stopped, since: time.Now(),
		turn: make(chan struct{}), hurry: make(chan struct{}, 1),
	}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	o.StartTimeout = cmp.Or(max(o.StartTimeout, 0), time.Minute)
	o.MaxWait = cmp.Or(max(o.MaxWait, 0), 2*time.Second)
	o.ResetAfter = cmp.Or(max(o.ResetAfter, 0), 30*time.Second)
	o.HangTimeout = cmp.Or(o.HangTimeout, 10*time.Second)
	o.PingTimeout = cmp.Or(max(o.PingTimeout, 0), 20*time.Second)
	o.MaxInFlight = cmp.Or(max(o.MaxInFlight, 0), 1000)
	o.MaxEntries = cmp.Or(max(o.MaxEntries, 0), 100_000)
	o.MaxListBytes = cmp.Or(max(o.MaxListBytes, 0), 32<<20)
	o.MaxPages = cmp.Or(max(o.MaxPages, 0), 10_000)
	if o.Client.Name == "" {
		o.Client = mcp.Implementation{Name: "slipway", Version: "1"}
	}
	if o.Catalog != nil {
		s.catalog.Store(o.Catalog)
		params, _ := headersOf(o.Catalog)
		s.headers.Store(&params)
	}
	s.lot = &parkingLot{}
	if o.Succeeds != nil {
		s.lot, o.Succeeds = o.Succeeds.lot, nil // do not keep a chain of all earlier sources
	}
	if o.Capabilities == nil {
		o.Capabilities = json.RawMessage(relayed)
	}
	s.nothing = &mcp.Catalog{Server: mcp.Implementation{Name: "starting", Version: "0"}}
	s.clientInfo, _ = mcp.Marshal(o.Client) // strings can always be encoded
	s.quit, s.stop = context.WithCancel(context.Background())
	s.unwatch = func() {}
	if o.Clients != nil {
		s.unwatch = o.Clients.Watch(s.rootsChanged)
	}
	return s
}

// Close stops the server and waits until everything has stopped. Requests in flight fail.
func (s *Source) Close() error {
	s.enter(closing)
	s.unwatch()
	s.stop()
	s.work.Wait()
	s.enter(closed)
	if e, ok := s.transport.(*Endpoint); ok && !s.shared {
		e.release()
	}
	s.opts.Roster.remove(s)
	return nil
}

// Catalog returns the catalog of the server, as of its last start or change. It starts a
// server only if it has never run.
func (s *Source) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	if cat := s.catalog.Load(); cat != nil {
		return cat, nil
	}
	if s.opts.Optional {
		s.mu.Lock()
		s.superviseLocked()
		s.mu.Unlock()
		return s.nothing, nil
	}
	if _, err := s.acquire(ctx); err != nil {
		return nil, s.unavailable(ctx, mcp.CodeToolUnavailable, err)
	}
	return s.catalog.Load(), nil
}

// CallTool calls a tool of the server.
func (s *Source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if !sendable(p.Name) {
		return nil, mcp.UnknownTool(p.Name)
	}
	raw, err := s.forward(ctx, &errand{
		method: "tools/call", name: p.Name, key: "name", arguments: p.Arguments,
		again: s.repeatable(p.Name), unavailable: mcp.CodeToolUnavailable,
	})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Raw: raw}, nil
}

// ReadResource reads a resource of the server.
func (s *Source) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if !sendable(p.URI) {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	raw, err := s.forward(ctx, &errand{
		method: "resources/read", name: p.URI, key: "uri", again: true, unavailable: mcp.CodeResourceUnavailable,
	})
	if err != nil {
		return nil, notFound(err, p.URI)
	}
	return &mcp.ReadResourceResult{Raw: raw}, nil
}

// sendable reports whether a name can be sent unchanged. If not, no such name exists.
func sendable(name string) bool { return name != "" && utf8.ValidString(name) }

// notFound converts the one error whose code changed between versions.
func notFound(err error, uri string) error {
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeInvalidParams && memberString(e.Data, "uri") == uri {
		copied := *e
		copied.Code = mcp.CodeResourceNotFound
		return &copied
	}
	return err
}

// GetPrompt gets a prompt of the server.
func (s *Source) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if !sendable(p.Name) {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	e := &errand{method: "prompts/get", name: p.Name, key: "name", again: true, unavailable: mcp.CodeToolUnavailable}
	if len(p.Arguments) > 0 {
		e.arguments, _ = mcp.Marshal(p.Arguments) // strings can always be encoded
	}
	raw, err := s.forward(ctx, e)
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{Raw: raw}, nil
}

// Complete requests suggestions from the server.
func (s *Source) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if cat := s.catalog.Load(); cat != nil && !cat.Completions {
		return &mcp.CompleteResult{}, nil
	}
	params, _ := mcp.Marshal(p) // strings can always be encoded
	raw, err := s.forward(ctx, &errand{
		method: "completion/complete", params: params, again: true, unavailable: mcp.CodeToolUnavailable,
	})
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
		return &mcp.CompleteResult{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &mcp.CompleteResult{Raw: raw}, nil
}

// ServeMethod forwards a method of one of the server's extensions.
func (s *Source) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	cat := s.catalog.Load()
	if cat == nil || cat.Extensions == nil {
		return nil, mcp.MethodNotFound(method)
	}
	raw, err := s.forward(ctx, &errand{method: method, params: withoutMeta(params), unavailable: mcp.CodeToolUnavailable})
	if err != nil {
		return nil, err
	}
	return &mcp.MethodResult{Result: raw}, nil
}

// repeatable reports whether a tool declares that calling it twice is safe.
func (s *Source) repeatable(name string) bool {
	cat := s.catalog.Load()
	if cat == nil {
		return false
	}
	t := cat.Tool(name)
	return t != nil && t.Annotations != nil && (t.Annotations.ReadOnlyHint || t.Annotations.IdempotentHint)
}

// label returns the server's name in an error, or else its transport.
func (s *Source) label() string {
	if s.opts.Name != "" {
		return fmt.Sprintf("server %q", s.opts.Name)
	}
	return s.transport.String()
}

// subject returns the server as the subject of an error for clients. It does not reveal
// the transport of a server without a name.
func (s *Source) subject() string {
	if s.opts.Name != "" {
		return fmt.Sprintf("server %q", s.opts.Name)
	}
	return "the server"
}

// unavailable returns an error for clients. A context error is theirs only if ctx, that
// of their request, is done.
func (s *Source) unavailable(ctx context.Context, code mcp.Code, err error) error {
	var e *mcp.Error
	var down *downError // a start that timed out is not a request that did
	var unread *UnreadableError
	if errors.As(err, &e) {
		return err
	}
	text := err.Error()
	switch {
	case errors.As(err, &down):
		text = fmt.Sprintf("%s cannot be %s: %v", s.subject(), down.verb, down.cause)
	case errors.As(err, &unread):
		text = fmt.Sprintf("%s: %v", s.subject(), unread)
	case !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
	case ctx.Err() != nil:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		text = s.subject() + " has not answered in time"
	default:
		text = s.subject() + " was stopped or replaced while this request waited for it"
	}
	return &mcp.Error{Code: code, Message: text, Cause: err}
}
