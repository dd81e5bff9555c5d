package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Source is a server in another process or at a URL. It is safe for concurrent use.
type Source struct {
	// transport makes the connections; opts are complete, without zero values that mean a
	// default.
	transport  Transport
	opts       Options
	opened     time.Time
	clientInfo json.RawMessage

	current atomic.Pointer[session] // the one that requests use, or nil
	terms   atomic.Pointer[Terms]   // of the next connection
	catalog atomic.Pointer[mcp.Catalog]
	headers atomic.Pointer[headerParams] // of its tools
	nothing *mcp.Catalog                 // catalog of a server that has never run
	junk    atomic.Int64
	lastUse atomic.Int64 // UnixNano
	lot     *parkingLot
	tap     *tap.Tapper // nil without [Options.Tap]
	askers  askers
	owner   mcp.Session // its only client, see [Isolated]; or nil
	unwatch func()      // [server.Clients]
	alias   string      // for [State], if it is not [Options.Name]
	shared  bool        // the transport belongs to another Source

	mu sync.Mutex // guards the following fields
	// state is what the supervisor is doing; phase is what the outside sees of it.
	state    state
	phase    Phase // of state
	since    time.Time
	next     time.Time // of the next attempt, while waiting
	tried    time.Time // end of the last attempt or session
	attempts uint64    // total failed ones
	failures int       // consecutive failed attempts and short sessions
	starts   int
	lastErr  error
	// attempted are the terms of the current or last attempt, and stopAttempt stops it.
	attempted   *Terms
	stopAttempt context.CancelFunc
	turn        chan struct{} // closed and replaced when state changes
	waiting     queue         // requests that wait for the start
	watched     watchList

	// watchers are notified of changes, and watched are the resources that clients
	// subscribed to.
	watchers mcp.Watchers

	hurry chan struct{} // capacity 1: next has changed

	// quit is done when the Source is closed.
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
		return nil, &OpenError{
			Transport: transport,
			Err:       err,
		}
	}
	return s, nil
}

// OpenError is why a server could not be opened.
type OpenError struct {
	// Transport is what could not be opened, and Err why.
	Transport Transport
	Err       error
}

// Error implements the error interface.
func (e *OpenError) Error() string {
	return fmt.Sprintf("%s: %v", e.Transport, e.Err)
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// newSource returns a Source that has not been started.
func newSource(transport Transport, opts *Options) *Source {
	s := &Source{
		transport: transport,
		opts:      opts.withDefaults(),
		opened:    time.Now(),
		phase:     Stopped,
		since:     time.Now(),
		lot:       &parkingLot{},
		nothing: &mcp.Catalog{Server: mcp.Implementation{
			Name:    "starting",
			Version: "0",
		}},
		turn:    make(chan struct{}),
		hurry:   make(chan struct{}, 1),
		unwatch: func() {},

		stopAttempt: func() {},
	}
	o := &s.opts
	o.Failover.declare(s.nothing)
	if cat := o.Previous.Catalog; cat != nil {
		cat = o.Failover.Declare(cat) // catalogs in files do not have it
		s.catalog.Store(cat)
		params, _ := headersOf(cat)
		s.headers.Store(&params)
	}
	if previous := o.Previous.Source; previous != nil {
		s.lot = previous.lot
		o.Previous.Source = nil // do not keep a chain of all earlier sources
	}
	s.terms.Store(&Terms{
		Version:      o.Version,
		Capabilities: o.Questions.Capabilities,
	})
	s.tap = tap.New(o.Tap)
	s.clientInfo, _ = mcp.Marshal(o.Client) // strings can always be encoded
	s.quit, s.stop = context.WithCancel(context.Background())
	if o.Clients != nil {
		s.unwatch = o.Clients.Watch(s.rootsChanged)
	}
	return s
}

// Close stops the server and waits until its process, connections and goroutines have
// ended. Requests in flight and later ones fail with an [*mcp.Error]. It may be called
// several times; the error is always nil.
func (s *Source) Close() error {
	s.enter(closing)
	s.unwatch()
	s.stop()
	s.work.Wait()
	s.enter(closed)
	s.releaseEndpoint()
	s.opts.Roster.remove(s)
	return nil
}

// releaseEndpoint closes the idle connections, unless others may use them.
func (s *Source) releaseEndpoint() {
	e, ok := s.transport.(*Endpoint)
	if ok && !s.shared {
		e.release()
	}
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

// CallTool calls a tool of the server, and returns the unchanged bytes of its answer in
// Raw. It starts or reconnects the server if necessary. An interrupted call is sent again,
// at most twice, if the server has not received it or the tool declares readOnlyHint or
// idempotentHint. Otherwise the call may have run.
//
// The error is an [*mcp.Error]: that of the server, [mcp.UnknownTool] for a name that
// cannot be sent, [mcp.CodeToolUnavailable] if the server is not running and cannot be
// started, or [mcp.CodeToolTimeout] after Timeouts.Call. It is [mcp.ErrInputRequired] if
// the client must answer a question first, and ctx's error if that ends earlier.
func (s *Source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if !sendable(p.Name) {
		return nil, mcp.UnknownTool(p.Name)
	}
	raw, err := s.forward(ctx, &errand{
		method:      "tools/call",
		name:        p.Name,
		key:         "name",
		arguments:   p.Arguments,
		again:       s.repeatable(p.Name),
		unavailable: mcp.CodeToolUnavailable,
	})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Raw: raw}, nil
}

// ReadResource reads a resource of the server, and returns the unchanged bytes of the
// answer in Raw. It repeats an interrupted request. Errors are as in [Source.CallTool],
// with [mcp.CodeResourceNotFound] in all protocol versions,
// [mcp.CodeResourceUnavailable] and [mcp.CodeResourceTimeout].
func (s *Source) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if !sendable(p.URI) {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	raw, err := s.forward(ctx, &errand{
		method:      "resources/read",
		name:        p.URI,
		key:         "uri",
		again:       true,
		unavailable: mcp.CodeResourceUnavailable,
	})
	if err != nil {
		return nil, notFound(err, p.URI)
	}
	return &mcp.ReadResourceResult{Raw: raw}, nil
}

// sendable reports whether a name can be sent unchanged. If not, no such name exists.
func sendable(name string) bool {
	return name != "" && utf8.ValidString(name)
}

// notFound converts the one error whose code changed between versions.
func notFound(err error, uri string) error {
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeInvalidParams &&
		memberString(e.Data, "uri") == uri {
		copied := *e
		copied.Code = mcp.CodeResourceNotFound
		return &copied
	}
	return err
}

// GetPrompt gets a prompt of the server, and returns the unchanged bytes of the answer in
// Raw. It repeats an interrupted request. Errors are as in [Source.CallTool], with
// [mcp.UnknownPrompt] for a name that cannot be sent.
func (s *Source) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if !sendable(p.Name) {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	e := &errand{
		method:      "prompts/get",
		name:        p.Name,
		key:         "name",
		again:       true,
		unavailable: mcp.CodeToolUnavailable,
	}
	if len(p.Arguments) > 0 {
		e.arguments, _ = mcp.Marshal(p.Arguments) // strings can always be encoded
	}
	raw, err := s.forward(ctx, e)
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{Raw: raw}, nil
}

// Complete requests suggestions from the server. A server without completions has none,
// which is not an error. Other errors are as in [Source.CallTool].
func (s *Source) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	cat := s.catalog.Load()
	if cat != nil && !cat.Completions {
		return &mcp.CompleteResult{}, nil
	}
	params, _ := mcp.Marshal(p) // strings can always be encoded
	raw, err := s.forward(ctx, &errand{
		method:      "completion/complete",
		params:      params,
		again:       true,
		unavailable: mcp.CodeToolUnavailable,
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

// ServeMethod forwards a method of one of the server's extensions, without the _meta of
// params. It is not repeated once the server may have received it. If the server declares
// no extensions, the error is [mcp.MethodNotFound]; others are as in [Source.CallTool].
func (s *Source) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	cat := s.catalog.Load()
	if cat == nil || cat.Extensions == nil {
		return nil, mcp.MethodNotFound(method)
	}
	raw, err := s.forward(ctx, &errand{
		method:      method,
		params:      withoutMeta(params),
		unavailable: mcp.CodeToolUnavailable,
	})
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
	return t != nil && t.Annotations != nil &&
		(t.Annotations.ReadOnlyHint || t.Annotations.IdempotentHint)
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
	var redirect *redirectError
	if errors.As(err, &e) {
		return err
	}
	text := err.Error()
	switch {
	case errors.As(err, &down):
		text = fmt.Sprintf("%s cannot be %s: %v", s.subject(), down.verb, down.cause)
	case authorizationError(err) != nil:
		text = fmt.Sprintf("%s: %v", s.subject(), authorizationError(err))
	case errors.As(err, &unread):
		text = fmt.Sprintf("%s: %v", s.subject(), unread)
	case errors.As(err, &redirect):
		text = redirect.by(s.subject())
	case !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
	case ctx.Err() != nil:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		text = s.subject() + " has not answered in time"
	default:
		text = s.subject() + " was stopped or replaced while this request waited for it"
	}
	return &mcp.Error{
		Code:    code,
		Message: text,
		Cause:   err,
	}
}
