package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// IsolateBy selects which requests share a process of an [Isolated] server.
type IsolateBy string

// Isolation modes.
const (
	// BySession shares a process among the requests of one session or connection. Over
	// HTTP, a client of 2026-07-28 has no session; its requests share the process of its
	// principal.
	BySession IsolateBy = "session"
	// ByPrincipal shares a process among the requests of one principal, in all sessions.
	// Requests without a principal share one process.
	ByPrincipal IsolateBy = "principal"
)

// IsolateOptions configure [Isolate]. Zero fields mean the defaults.
type IsolateOptions struct {
	By IsolateBy // "" is [BySession]
	// MaxPerPrincipal is the maximum number of processes of one principal; 0 means 8.
	// Requests without a principal are only limited by MaxTotal.
	MaxPerPrincipal int
	// MaxTotal is the maximum number of processes; 0 means 64. At the limit, the process
	// that has been idle longest is stopped, and the request waits until it has exited; if
	// none is idle or stopping, the request is refused with [mcp.CodeToolBusy].
	MaxTotal int
	// IdleStop is the idle time after which a process is stopped; 0 means 10 minutes.
	IdleStop time.Duration
	// Transport, if not nil, returns the transport for the requests of the principal of ctx,
	// which has the credentials of that principal. By is then [ByPrincipal], principals differ by
	// issuer, subject and name, each has its own catalog, and requests without a principal are
	// refused. The transport of the Source is not used.
	Transport func(ctx context.Context) (Transport, error)
}

// Isolated is a server with a separate process, or connection, for each session or
// principal. An additional one, the Source that it was created from, provides the catalog
// and serves programs. It is safe for concurrent use.
type Isolated struct {
	*Source
	opts    IsolateOptions
	unwatch func()

	mu     sync.Mutex
	closed bool
	// tenants are the running servers, by client.
	tenants map[tenantKey]*tenant
	// stopping are servers whose processes may still run. They count for the limits, so that
	// a client that starts and ends sessions cannot have more processes than one that
	// keeps them.
	stopping map[*tenant]struct{}
	stopped  chan struct{}  // closed when one of them has stopped, or nil
	waiting  queue          // requests that wait for that
	work     sync.WaitGroup // processes being stopped
	// failures are those of [Isolated.Prepare].
	failures map[tenantKey]prepareFailure
}

// tenantKey identifies whom a process is for: a session, or else a principal.
type tenantKey struct {
	// session identifies the client, except on stateless connections, where the principal
	// does.
	session   mcp.Session
	principal string
}

// tenant is one process.
type tenant struct {
	key       tenantKey
	principal string // the principal whose limit it counts toward, or ""
	slot      int    // number in its name
	// src is the Source of this client alone.
	src     *Source
	uses    int // requests in flight
	lastUse time.Time
	unwatch func()

	owner *mcp.Principal // whom it is for, with [IsolateOptions.Transport]
	// of is the catalog of src, and shown what the client sees of it, see [Isolated.Catalog].
	of, shown *mcp.Catalog
}

var (
	_ mcp.Source     = (*Isolated)(nil)
	_ mcp.Watcher    = (*Isolated)(nil)
	_ mcp.Extender   = (*Isolated)(nil)
	_ mcp.Subscriber = (*Isolated)(nil)
)

// Isolate returns src with a separate process for each session or principal. The
// processes are started like src, on demand. They stop when their session ends, if src
// has [Options.Clients], or when they have been idle. Closing the result closes src.
func Isolate(src *Source, opts *IsolateOptions) *Isolated {
	i := &Isolated{
		Source:   src,
		tenants:  make(map[tenantKey]*tenant),
		stopping: make(map[*tenant]struct{}),
		unwatch:  func() {},
	}
	if opts != nil {
		i.opts = *opts
	}
	i.opts.By = cmp.Or(i.opts.By, BySession)
	if i.opts.Transport != nil {
		i.opts.By = ByPrincipal
	}
	i.opts.MaxPerPrincipal = cmp.Or(max(i.opts.MaxPerPrincipal, 0), 8)
	i.opts.MaxTotal = cmp.Or(max(i.opts.MaxTotal, 0), 64)
	i.opts.IdleStop = cmp.Or(max(i.opts.IdleStop, 0), 10*time.Minute)
	if clients := src.opts.Clients; clients != nil {
		i.unwatch = clients.Watch(i.sessionEnded)
	}
	src.opts.Processes.opened(i, true)
	return i
}

// CallTool implements [mcp.Source].
func (i *Isolated) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return inProcess(ctx, i, p, (*Source).CallTool)
}

// ReadResource implements [mcp.Source].
func (i *Isolated) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return inProcess(ctx, i, p, (*Source).ReadResource)
}

// GetPrompt implements [mcp.Source].
func (i *Isolated) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return inProcess(ctx, i, p, (*Source).GetPrompt)
}

// Complete implements [mcp.Source].
func (i *Isolated) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return inProcess(ctx, i, p, (*Source).Complete)
}

// inProcess calls a method of the process for a request.
func inProcess[P, R any](
	ctx context.Context, i *Isolated, params *P, method func(*Source, context.Context, *P) (*R, error),
) (*R, error) {
	src, leave, err := i.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return method(src, ctx, params)
}

// ServeMethod implements [mcp.Extender].
func (i *Isolated) ServeMethod(ctx context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	src, leave, err := i.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return src.ServeMethod(ctx, method, params)
}

// Subscribe implements [mcp.Subscriber].
func (i *Isolated) Subscribe(ctx context.Context, uri string) error {
	src, leave, err := i.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return src.Subscribe(ctx, uri)
}

// Close stops all processes and waits until they have stopped.
func (i *Isolated) Close() error {
	i.unwatch()
	i.mu.Lock()
	if !i.closed {
		i.Source.opts.Processes.opened(i, false)
	}
	i.closed = true
	for _, t := range i.tenants {
		i.stopLocked(t)
	}
	i.mu.Unlock()
	i.work.Wait()
	return i.Source.Close()
}

// enter returns the process for a request, and a function to call after the request.
func (i *Isolated) enter(ctx context.Context) (src *Source, leave func(), err error) {
	req := mcp.RequestFrom(ctx)
	if req == nil && i.opts.Transport == nil {
		return i.Source, func() {}, nil
	}
	key, principal, err := i.keyOf(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	permitted, err := i.Source.opts.Processes.permit(ctx, i)
	if err != nil {
		return nil, nil, err
	}
	src, left, err := i.enterAs(ctx, key, principal)
	if err != nil {
		permitted()
		return nil, nil, err
	}
	return src, func() {
		left()
		permitted()
	}, nil
}

// enterAs is enter for a permitted request, with the key of its process.
func (i *Isolated) enterAs(
	ctx context.Context, key tenantKey, principal string,
) (src *Source, leave func(), err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	t, err := i.tenantLocked(ctx, key, principal)
	if err != nil {
		return nil, nil, err
	}
	t.uses++
	return t.src, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		t.uses--
		t.lastUse = time.Now()
		i.dropRefusedLocked(t)
	}, nil
}

// tenantLocked returns the process or connection for a key. To create one, it waits for room if
// another process is stopping.
func (i *Isolated) tenantLocked(ctx context.Context, key tenantKey, principal string) (*tenant, error) {
	for {
		if i.closed {
			return nil, mcp.Errorf(mcp.CodeToolUnavailable, "%s was stopped or replaced", i.subject())
		}
		if t := i.tenants[key]; t != nil {
			return t, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err // perhaps because the session has ended: nothing would stop the process
		}
		switch room, err := i.makeRoomLocked(principal); {
		case err != nil:
			return nil, err
		case room:
			return i.admitLocked(ctx, key, principal)
		}
		if err := i.awaitStoppedLocked(ctx); err != nil {
			return nil, err
		}
	}
}

// awaitStoppedLocked unlocks i until a process has stopped. It returns an error if ctx is done
// first, or if too many requests wait.
func (i *Isolated) awaitStoppedLocked(ctx context.Context) error {
	client, err := i.waiting.enter(mcp.RequestFrom(ctx), i.Source.opts.Limits.InFlight)
	if err != nil {
		return err
	}
	defer i.waiting.leave(client)
	if i.stopped == nil {
		i.stopped = make(chan struct{})
	}
	stopped := i.stopped
	i.mu.Unlock()
	defer i.mu.Lock()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admitLocked creates a process or connection for a key, for which there is room.
func (i *Isolated) admitLocked(ctx context.Context, key tenantKey, principal string) (*tenant, error) {
	if i.opts.Transport == nil {
		return i.startLocked(key, principal, i.Source.transport), nil
	}
	transport, err := i.opts.Transport(ctx)
	if err != nil {
		if i.countsProcesses() {
			i.Source.opts.Processes.add(-1)
		}
		return nil, err
	}
	t := i.startLocked(key, principal, transport)
	t.owner = mcp.PrincipalFrom(ctx)
	return t, nil
}

// keyOf returns the key of the process for a request.
func (i *Isolated) keyOf(ctx context.Context, req *mcp.Request) (key tenantKey, principal string, err error) {
	p := mcp.PrincipalFrom(ctx)
	switch {
	case p != nil && i.opts.Transport != nil:
		principal = principalKey(p)
	case p != nil:
		principal = principalNamed(p.Name)
	case i.opts.Transport != nil:
		return key, "", mcp.Errorf(mcp.CodeToolDenied,
			"%s is used with the login of each caller, and this request has no caller", i.subject())
	}
	if i.opts.By == ByPrincipal {
		return tenantKey{principal: principal}, principal, nil
	}
	if s := req.Session(); s != nil {
		return tenantKey{session: s}, principal, nil
	}
	if i.Source.opts.Clients != nil && i.Source.opts.Clients.Single {
		return tenantKey{}, principal, nil
	}
	if principal == "" {
		return key, "", mcp.Errorf(mcp.CodeInvalidRequest,
			"the server runs for each session, and this request belongs to none: send initialize first, or authenticate")
	}
	return tenantKey{principal: principal}, principal, nil
}

func principalNamed(name string) string { return "principal " + name }

// runsFor reports whether a process of a principal runs; "" is that of requests without one.
func (i *Isolated) runsFor(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, t := range i.tenants {
		if t.isOf(name) {
			return true
		}
	}
	return false
}

func (t *tenant) isOf(name string) bool {
	return t.principal == principalNamed(name) || name == "" && t.principal == ""
}

// stopFor stops the processes of a principal. Each channel is closed when one has stopped.
func (i *Isolated) stopFor(name string) (stopping []<-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, t := range i.tenants {
		if t.isOf(name) && !i.closed {
			stopping = append(stopping, i.stopLocked(t))
		}
	}
	return stopping
}

// makeRoomLocked counts the process that startLocked starts, and reports whether there is room for it. If not, a
// process is stopping that will make room, or else the error says why there is none.
func (i *Isolated) makeRoomLocked(principal string) (room bool, err error) {
	all := i.Source.opts.Processes
	its := func(t *tenant) bool { return t.principal == principal }
	every := func(*tenant) bool { return true }
	if n := i.countLocked(its); principal != "" && n >= i.opts.MaxPerPrincipal {
		return false, i.stopOneLocked(its, mcp.Errorf(mcp.CodeToolBusy,
			"%d processes of this server are already running for this principal", n))
	}
	if n := i.countLocked(every); n >= i.opts.MaxTotal {
		return false, i.stopOneLocked(every, mcp.Errorf(mcp.CodeToolBusy,
			"%d processes of this server are already running", n))
	}
	if i.countsProcesses() && !all.reserve() {
		return false, i.stopOneLocked(every, all.errFull())
	}
	return true, nil
}

// countLocked returns the number of processes that ok accepts and that may run.
func (i *Isolated) countLocked(ok func(*tenant) bool) (n int) {
	for _, t := range i.tenants {
		if ok(t) {
			n++
		}
	}
	for t := range i.stopping {
		if ok(t) {
			n++
		}
	}
	return n
}

// stopOneLocked stops the process that has been idle longest, among those that ok accepts, unless one of them is
// stopping already. It returns full if there is none.
func (i *Isolated) stopOneLocked(ok func(*tenant) bool, full error) error {
	for t := range i.stopping {
		if ok(t) {
			return nil
		}
	}
	if !i.stopIdlestLocked(ok) {
		return full
	}
	return nil
}

// stopIdlestLocked stops the process that has been idle longest, among those that ok
// accepts, and reports whether there was one.
func (i *Isolated) stopIdlestLocked(ok func(*tenant) bool) bool {
	var idlest *tenant
	for _, t := range i.tenants {
		if !ok(t) || t.uses > 0 || t.src.State().InFlight > 0 {
			continue
		}
		if idlest == nil || t.lastUse.Before(idlest.lastUse) {
			idlest = t
		}
	}
	if idlest == nil {
		return false
	}
	i.stopLocked(idlest)
	return true
}

// startLocked creates a process for a key; its first request starts it.
func (i *Isolated) startLocked(key tenantKey, principal string, transport Transport) *tenant {
	t := &tenant{
		key:       key,
		principal: principal,
		slot:      i.freeSlotLocked(),
		lastUse:   time.Now(),
	}
	o := i.Source.opts
	o.Lazy = true
	o.Optional = false
	o.Previous.Catalog = i.Source.catalog.Load()
	own := i.opts.Transport != nil
	if own {
		o.Previous = Previous{}
	}
	o.Timeouts.Idle = i.opts.IdleStop
	observe := o.Observe
	o.Observe = func(e Event) {
		if e.What == EventStopped {
			i.work.Go(func() {
				i.stopIfIdle(t)
			}) // the process has exited; remove it
		}
		if observe != nil {
			observe(e)
		}
	}
	t.src = newSource(transport, &o)
	t.src.tap = i.Source.tap // streams are numbered together
	t.src.owner = key.session
	t.src.alias = fmt.Sprintf("%s (%s %d)", o.Name, i.opts.By, t.slot)
	t.src.shared = !own
	o.Roster.add(t.src)
	t.unwatch = t.src.Watch(func(c mcp.Change) {
		if own {
			i.Source.watchers.Tell(c)
		} else if c.URI != "" {
			i.Source.watchers.Tell(mcp.Change{URI: c.URI})
		}
	})
	i.tenants[key] = t
	return t
}

// freeSlotLocked returns the smallest unused number.
func (i *Isolated) freeSlotLocked() int {
	taken := make(map[int]bool, len(i.tenants))
	for _, t := range i.tenants {
		taken[t.slot] = true
	}
	slot := 1
	for taken[slot] {
		slot++
	}
	return slot
}

// stopIfIdle stops the server of a client, unless a new request has arrived.
func (i *Isolated) stopIfIdle(t *tenant) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.tenants[t.key] == t && t.uses == 0 && !i.closed {
		i.stopLocked(t)
	}
}

// sessionEnded stops the process of a session.
func (i *Isolated) sessionEnded(e server.ClientEvent) {
	if !e.Ended {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	t := i.tenants[tenantKey{session: e.Session}]
	if t == nil || i.closed {
		return
	}
	stopped := i.stopLocked(t)
	if e.Stopping != nil {
		e.Stopping.Go(func() { <-stopped })
	}
}

// stopLocked stops a process without waiting for it. The result is closed when it has stopped.
func (i *Isolated) stopLocked(t *tenant) (stopped <-chan struct{}) {
	delete(i.tenants, t.key)
	i.stopping[t] = struct{}{}
	done := make(chan struct{})
	i.work.Go(func() {
		defer close(done)
		t.unwatch()
		_ = t.src.Close() // never fails
		if i.countsProcesses() {
			i.Source.opts.Processes.add(-1)
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.stopping, t)
		if i.stopped != nil {
			close(i.stopped)
			i.stopped = nil
		}
	})
	return done
}
