package fleet

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
)

// fleet combines the servers of a file into one Source that follows the file. Once it is
// running, only one goroutine modifies it.
type fleet struct {
	*compose.Swap
	// file is the path of the definitions.
	file string
	opts *Options

	order   []string                  // server names in file order
	names   []string                  // all servers in the file, including those that cannot be started
	members map[string]*member        // servers being shown
	pending map[string]*member        // others; each joins, or replaces a member, once it has started
	down    atomic.Pointer[[]*member] // the contents of pending, for requests
	missing []string                  // programs that servers need
	imports []string                  // files that the file imports
	seen    fsutil.Snap               // the file and its imports when last read

	starting startup                            // of servers started in the background
	identity atomic.Pointer[mcp.Implementation] // of all servers together, if the file has several

	attention  chan struct{}  // capacity 1: the servers need attention
	running    sync.WaitGroup // the goroutine of run
	departures departures
	signals    chan os.Signal // [Reload].Signal

	quit context.Context
	stop context.CancelFunc
}

var _ mcp.Source = (*fleet)(nil)

// ErrNoServers is returned by [Open] for a file without an enabled server.
var ErrNoServers = errors.New("it has no servers that are enabled")

// UnavailableError is returned by [Open] if none of the servers can be started.
type UnavailableError struct{ Causes []error }

// Error implements the error interface.
func (e *UnavailableError) Error() string {
	return "none of its servers could be started"
}

// Unwrap returns the reasons.
func (e *UnavailableError) Unwrap() []error { return e.Causes }

// CollisionError is returned by [Open] if names of servers collide.
type CollisionError struct{ Err error }

// Error implements the error interface.
func (e *CollisionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CollisionError) Unwrap() error { return e.Err }

// Open starts all enabled servers of a definitions file and joins them: tools that share
// a name are prefixed with the name of their server. A server that cannot be started does
// not prevent the others from being served. While the Source is open, it follows changes
// of the file as opts.Reload says. If a file is invalid when it is read again, the servers
// stay as they are.
//
// The error is an [*InvalidError], [ErrNoServers], an [*UnavailableError], a
// [*CollisionError], or says why the file cannot be read. ctx bounds only the opening. The
// caller must close the Source, which implements io.Closer.
func Open(ctx context.Context, file string, opts *Options) (mcp.Source, error) {
	f := newFleet(file, opts.withDefaults())
	if err := f.start(ctx); err != nil {
		_ = f.Close() // another error is returned already
		return nil, err
	}
	return f, nil
}

// newFleet returns a fleet that shows nothing yet.
func newFleet(file string, opts *Options) *fleet {
	f := &fleet{
		file:      file,
		opts:      opts,
		members:   make(map[string]*member),
		pending:   make(map[string]*member),
		attention: make(chan struct{}, 1),
		signals:   make(chan os.Signal, 1),
	}
	f.Swap = compose.NewSwap(f.emptySource())
	f.quit, f.stop = context.WithCancel(context.Background())
	if opts.Reload.Signal != nil {
		// now: an unhandled signal would end the process
		signal.Notify(f.signals, opts.Reload.Signal)
	}
	return f
}

// start starts the servers and shows those that have started.
func (f *fleet) start(ctx context.Context) error {
	d, err := f.read()
	if err != nil {
		return err
	}
	for _, skipped := range d.Skipped {
		f.opts.reportUnavailable(f.file, skipped)
	}
	p, err := f.update(ctx, d, true)
	if err != nil {
		return &CollisionError{err}
	}
	if len(f.members)+len(f.pending) == 0 {
		if len(p.failed) == 0 {
			return ErrNoServers
		}
		return &UnavailableError{p.failed}
	}
	f.endStartup()
	f.running.Go(f.run)
	return nil
}

// Catalog implements [mcp.Source].
func (f *fleet) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := f.starting.catalog(ctx, f.identity.Load(), f.Swap.Catalog)
	down := f.down.Load()
	if err != nil || down == nil || f.starting.joined || !lacks(mcp.RequestFrom(ctx), cat) {
		return cat, err
	}
	if !retryDown(ctx, *down) {
		return cat, nil
	}
	return f.starting.catalog(ctx, f.identity.Load(), f.Swap.Catalog)
}

// reachTime limits how long a request for an unknown item waits for servers that failed
// to start.
const reachTime = 2 * time.Second

// retryDown retries servers that failed to start, as the request may be for one of their
// tools. It waits until each has joined or failed again, and reports whether any has
// joined.
func retryDown(ctx context.Context, down []*member) bool {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var group sync.WaitGroup
	var joined atomic.Bool
	for _, m := range down {
		if m.current() < ready && m.server.State().Phase != client.Waiting {
			continue
		}
		group.Go(func() {
			if m.server.Reach(ctx) != nil {
				return
			}
			select {
			case <-m.placed:
				joined.Store(true)
			case <-ctx.Done():
			}
		})
	}
	group.Wait()
	return joined.Load()
}

// publishPending publishes the servers that have not joined yet, for requests.
func (f *fleet) publishPending() {
	if len(f.pending) == 0 {
		f.down.Store(nil)
		return
	}
	down := slices.Collect(maps.Values(f.pending))
	f.down.Store(&down)
}

// endStartup ends the startup wait once each server has joined or failed.
func (f *fleet) endStartup() {
	for _, m := range f.pending {
		if s := m.current(); s == starting || s == ready { // ready: about to join
			return
		}
	}
	f.starting.endPhase()
}

// Close stops all servers and waits for them to exit.
func (f *fleet) Close() error {
	f.stop()
	f.starting.endPhase()
	f.running.Wait()
	var all sync.WaitGroup
	for _, set := range []map[string]*member{f.members, f.pending} {
		for _, m := range set {
			all.Go(m.close)
		}
	}
	all.Wait()
	f.departures.all.Wait()
	signal.Stop(f.signals)
	return nil
}

func (f *fleet) snapshot() fsutil.Snap {
	return fsutil.Snapshot(append([]string{f.file}, f.imports...)...)
}

// read reads the definitions, and watches the files that they import.
func (f *fleet) read() (*Definitions, error) {
	var d *Definitions
	var err error
	for range 2 {
		f.seen = f.snapshot()
		d, err = read(f.file, f.opts)
		if err != nil || slices.Equal(d.Imports, f.imports) {
			break
		}
		// The snapshot does not cover these imports, which may have changed since they were read. If the
		// second attempt finds others again, the next snapshot differs, so the file is read again then.
		f.imports = d.Imports
	}
	return d, err
}

// wake makes run attend to the servers.
func (f *fleet) wake() {
	select {
	case f.attention <- struct{}{}:
	default:
	}
}

// run follows the file and the servers until the fleet is closed.
func (f *fleet) run() {
	var tick <-chan time.Time
	if f.opts.Reload.Watch > 0 {
		ticker := time.NewTicker(f.opts.Reload.Watch)
		defer ticker.Stop()
		tick = ticker.C
	}
	last := f.seen
	for {
		select {
		case <-f.quit.Done():
			return
		case <-f.signals:
			last = f.snapshot()
			f.reload()
		case <-tick:
			now := f.snapshot()
			// Unchanged since the last tick: nothing is writing it.
			if now == last && (now != f.seen || f.programArrived()) {
				f.reload()
			}
			last = now
		case <-f.attention:
			f.attend()
		}
	}
}

// programArrived reports whether a previously missing program now exists.
func (f *fleet) programArrived() bool {
	return slices.ContainsFunc(f.missing, func(program string) bool {
		_, err := f.opts.Resolver.LookPath(program)
		return err == nil
	})
}

// reload updates the servers from the file. If the file is invalid, the servers stay as
// they are.
func (f *fleet) reload() {
	f.missing = nil
	err := barrier.Run("read "+f.file, func() error {
		d, err := f.read()
		if err == nil {
			_, err = f.update(f.quit, d, false)
		}
		return err
	})
	if err != nil && f.quit.Err() == nil {
		f.opts.Logger.Error("new definitions rejected; keeping the previous ones",
			"file", f.file, "error", err)
	}
}

// attend handles servers that have started or changed their catalogs.
func (f *fleet) attend() {
	f.hideColliding()
	for _, name := range slices.Sorted(maps.Keys(f.pending)) {
		if m := f.pending[name]; m.current() >= ready {
			f.join(m)
		}
	}
	f.endStartup()
	f.publishPending()
	for _, m := range f.members {
		if err := m.saveCatalog(f.quit); err != nil {
			f.opts.Logger.Warn("catalog of server not cached", "server", m.name, "error", err)
		}
	}
}

// join shows a server that has started. It replaces the one of the same name, if any.
func (f *fleet) join(m *member) {
	delete(f.pending, m.name)
	next := maps.Clone(f.members)
	next[m.name] = m
	if err := f.show(f.quit, next); err != nil {
		f.setAside(m, err)
		return
	}
	if old := f.members[m.name]; old != nil {
		f.retire(old, m)
		f.opts.Logger.Info("server replaced by its new definition", "server", m.name)
	}
	m.collision = ""
	m.handle(isShown)
	f.members = next
}

// hideColliding hides the servers whose changed catalogs collide with others, so that these
// stay available.
func (f *fleet) hideColliding() {
	// Before the catalog is read, so that a later change is not taken for one that was joined.
	var joined []*member
	for _, m := range f.members {
		if m.current() == changed && m.handle(isShown) {
			joined = append(joined, m)
		}
	}
	_, collision := f.Catalog(f.quit)
	if collision == nil || f.quit.Err() != nil {
		return
	}
	for _, m := range joined {
		m.handle(hasChanged)
	}
	// Those that have not changed have precedence, and among equals those that the file lists first.
	kept := make(map[string]*member)
	collisions := make(map[*member]error)
	for _, precedence := range []state{shown, changed} {
		for _, name := range f.order {
			m := f.members[name]
			if m == nil || m.current() != precedence {
				continue
			}
			kept[name] = m
			if _, err := f.combine(f.quit, kept); err != nil {
				collisions[m] = err
				delete(kept, name)
			}
		}
	}
	if f.quit.Err() != nil || f.show(f.quit, kept) != nil {
		return
	}
	f.members = kept
	for m, err := range collisions {
		f.setAside(m, err)
	}
}

// setAside makes a server wait until it no longer collides.
func (f *fleet) setAside(m *member, collision error) {
	f.pending[m.name] = m
	m.handle(collides)
	why := collision.Error()
	if m.collision != why && f.quit.Err() == nil {
		m.collision = why
		f.opts.reportUnavailable(m.name, collision)
	}
}

// show makes clients see these servers, in file order. If two collide, it returns an
// error and changes nothing.
func (f *fleet) show(ctx context.Context, members map[string]*member) error {
	joined, err := f.combine(ctx, members)
	if err == nil {
		f.Set(ctx, joined)
	}
	return err
}

// combine returns these servers as one Source, in file order. The error is a collision.
func (f *fleet) combine(ctx context.Context, members map[string]*member) (mcp.Source, error) {
	var parts []compose.Named
	for _, name := range f.order {
		if m := members[name]; m != nil {
			parts = append(parts, compose.Named{
				Name:   name,
				Source: m.source(),
			})
		}
	}
	var absent []string
	for _, name := range f.names {
		if members[name] == nil {
			absent = append(absent, name)
		}
	}
	switch {
	case len(parts) == 0:
		return f.emptySource(), nil
	case len(parts) == 1 && f.opts.Prefix != compose.PrefixAlways:
		return compose.Label(parts[0].Name, parts[0].Source, absent...), nil
	}
	return compose.Union(ctx, parts, &compose.UnionOptions{
		Prefix: f.opts.Prefix,
		Server: f.implementation(),
		Absent: absent,
		Logger: f.opts.Logger,
	})
}

// implementation is the identity of all servers together.
func (f *fleet) implementation() mcp.Implementation {
	return mcp.Implementation{
		Name:    f.opts.Name,
		Version: "1",
	}
}

// emptySource returns the Source that is shown while there are no servers.
func (f *fleet) emptySource() mcp.Source {
	empty := &emptySource{catalog: mcp.Catalog{Server: f.implementation()}}
	for _, name := range f.names {
		empty.catalog.Sources = append(empty.catalog.Sources, mcp.JoinedSource{
			Name:    name,
			Unknown: true,
		})
	}
	return empty
}

// emptySource is a Source that offers nothing.
type emptySource struct {
	mcp.Unimplemented
	catalog mcp.Catalog
}

// Catalog implements [mcp.Source].
func (s *emptySource) Catalog(context.Context) (*mcp.Catalog, error) {
	return &s.catalog, nil
}
