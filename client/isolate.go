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
	// that has been idle longest is stopped for each request that needs another one, which
	// waits until it has exited. With no process left to stop, or to wait for, the request
	// is refused with [mcp.CodeToolBusy]. Requests do not wait for a process that has not
	// exited 10 seconds after its [Command.StopTimeout].
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
	claims   []*claim       // requests that wait for the exit of one, in order of arrival
	waiting  queue          // counts them, by client
	changed  chan struct{}  // closed when they must check again, or nil
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
	stuck   bool // it has not exited in time: requests no longer wait for it

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

// Close stops all processes and waits until they have stopped. It returns an error if some have
// not exited 10 seconds after their stop timeout; these are left to the system.
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
	i.noteChangeLocked()
	patience := stopPatience(i.Source.transport)
	for t := range i.stopping {
		patience = max(patience, stopPatience(t.src.transport))
	}
	i.mu.Unlock()
	base := make(chan struct{}) // closed when the process of the catalog has stopped
	i.work.Go(func() {          // with the others: none waits for one that does not exit
		defer close(base)
		_ = i.Source.Close() // never fails
	})
	stopped := make(chan struct{})
	go func() { // ends with the last process
		i.work.Wait()
		i.Source.releaseEndpoint() // of all
		close(stopped)
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-stopped:
		return nil
	case <-late.C:
		i.mu.Lock()
		defer i.mu.Unlock()
		n := len(i.stopping)
		if !isClosed(base) {
			n++
		}
		if n > 1 {
			return fmt.Errorf("%s: %d processes have not exited in time", i.Source.opts.Name, n)
		}
		return fmt.Errorf("%s: a process has not exited in time", i.Source.opts.Name)
	}
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
