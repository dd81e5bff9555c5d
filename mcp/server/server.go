package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Options configures a [Server]. Nil and the zero value use the defaults.
type Options struct {
	// Logger receives server-side failures: panics with their stack, and errors whose cause
	// must not reach the client. Nil discards them.
	Logger *slog.Logger
	// KeepSystemRole sends the prompt role "system" unchanged. No version of the
	// specification defines this role, and strict clients reject the whole prompt.
	KeepSystemRole bool
	// SessionTTL is how long an HTTP session may be idle, without a request in flight; 0 means 30 minutes.
	SessionTTL time.Duration
	// MaxSessions is the maximum number of HTTP sessions; 0 means 100,000. Budget documents
	// each client's share and what happens when the limit is reached.
	MaxSessions int
	// Budget limits all memory that is kept beyond a request.
	Budget Budget
	// ShareBudget, if not nil, is a server whose Budget, SessionTTL, MaxSessions and Tasks.Max are used instead
	// of those here. They limit both servers together, and clients have one share at both.
	ShareBudget *Server
	// StateKeys are secrets of at least 32 random bytes each. They seal state that clients
	// carry: session ids, and the requestState of 2026-07-28 between the rounds of a
	// request. The first key seals, all of them open. Give every replica the same keys;
	// without keys the server uses a random one, which other processes cannot open.
	StateKeys [][]byte
	// Replica identifies this server among those that share StateKeys, for example the
	// address at which the others can reach it. It is sealed into the ids of sessions and tasks.
	Replica string
	// Sessions, if not nil, keeps records of sessions of a source that is stateless or restartable,
	// so that another server can continue them.
	Sessions SessionRecords
	// StateTTL is how long a client may take to answer; 0 means 10 minutes.
	StateTTL time.Duration
	// Tasks configures tasks.
	Tasks TaskOptions
	// RequestTimeout limits the duration of a request, regardless of the progress it
	// reports. When it expires, the context ends with [context.DeadlineExceeded]; the answer
	// is sent when the Source returns. Tasks have their own limit. 0 means no limit.
	RequestTimeout time.Duration
	// View, if not nil, returns the part of a Source's catalog that the client of ctx
	// ([mcp.RequestFrom]) may list and use. The server still declares the capabilities of the
	// whole catalog, with the instructions and the cache hint of the view. View is called for
	// every request and must be cheap. A catalog that differs between clients must not be
	// public, see [mcp.CacheHint].
	View func(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog
	// Listed, if not nil, returns the part of that view that lists show to the client of ctx, with the
	// instructions and the cache hint for it. It is called for lists, initialize and server/discover only;
	// the Gate decides whether an item may be used. What differs between clients must not be public.
	Listed func(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog
	// Gate, if not nil, decides which requests are served.
	Gate Gate
	// Observer, if not nil, receives the server's events.
	Observer Observer
	// Tracer, if not nil, starts a span for each request, and for each request that the
	// Source makes to other servers.
	Tracer Tracer
	// Tap, if not nil, receives everything that crosses the connections to clients: every
	// message, and the heads of HTTP requests and responses.
	Tap tap.Func
	// Clients, if not nil, lets the Source reach clients outside of their requests.
	Clients *Clients
}

// Server exposes a [mcp.Source] to clients. It serves all versions of the protocol at the
// same time. It is safe for concurrent use.
type Server struct {
	source   mcp.Source
	opts     Options
	log      *slog.Logger
	hub      *hub
	tasks    taskRunner
	ledger   *ledger
	bodies   *bodies
	sessions *sessionStore
	keys     atomic.Pointer[sealKeys]
	tap      *tap.Tapper // nil without Options.Tap
	waiting  requestSet

	methodNames map[string]string // maps each name to itself

	// active counts the requests in flight.
	active inflight
	// ending is done once Shutdown has been called.
	ending context.Context
	end    context.CancelFunc
}

// TaskOptions configures the tasks of a [Server]. The zero value uses the defaults.
type TaskOptions struct {
	// Store stores the records of tasks; nil keeps them in memory, so they are lost when
	// the process exits.
	Store TaskStore
	// Max is the maximum number of running tasks; 0 means 1,000. If a client exceeds its
	// share of them, see [Budget], its oldest tasks are cancelled.
	Max int
}

// New returns a server for source. opts may be nil.
func New(source mcp.Source, opts *Options) *Server {
	s := &Server{source: source}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.SessionTTL <= 0 {
		s.opts.SessionTTL = 30 * time.Minute
	}
	if s.opts.MaxSessions <= 0 {
		s.opts.MaxSessions = 100_000
	}
	if s.opts.StateTTL <= 0 {
		s.opts.StateTTL = 10 * time.Minute
	}
	if s.opts.Tasks.Max <= 0 {
		s.opts.Tasks.Max = 1000
	}
	if with := s.opts.ShareBudget; with != nil {
		s.ledger = with.ledger
		s.bodies = with.bodies
		s.opts.Budget = with.opts.Budget
		s.opts.SessionTTL = with.opts.SessionTTL
		s.opts.MaxSessions = with.opts.MaxSessions
		s.opts.Tasks.Max = with.opts.Tasks.Max
	} else {
		s.ledger = newLedger(&s.opts)
		s.bodies = newBodies(&s.opts.Budget)
	}
	if s.opts.Tasks.Store == nil {
		s.opts.Tasks.Store = &memoryTasks{ledger: s.ledger}
	}
	s.tasks.server = s
	s.tasks.store = s.opts.Tasks.Store
	s.SetStateKeys(s.opts.StateKeys)
	s.tap = tap.New(s.opts.Tap)
	s.log = s.opts.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ending, s.end = context.WithCancel(context.Background())
	s.hub = newHub(source)
	s.sessions = newSessionStore(s.hub, s.ledger)
	s.sessions.ended = s.sessionEnded
	s.sessions.records = s.opts.Sessions
	s.methodNames = make(map[string]string, len(methods))
	for i := range methods {
		s.methodNames[methods[i].name] = methods[i].name
	}
	return s
}

// SetStateKeys replaces [Options.StateKeys] while the server runs. State sealed
// earlier can be opened as long as its key is in secrets.
func (s *Server) SetStateKeys(secrets [][]byte) {
	keys := newSealKeys(secrets)
	s.keys.Store(&keys)
}

// Source returns the source of the server.
func (s *Server) Source() mcp.Source { return s.source }

// Shutdown closes the notification streams, cancels the tasks, and waits for the
// requests in flight. If ctx ends first, it cancels them and returns ctx's error. It does
// not stop surfaces from accepting requests: stop those first, or at the same time.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end()
	endNotificationStreams(ctx, s.hub.close())
	s.tasks.close(ctx)
	err := s.active.wait(ctx)
	if err != nil {
		s.waiting.cancelAll()
	}
	return err
}

// handle answers one scanned message. Every surface calls it, and it calls the source. a
// stays empty if no answer is due. The request is finished when handle returns.
func (s *Server) handle(rc *request, a *answer) {
	switch {
	case rc.msg.response:
		if rc.session != nil {
			rc.session.answered(&rc.msg)
		}
		return
	case rc.msg.id == nil:
		s.notified(rc)
		return
	}
	s.active.begin()
	defer s.active.end()
	watched := s.opts.Observer != nil || s.opts.Tracer != nil
	if watched || s.opts.Gate != nil || s.opts.RequestTimeout > 0 {
		rc.began = time.Now()
	}
	if s.opts.RequestTimeout > 0 {
		rc.timeout = s.opts.RequestTimeout
	}
	if watched {
		s.observed(rc, a)
		return
	}
	_ = s.request(rc, a) // the answer contains the error
}

// request serves one request, writes the answer, and returns the error in it, if any. If the answer is large,
// the caller calls leave once it is written.
func (s *Server) request(rc *request, a *answer) *mcp.Error {
	err := s.serve(rc, a)
	if a.size() < leaveFrom {
		rc.leave()
	}
	var ended error // read before finish ends the context
	if err != nil {
		ended = rc.Err()
	}
	if rc.finish() || rc.outcome == OutcomeStream {
		a.buf = a.buf[:0]
		a.body = nil
		return nil
	}
	if rc.because != nil {
		err = rc.because
	}
	var e *mcp.Error
	if err != nil {
		e = s.wireError(rc, err, ended)
		a.failure(rc, e)
	}
	if full := s.reserveAnswer(rc, a, len(a.buf)); full != nil {
		e = full
	}
	if n := rc.noted.last.Load(); n != nil && n.Header != nil {
		a.addHeader(n.Header)
	}
	return e
}

// leaveFrom is the size from which an answer occupies the place of its request until it is written. The system takes
// smaller ones at once, unless the client has stopped reading.
const leaveFrom = 64 << 10

// serve finds the method and runs it. It recovers from panics of the source.
func (s *Server) serve(rc *request, a *answer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(rc, p)
		}
	}()
	if rc.version.Modern() {
		if err := rc.checkEnvelope(); err != nil {
			return err
		}
	}
	m := findMethod(rc.msg.method, rc.version)
	rc.known = m
	if rc.session != nil && rc.session.Version() == 0 &&
		(m == nil || !m.beforeInitialize()) {
		return notInitialized()
	}
	extender, _ := s.source.(mcp.Extender)
	if m == nil && extender == nil {
		return mcp.MethodNotFound(string(rc.msg.method))
	}
	cat, err := s.source.Catalog(rc)
	if err != nil {
		return err
	}
	if m != nil && m.capability != nil && !m.capability(cat) {
		return mcp.MethodNotFound(m.name)
	}
	rc.shown = cat
	if s.opts.View != nil {
		rc.shown = s.opts.View(rc, cat)
	}
	if s.opts.Listed != nil && m.lists() {
		rc.shown = s.opts.Listed(rc, rc.shown)
	}
	// initialize and server/discover declare the capabilities of the whole catalog.
	if !rc.msg.is("initialize") && !rc.msg.is("server/discover") {
		cat = rc.shown
	}
	if s.opts.Gate != nil || s.opts.Observer != nil || s.opts.Tracer != nil {
		rc.about = rc.aboutOf(cat)
	}
	if m != nil && m.name == methodListen {
		if err := rc.readListen(); err != nil {
			return err // before the gate, which decides about every URI
		}
	}
	if g := s.opts.Gate; g != nil {
		op := rc.operation(cat)
		if err := g.Enter(rc, op); err != nil {
			if m != nil && errors.Is(err, mcp.ErrInputRequired) && len(rc.rounds.open) > 0 {
				rc.outcome = OutcomeInputRequired
				return a.inputRequired(rc, cat)
			}
			return err
		}
		rc.entered = true
	}
	if err := rc.checkState(); m != nil && err != nil {
		return err // after the gate, because the check digests the arguments
	}
	if m == nil {
		return rc.extended(extender, cat, a)
	}
	rc.logging = cat.Logging
	err = m.serve(s, rc, cat, a)
	// A source rejected as busy cannot wait for answers, so it has not asked.
	if len(rc.rounds.open) > 0 && !isBusy(err) {
		rc.outcome = OutcomeInputRequired
		return a.inputRequired(rc, cat)
	}
	return err
}

// isBusy reports whether a request was rejected because a limit was reached.
func isBusy(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeToolBusy
}

// panicked logs a panic of the source with its stack, and returns the error for the
// client.
func (s *Server) panicked(rc *request, p any) *mcp.Error {
	rc.outcome = OutcomePanicked
	s.log.Error("panic while serving", "method", string(rc.msg.method), "panic", fmt.Sprint(p),
		"stack", string(debug.Stack()))
	if rc.callTool.Name != "" {
		return mcp.Errorf(mcp.CodeToolCrashed, "tool %q crashed", rc.callTool.Name)
	}
	return &mcp.Error{
		Code:    mcp.CodeInternalError,
		Message: "internal error",
	}
}

// extended serves a method outside of the protocol, if the source knows it.
func (rc *request) extended(x mcp.Extender, cat *mcp.Catalog, a *answer) error {
	r, err := x.ServeMethod(rc, string(rc.msg.method), rc.msg.params)
	if err != nil {
		return err
	}
	if r == nil || r.Result == nil {
		return errors.New("the source returned no result")
	}
	return a.result(rc, cat, r)
}

// notInitialized returns the error for a request that comes before the handshake.
func notInitialized() *mcp.Error {
	e := invalidParams("send initialize first, or _meta[%q] in every request", metaProtocolVersion)
	e.Data = supportedData("")
	return e
}

// wireError returns the error for the client and logs its cause. ended is the error of rc
// if its context had ended, or nil.
func (s *Server) wireError(rc *request, err, ended error) *mcp.Error {
	e := asError(err, rc.version, ended)
	if e.Cause != nil {
		s.log.Error("request failed", "method", string(rc.msg.method), "code",
			int(e.Code), "error", e.Cause)
	}
	return e
}

// asError returns err as the *Error for a client of version v. ended is the error of the
// request's context, or nil if it has not ended.
func asError(err error, v mcp.Version, ended error) *mcp.Error {
	var e *mcp.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.DeadlineExceeded) &&
			errors.Is(ended, context.DeadlineExceeded) {
			return &mcp.Error{
				Code:    mcp.CodeInternalError,
				Message: "the request ran out of time",
				Cause:   err,
			}
		}
		return &mcp.Error{
			Code:    mcp.CodeInternalError,
			Message: "internal error",
			Cause:   err,
		}
	}
	copied := *e
	switch {
	case e.Code == mcp.CodeResourceNotFound && v.Modern():
		copied.Code = mcp.CodeInvalidParams
	case e.Code == mcp.CodeURLElicitationRequired && v != mcp.Version20251125:
		copied.Code = mcp.CodeInternalError
		copied.Data = nil
	default:
		return e
	}
	return &copied
}

// object returns the JSON-RPC error object.
func object(e *mcp.Error) []byte {
	text, _ := e.MarshalJSON() // never fails
	return text
}

// notified handles a notification. Unknown ones are ignored.
func (s *Server) notified(rc *request) {
	if s.opts.Observer != nil {
		s.opts.Observer.Observe(rc, rc.event(EventNotification))
	}
	if rc.session == nil {
		return
	}
	switch string(rc.msg.method) {
	case "notifications/initialized":
		rc.session.setInitialized()
		if rc.session.isInitialized() {
			s.opts.Clients.begin(rc.session)
		}
	case "notifications/roots/list_changed":
		s.opts.Clients.notify(ClientEvent{
			Session:      rc.session,
			RootsChanged: true,
		})
	case "notifications/cancelled":
		if id, ok := rc.param("requestId"); ok {
			rc.session.cancel(id)
		}
	}
}

// param returns the raw JSON of a member of params that the envelope scan did not keep. A
// repeated name counts as absent.
func (rc *request) param(name string) (value []byte, ok bool) {
	if rc.msg.params == nil {
		return nil, false
	}
	_, err := jsonscan.Object(rc.msg.params, 0, 1, func(key []byte, i int) (int, error) {
		end, err := jsonscan.ValueAt(rc.msg.params, i, 2)
		if string(key) == name {
			if ok {
				return end, errors.New("given twice")
			}
			value = rc.msg.params[i:end]
			ok = true
		}
		return end, err
	})
	if err != nil {
		return nil, false
	}
	return value, ok
}

// supportedData returns the data member of errors about versions.
func supportedData(requested string) []byte {
	data := map[string]any{"supported": supportedVersions()}
	if requested != "" {
		data["requested"] = requested
	}
	encoded, _ := mcp.Marshal(data)
	return encoded
}

// checkEnvelope verifies the envelope of a 2026-07-28 request, in the order of the
// specification.
func (rc *request) checkEnvelope() *mcp.Error {
	requested, _ := jsonscan.Unquote(rc.meta.version)
	if rc.header != nil {
		if err := rc.checkVersionHeader(requested); err != nil {
			return err
		}
	}
	if requested == "" {
		return missingMeta(metaProtocolVersion, "a string")
	}
	if !jsonscan.IsObject(rc.meta.capabilities) {
		return missingMeta(metaClientCapabilities, "an object")
	}
	if v, ok := mcp.ParseVersion(requested); !ok || !v.Modern() {
		e := mcp.Errorf(mcp.CodeUnsupportedProtocolVersion,
			"unsupported protocol version %q", requested)
		e.Data = supportedData(requested)
		e.Status = 400
		return e
	}
	if rc.header != nil {
		if err := rc.checkMethodHeaders(); err != nil {
			return err
		}
	}
	if rc.meta.logLevel != nil {
		name, _ := jsonscan.Unquote(rc.meta.logLevel)
		if _, ok := mcp.ParseLogLevel(name); !ok {
			return invalidParams("_meta[%q]: unknown level", metaLogLevel)
		}
	}
	t := rc.meta.progressToken
	if t != nil && !jsonscan.IsID(t) {
		return invalidParams("_meta.progressToken must be a string or an integer")
	}
	return nil
}

// missingMeta returns the error for a 2026-07-28 request without a required member of
// _meta.
func missingMeta(key, want string) *mcp.Error {
	e := invalidParams("params._meta[%q] is required and must be %s", key, want)
	e.Data = supportedData("")
	e.Status = 400
	return e
}
