package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// state is the state of a member:
//
//	state     event                                       next
//	starting  started, or its catalog is cached           ready
//	starting  failed, or is no longer waited for          late
//	late      started                                     ready
//	ready     clients see it                              shown
//	ready     its names collide with those of others      aside
//	aside     clients see it, as another one has changed  shown
//	shown     its catalog changed                         changed
//	changed   the others were joined with the change      shown
//	shown     another one's change collides with it       aside
//	changed   the change collides with others             aside
//
// Other events do not change the state. A member is pending in the states up to aside; it
// may have a predecessor of the same name that is still shown. It leaves the fleet
// from any state.
type state int

const (
	starting state = iota
	late
	ready
	aside
	shown
	changed
)

// event is a reason for a member to change its state.
type event int

const (
	hasStarted event = iota
	isDelayed
	isShown
	collides
	hasChanged
)

// nextState is the table in the comment on state.
func nextState(s state, e event) (next state, ok bool) {
	switch {
	case e == hasStarted && s <= late:
		return ready, true
	case e == isDelayed && s == starting:
		return late, true
	case e == isShown && s != shown:
		return shown, true
	case e == collides && s >= ready:
		return aside, true
	case e == hasChanged && s == shown:
		return changed, true
	}
	return s, false
}

// member is one server of a fleet.
type member struct {
	// name is that of the server in the file.
	name  string
	print [sha256.Size]byte // of its definition and secrets
	// part is what the union shows: its calls can be drained when it is replaced.
	part   *compose.Retirable
	opened *stax.Opened
	server *client.Source // opened, without the layers of its definition
	// cache stores the catalog on disk, so that a lazy server need not start to be listed.
	cache *catalogCache
	// limited is part with the tool lists of a definition that cannot replace it yet, or nil.
	limited mcp.Source
	// inherited lists resources that clients had subscribed to on the server it replaced.
	// It is set before the member itself is retired.
	inherited []string
	collision string      // the reported reason it is set aside
	slow      *time.Timer // reports a slow start, or nil
	// startedToList: it was started only to fetch its catalog, and may stop then.
	startedToList bool

	mu     sync.Mutex
	state  state
	tried  chan struct{} // closed when the state is no longer starting
	placed chan struct{} // closed when it is first shown or set aside
}

// handle changes the state as e requires, and reports whether it did.
func (m *member) handle(e event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, ok := nextState(m.state, e)
	if !ok {
		return false
	}
	if m.state == starting {
		close(m.tried)
	}
	if m.state <= ready && next >= aside {
		close(m.placed)
	}
	m.state = next
	return true
}

func (m *member) current() state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// source returns what clients see of the server.
func (m *member) source() mcp.Source {
	if m.limited != nil {
		return m.limited
	}
	return m.part
}

// limit returns the server without the tools that the lists of s exclude, or nil if they exclude none. Tools
// that it offers later are excluded as well if they are not on them.
func (m *member) limit(ctx context.Context, s *stax.Server) (mcp.Source, error) {
	if s.EnabledTools == nil && len(s.DisabledTools) == 0 || m.opened.PerCaller() {
		return nil, nil
	}
	cat, err := m.part.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	allowed := []string{} // nil would be all
	for i := range cat.Tools {
		t := &cat.Tools[i]
		own := t.Name
		if len(t.Origins) > 0 {
			own = t.Origins[0].Name
		}
		if !slices.Contains(s.DisabledTools, own) && (s.EnabledTools == nil || slices.Contains(s.EnabledTools, own)) {
			allowed = append(allowed, t.Name)
		}
	}
	return compose.Edit(m.part, &compose.Edits{Enabled: allowed})
}

// launch opens a server without waiting for it. old is the one it will replace, or nil.
func (f *fleet) launch(
	ctx context.Context, r *stax.Resolver, target *stax.Target, s *stax.Server, old *member,
) (*member, error) {
	m := &member{
		name:   s.Name,
		print:  target.Fingerprint(),
		cache:  &catalogCache{},
		tried:  make(chan struct{}),
		placed: make(chan struct{}),
	}
	o := *f.opts.Client
	o.Name, o.Optional, o.Observe = s.Name, true, f.observe(m)
	if old != nil {
		o.Previous.Source = old.server
	}
	if !s.Remote() {
		o.Timeouts.Idle = f.opts.Idle.Stop
	}
	if o.Lazy = f.opts.Idle.Lazy; o.Lazy {
		m.cache = cacheOf(f.opts.Idle.CacheDir, s)
		o.Previous.Catalog = m.cache.load()
		m.startedToList = o.Previous.Catalog == nil
	}
	if o.Previous.Catalog != nil {
		m.handle(hasStarted)
	}
	m.slow = f.reportSlowStart(m, time.Duration(s.ConnectTimeoutMS)*time.Millisecond)
	var err error
	m.opened, err = r.OpenTarget(ctx, target, &stax.OpenOptions{
		Live:   &o,
		Stderr: f.opts.Stderr(s.Name),
	})
	if err != nil {
		m.stopSlowReport()
		return nil, err
	}
	m.server, m.part = m.opened.Live(), compose.NewRetirable(m.opened)
	if m.opened.PerCaller() {
		m.stopSlowReport()
		m.handle(hasStarted)
	}
	if m.startedToList {
		_, _ = m.opened.Catalog(ctx) // starts it; observe handles the outcome
	}
	return m, nil
}

// reportSlowStart reports a server whose first start is slow, and lets the others be
// served without it. limit is when its start fails, or 0 if its definition sets no limit.
// If it is the only server, requests keep waiting for the outcome of its start.
func (f *fleet) reportSlowStart(m *member, limit time.Duration) *time.Timer {
	after := f.opts.Startup.Settle
	if f.opts.Startup.Background {
		after = slowStart
	}
	switch {
	case !f.starting.alone:
		if limit > 0 {
			after = min(after, limit)
		}
		return time.AfterFunc(after, func() {
			f.delay(m, errors.New("it has not started yet, and is no longer waited for"))
		})
	case limit > 0 && limit <= after:
		return nil // the failure itself will be reported
	}
	return time.AfterFunc(after, func() {
		if m.current() == starting {
			f.opts.reportUnavailable(m.name,
				errors.New("it has not started yet; requests still wait for it"))
		}
	})
}

// delay reports why a server has not started, and lets the others be served without it.
func (f *fleet) delay(m *member, why error) {
	if m.current() == starting {
		f.opts.reportUnavailable(m.name, why) // before Open returns
		m.handle(isDelayed)
		f.wake()
	}
}

// observe returns a callback for the events of a server. The callback does not block.
func (f *fleet) observe(m *member) func(client.Event) {
	return func(e client.Event) {
		if f.opts.Client.Observe != nil {
			f.opts.Client.Observe(e)
		}
		switch e.What {
		case client.EventStarted:
			m.handle(hasStarted)
			f.wake()
		case client.EventChanged:
			m.handle(hasChanged)
			f.wake()
		case client.EventFailed:
			f.delay(m, e.Err)
		}
	}
}

func (m *member) stopSlowReport() {
	if m.slow != nil {
		m.slow.Stop()
	}
}

// close stops a server.
func (m *member) close() {
	m.stopSlowReport()
	_ = m.opened.Close() // no caller is left to receive an error
}

// saveCatalog caches the catalog of the server. If it was started only for that, it may
// stop then.
func (m *member) saveCatalog(ctx context.Context) error {
	err := m.cache.save(ctx, m.server)
	if m.startedToList && m.server.State().Starts > 0 {
		m.startedToList = false
		m.server.Rest()
	}
	return err
}

// finish waits until no call is in flight, or ctx ends.
func (m *member) finish(ctx context.Context) {
	select {
	case <-m.part.Retire():
	case <-ctx.Done():
		return
	}
	// A call whose client is answering an input request is in flight only in the server.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for m.server.State().InFlight > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
