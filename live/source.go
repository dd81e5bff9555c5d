package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
)

// Options configure [Open]. The zero value and nil are the defaults.
type Options struct {
	// Name is what the server is called here, for [Event] and for [mcp.Event];
	// "" stands for no name.
	Name string
	// Origin says where the server comes from, for [Event]; it may be empty. Of what
	// a registry knows it begins with the digest.
	Origin string
	// Version is the version of the protocol to speak; 0 stands for the newest
	// that both sides know. An [Endpoint] is asked for 2026-07-28 first, other
	// transports for 2025-11-25: some programs end when they are asked for what
	// they do not know.
	Version mcp.Version
	// Client is what the server is told of us; the zero value stands for slipway.
	Client mcp.Implementation
	// Capabilities are what the server is told that it may ask for, a JSON object.
	// Nil stands for everything that can be passed on to clients: elicitation,
	// sampling and roots. To 2026-07-28 servers the capabilities of the client
	// that makes the request are sent instead, where there is one.
	Capabilities json.RawMessage
	// Answer answers what the server asks while it serves a request that a program
	// has made, not a client of ours. It returns the result object of the method:
	// elicitation/create, sampling/createMessage or roots/list. Nil refuses.
	Answer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// Lazy says not to start the server before it is needed: Open returns at once,
	// and so does not report that there is no such server.
	Lazy bool
	// Catalog is what the server offers as far as that is known before it has
	// ever run, or nil. With Lazy the server need not run for somebody to look.
	// Watchers are told when it turns out to offer something else.
	Catalog *mcp.Catalog
	// Optional says that there are others: Open starts the server but does not
	// wait for it, attempts that fail are made again whether or not somebody needs
	// it, and until it has run once it offers nothing, instead of failing.
	Optional bool
	// IdleStop is how long the server may have nothing to do before it is stopped,
	// until it is needed again; 0 stands for never.
	IdleStop time.Duration
	// StartTimeout is how long a start may take, from making the connection to the
	// last list; 0 stands for 60 seconds.
	StartTimeout time.Duration
	// MaxWait is how long a request waits for a server that is down to be started
	// again; 0 means 2 seconds. It does not bound an attempt that is under way,
	// and each request waits for one attempt: a request never fails with the result
	// of an earlier one. Requests cause at most four attempts a second.
	MaxWait time.Duration
	// ResetAfter is how long a server that has answered no request must have run
	// for its failures to be
	// forgotten; 0 stands for 30 seconds.
	ResetAfter time.Duration
	// HangTimeout is how long a request may be in flight without any message from the
	// server before the server is sent a ping; 0 means 10 seconds, and a negative time
	// disables this watch. The server is also sent a ping when a request is cancelled or
	// times out and, on Linux, when one of its processes is stopped by a signal.
	HangTimeout time.Duration
	// PingTimeout is how long a server may take to answer a ping; 0 means 20 seconds.
	// Without an answer, another message or a sign of work (stderr output or, on Linux,
	// CPU time), the server is replaced, and its requests in flight fail with the
	// reason. A sign of work counts for at most 5 minutes. A process that is stopped by
	// a signal is replaced after one second (Linux).
	PingTimeout time.Duration
	// CallTimeout is how long the server may take to answer one request of a client,
	// including questions to the user; 0 means no limit.
	CallTimeout time.Duration

	// MaxInFlight is how many requests may be under way, and how many may wait for
	// the server to be started; 0 stands for 1,000. More are refused with
	// [mcp.CodeToolBusy], as are those of a client beyond its [mcp.Request.Share].
	MaxInFlight int
	// MaxEntries is how many tools, resources, templates and prompts a server may
	// list, each; 0 stands for 100,000.
	MaxEntries int
	// MaxListBytes is how many bytes the answers with all lists of a server may have
	// together; 0 means 32 MiB.
	MaxListBytes int64
	// MaxPages is how many pages one list may have; 0 means 10,000.
	MaxPages int

	// Succeeds is a Source that this one takes the place of, or nil: calls that wait
	// there for their clients to come again ([Source.CallTool] of a server that asks)
	// are found here, until that Source is closed.
	Succeeds *Source

	// Clients, if not nil, are the clients of the [mcp.Server] in front of this Source.
	// What the server asks outside of a request is for the single one, if there is a
	// single one; otherwise it is refused.
	Clients *mcp.Clients

	// Log, if not nil, is told what happens to the server: it starts, is lost,
	// cannot be started, changes. It must not wait.
	Log func(Event)
	// Opened, if not nil, is told of the Source before the server is started, and
	// returns what is to be called when it has been closed, or nil.
	Opened func(*Source) (closed func())
}

// Event is something that has happened to the server.
type Event struct {
	Name   string // [Options.Name]
	Origin string // [Options.Origin]
	Server string // [Transport] as text
	What   string // "started", "lost", "failed", "stopped", "changed", "log"
	Err    error  // why, or nil
	Detail string // further words, or empty
}

// Source is a server somewhere else. It is safe for concurrent use.
type Source struct {
	transport  Transport
	opts       Options
	opened     time.Time
	clientInfo json.RawMessage

	current atomic.Pointer[session] // the one that requests use, or nil
	catalog atomic.Pointer[mcp.Catalog]
	headers atomic.Pointer[headerParams] // of its tools
	nothing *mcp.Catalog                 // what a server offers that has never run
	junk    atomic.Int64
	lastUse atomic.Int64 // UnixNano
	lot     *parkingLot
	manners manners
	owner   *mcp.Session // the one client that it is for, see [Isolated]; or nil
	unwatch func()       // [mcp.Clients]
	alias   string       // for [State], if it is not [Options.Name]
	shared  bool         // the transport belongs to another Source

	mu       sync.Mutex // guards what follows
	phase    Phase
	since    time.Time
	next     time.Time // of the next attempt, while waiting
	tried    time.Time // when the last attempt or the last session ended
	attempts uint64    // failed ones, ever
	failures int       // attempts and short lives since the last long one
	starts   int
	lastErr  error
	turn     chan struct{} // closed and replaced when phase changes
	running  bool          // the supervisor runs
	closed   bool
	wanted   bool  // a caller waits for a session
	waiting  queue // requests that wait for it to be started
	watched  watchList

	watchers mcp.Watchers

	hurry chan struct{} // of capacity 1: next has changed

	quit   context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup // the supervisor
	forget func()         // [Options.Opened]; called once
}

var (
	_ mcp.Source     = (*Source)(nil)
	_ mcp.Watcher    = (*Source)(nil)
	_ mcp.Extender   = (*Source)(nil)
	_ mcp.Subscriber = (*Source)(nil)
)

// Open connects to a server and asks what it offers. ctx bounds that alone; a
// server that cannot be reached, or that does not speak the protocol, is an error,
// unless opts.Lazy is set. Close the Source when it is no longer needed. opts may
// be nil.
func Open(ctx context.Context, transport Transport, opts *Options) (*Source, error) {
	s := newSource(transport, opts)
	s.noteOpened()
	if s.opts.Optional && !s.opts.Lazy {
		s.mu.Lock()
		s.runLocked()
		s.mu.Unlock()
	}
	if s.opts.Lazy || s.opts.Optional {
		return s, nil
	}
	if _, err := s.acquire(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("%s: %w", transport, err)
	}
	return s, nil
}

// noteOpened calls [Options.Opened].
func (s *Source) noteOpened() {
	if s.opts.Opened != nil {
		if closed := s.opts.Opened(s); closed != nil {
			s.forget = sync.OnceFunc(closed)
		}
	}
}

func newSource(transport Transport, opts *Options) *Source {
	s := &Source{
		transport: transport, opened: time.Now(), phase: Stopped, since: time.Now(),
		turn: make(chan struct{}), hurry: make(chan struct{}, 1), forget: func() {},
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
		if params, _ := headersOf(o.Catalog); params != nil {
			s.headers.Store(&params)
		}
	}
	s.lot = &parkingLot{}
	if o.Succeeds != nil {
		s.lot, o.Succeeds = o.Succeeds.lot, nil // no chain of all there ever were
	}
	if o.Capabilities == nil {
		o.Capabilities = json.RawMessage(relayed)
	}
	s.nothing = &mcp.Catalog{Server: mcp.Implementation{Name: "starting", Version: "0"}}
	s.clientInfo, _ = mcp.Marshal(o.Client) // strings always encode
	s.quit, s.stop = context.WithCancel(context.Background())
	s.unwatch = func() {}
	if o.Clients != nil {
		s.unwatch = o.Clients.Watch(s.rootsChanged)
	}
	return s
}

// Close stops the server and waits until nothing is left of it. Requests in
// flight fail.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.unwatch()
	s.stop()
	s.work.Wait()
	s.enter(Closed)
	if r, ok := s.transport.(interface{ release() }); ok && !s.shared {
		r.release()
	}
	s.forget()
	return nil
}

// Catalog returns what the server offers, as of its last start or change. It
// starts a server only if it has never run.
func (s *Source) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	if cat := s.catalog.Load(); cat != nil {
		return cat, nil
	}
	if s.opts.Optional {
		s.mu.Lock()
		s.runLocked()
		s.mu.Unlock()
		return s.nothing, nil
	}
	if _, err := s.acquire(ctx); err != nil {
		return nil, s.unavailable(ctx, mcp.CodeToolUnavailable, err)
	}
	return s.catalog.Load(), nil
}

// CallTool has the server run a tool.
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

// ReadResource has the server read a resource.
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

// sendable reports whether a name can be sent as it is. One that cannot names
// nothing.
func sendable(name string) bool { return name != "" && utf8.ValidString(name) }

// notFound words the one error that changed its code between versions.
func notFound(err error, uri string) error {
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeInvalidParams && memberString(e.Data, "uri") == uri {
		copied := *e
		copied.Code = mcp.CodeResourceNotFound
		return &copied
	}
	return err
}

// GetPrompt has the server fill in a prompt.
func (s *Source) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if !sendable(p.Name) {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	e := &errand{method: "prompts/get", name: p.Name, key: "name", again: true, unavailable: mcp.CodeToolUnavailable}
	if len(p.Arguments) > 0 {
		e.arguments, _ = mcp.Marshal(p.Arguments) // strings always encode
	}
	raw, err := s.forward(ctx, e)
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{Raw: raw}, nil
}

// Complete has the server suggest values.
func (s *Source) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if cat := s.catalog.Load(); cat != nil && !cat.Completions {
		return &mcp.CompleteResult{}, nil
	}
	raw, err := s.forward(ctx, &errand{
		method: "completion/complete", params: completeParams(p), again: true, unavailable: mcp.CodeToolUnavailable,
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

func completeParams(p *mcp.CompleteParams) json.RawMessage {
	ref := map[string]string{"type": "ref/prompt", "name": p.Prompt}
	if p.URITemplate != "" {
		ref = map[string]string{"type": "ref/resource", "uri": p.URITemplate}
	}
	params := map[string]any{"ref": ref, "argument": map[string]string{"name": p.Argument, "value": p.Value}}
	if len(p.Arguments) > 0 {
		params["context"] = map[string]any{"arguments": p.Arguments}
	}
	encoded, _ := mcp.Marshal(params) // strings always encode
	return encoded
}

// ServeMethod has the server answer a method of one of its extensions.
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

// repeatable reports whether a tool says that calling it twice does no harm.
func (s *Source) repeatable(name string) bool {
	cat := s.catalog.Load()
	if cat == nil {
		return false
	}
	t := cat.Tool(name)
	return t != nil && t.Annotations != nil && (t.Annotations.ReadOnlyHint || t.Annotations.IdempotentHint)
}

// label names the server in an error: by its name here, or by how it is reached.
func (s *Source) label() string {
	if s.opts.Name != "" {
		return fmt.Sprintf("server %q", s.opts.Name)
	}
	return s.transport.String()
}

// subject begins a sentence about the server in an error for clients, which are not
// shown how a server without a name is reached.
func (s *Source) subject() string {
	if s.opts.Name != "" {
		return fmt.Sprintf("server %q", s.opts.Name)
	}
	return "the server"
}

// unavailable words an error for clients. An error of a context is theirs only if ctx,
// that of their request, has ended.
func (s *Source) unavailable(ctx context.Context, code mcp.Code, err error) error {
	var e *mcp.Error
	var down *downError // a start that took too long is not a request that did
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
