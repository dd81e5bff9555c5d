package open

import (
	"context"
	"errors"
	"maps"
	"os"
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

// fleet combines the servers of a file into one Source that follows the file. After
// begin, only one goroutine modifies it.
type fleet struct {
	*compose.Swap
	arg  string
	opts *DefinitionsOptions
	live *LiveOptions

	order   []string                  // server names in file order
	named   []string                  // all servers in the file, including those that cannot be started
	members map[string]*member        // servers being shown
	pending map[string]*member        // not started yet; each joins, or replaces a member, once it has started
	down    atomic.Pointer[[]*member] // the contents of pending, for requests
	failed  []error                   // why servers could not be tried at first
	away    []string                  // missing programs that servers need
	imports []string                  // files that the file imports
	seen    fsutil.Snap               // the file and its imports when last read

	starting startup                            // of servers started in the background
	together atomic.Pointer[mcp.Implementation] // the identity of all servers, if the file has several

	pokes   chan struct{}  // capacity 1: the servers need attention
	running sync.WaitGroup // the goroutine of run
	leaving departures
	again   <-chan os.Signal // [DefinitionsOptions.Again]
	deaf    func()           // closes again

	quit context.Context
	stop context.CancelFunc
}

var _ mcp.Source = (*fleet)(nil)

func newFleet(arg string, opts *DefinitionsOptions, l *LiveOptions) *fleet {
	f := &fleet{
		arg: arg, opts: opts, live: l,
		members: make(map[string]*member), pending: make(map[string]*member),
		pokes: make(chan struct{}, 1), deaf: func() {},
	}
	f.Swap = compose.NewSwap(f.none())
	f.quit, f.stop = context.WithCancel(context.Background())
	if opts.Again != nil {
		f.again, f.deaf = opts.Again() // subscribe now: an unhandled signal would end the process
	}
	return f
}

// begin starts the servers and shows those that have started.
func (f *fleet) begin(ctx context.Context) error {
	d, err := f.read()
	if err != nil {
		return err
	}
	for _, skipped := range d.skipped {
		f.opts.trouble(f.arg, skipped)
	}
	if err := f.follow(ctx, d, true); err != nil {
		return &Error{Arg: f.arg, Why: err.Error(), Err: err, Hint: "use --prefix collision, or rename a tool below tools"}
	}
	if len(f.members)+len(f.pending) == 0 {
		return f.nothing()
	}
	f.endStartup()
	f.running.Go(f.run)
	return nil
}

// Catalog implements [mcp.Source].
func (f *fleet) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := f.starting.catalog(ctx, f.together.Load(), f.Swap.Catalog)
	down := f.down.Load()
	if err != nil || down == nil || f.starting.joined || !lacks(mcp.RequestFrom(ctx), cat) {
		return cat, err
	}
	if !reach(ctx, *down) {
		return cat, nil
	}
	return f.starting.catalog(ctx, f.together.Load(), f.Swap.Catalog)
}

// reachTime limits how long a request for an unknown item waits for servers that failed
// to start.
const reachTime = 2 * time.Second

// reach retries servers that failed to start, as the request may be for one of their
// tools. It waits until each has joined or failed again, and reports whether any has
// joined.
func reach(ctx context.Context, down []*member) bool {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var group sync.WaitGroup
	var joined atomic.Bool
	for _, m := range down {
		server := m.server.Load()
		if server == nil || !m.up.Load() && server.State().Phase != client.Waiting {
			continue
		}
		group.Go(func() {
			if server.Reach(ctx) != nil {
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

// noteDown publishes the servers that have not joined yet, for requests.
func (f *fleet) noteDown() {
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
		select {
		case <-m.first:
		default:
			return
		}
		if m.up.Load() && m.collision == "" {
			return // about to join
		}
	}
	f.starting.end()
}

// nothing returns the error for a file without a server that can be tried.
func (f *fleet) nothing() *Error {
	if len(f.failed) == 0 {
		return &Error{Arg: f.arg, Why: "it has no servers that are enabled"}
	}
	return &Error{Arg: f.arg, Why: "none of its servers can be started", Kind: Remote, Err: errors.Join(f.failed...)}
}

// Close stops all servers and waits for them to exit.
func (f *fleet) Close() error {
	f.stop()
	f.starting.end()
	f.running.Wait()
	var all sync.WaitGroup
	for _, set := range []map[string]*member{f.members, f.pending} {
		for _, m := range set {
			all.Go(m.close)
		}
	}
	all.Wait()
	f.leaving.wait()
	f.deaf()
	return nil
}

func (f *fleet) look() fsutil.Snap { return fsutil.Snapshot(append([]string{f.arg}, f.imports...)...) }

// read reads the definitions, and watches the files that they import.
func (f *fleet) read() (*defined, error) {
	f.seen = f.look()
	d, err := readDefinitions(f.arg, f.opts.Strict)
	if err == nil && !slices.Equal(d.imports, f.imports) {
		f.imports = d.imports
		f.seen = f.look()
	}
	return d, err
}

func (f *fleet) poke() {
	select {
	case f.pokes <- struct{}{}:
	default:
	}
}

// run follows the file and the servers until the fleet is closed.
func (f *fleet) run() {
	var tick <-chan time.Time
	if f.opts.Watch > 0 {
		ticker := time.NewTicker(f.opts.Watch)
		defer ticker.Stop()
		tick = ticker.C
	}
	last := f.seen
	for {
		select {
		case <-f.quit.Done():
			return
		case <-f.again:
			last = f.look()
			f.reload()
		case <-tick:
			now := f.look()
			if now == last && (now != f.seen || f.arrived()) { // unchanged since the last tick: nothing is writing it
				f.reload()
			}
			last = now
		case <-f.pokes:
			f.attend()
		}
	}
}

// arrived reports whether a previously missing program now exists.
func (f *fleet) arrived() bool {
	return slices.ContainsFunc(f.away, func(program string) bool {
		_, err := f.opts.Resolver.LookPath(program)
		return err == nil
	})
}

// reload updates the servers from the file. If the file is invalid, the servers stay as
// they are.
func (f *fleet) reload() {
	f.away = nil
	err := barrier.Run("read "+f.arg, func() error {
		d, err := f.read()
		if err != nil {
			return err
		}
		return f.follow(f.quit, d, false)
	})
	if err != nil && f.quit.Err() == nil {
		var wrong *wrongFile
		if errors.As(err, &wrong) {
			err = wrong
		}
		f.opts.Logger.Error("the changed definitions are not used; what was served is served on", "file", f.arg, "error", err)
	}
}

// attend handles servers that have started or changed their catalogs.
func (f *fleet) attend() {
	f.mend()
	for _, name := range slices.Sorted(maps.Keys(f.pending)) {
		if m := f.pending[name]; m.up.Load() {
			f.join(m)
		}
	}
	f.endStartup()
	f.noteDown()
	if !f.opts.Lazy {
		return
	}
	for _, m := range f.members {
		server := m.server.Load()
		if server == nil || server.State().Starts == 0 {
			continue
		}
		cat, err := server.Catalog(f.quit)
		if err == nil {
			err = m.keep(cat)
		}
		if err != nil {
			f.opts.Logger.Warn("what the server offers cannot be remembered", "server", m.name, "error", err)
		}
	}
}

// join shows a server that has started. It replaces the one of the same name, if any.
func (f *fleet) join(m *member) {
	delete(f.pending, m.name)
	defer m.place()
	next := maps.Clone(f.members)
	next[m.name] = m
	if err := f.show(f.quit, next); err != nil {
		f.setAside(m, err)
		return
	}
	if old := f.members[m.name]; old != nil {
		f.retire(old, m)
		f.opts.Logger.Info("the server runs by its new definition", "server", m.name)
	}
	m.collision = ""
	m.changed.Store(false)
	f.members = next
}

// mend hides a server whose changed catalog collides with others, so that these stay
// available.
func (f *fleet) mend() {
	_, collision := f.Catalog(f.quit)
	if collision == nil || f.quit.Err() != nil {
		return
	}
	for _, changed := range []bool{true, false} { // changed servers first, from the end of the file
		for _, name := range slices.Backward(f.order) {
			m := f.members[name]
			if m == nil || m.changed.Load() != changed {
				continue
			}
			next := maps.Clone(f.members)
			delete(next, name)
			if f.show(f.quit, next) == nil {
				f.members = next
				f.setAside(m, collision)
				return
			}
		}
	}
}

// setAside makes a server wait until it no longer collides.
func (f *fleet) setAside(m *member, collision error) {
	f.pending[m.name] = m
	if why := collision.Error(); m.collision != why && f.quit.Err() == nil {
		m.collision = why
		f.opts.trouble(m.name, collision)
	}
}

// show makes clients see these servers, in file order. If two collide, it returns an
// error and changes nothing.
func (f *fleet) show(ctx context.Context, members map[string]*member) error {
	var parts []compose.Named
	for _, name := range f.order {
		if m := members[name]; m != nil {
			parts = append(parts, compose.Named{Name: name, Source: m.part})
		}
	}
	var absent []string
	for _, name := range f.named {
		if members[name] == nil {
			absent = append(absent, name)
		}
	}
	switch {
	case len(parts) == 0:
		f.Set(ctx, f.none())
		return nil
	case len(parts) == 1 && f.opts.Prefix != compose.PrefixAlways:
		f.Set(ctx, compose.Label(parts[0].Name, parts[0].Source, absent...))
		return nil
	}
	joined, err := compose.Union(ctx, parts, &compose.UnionOptions{
		Prefix: f.opts.Prefix, Server: f.server(), Absent: absent, Shared: f.shared,
	})
	if err != nil {
		return err
	}
	f.Set(ctx, joined)
	return nil
}

func (f *fleet) shared(s compose.Shared) {
	f.opts.Logger.Warn("servers offer the same resources: their URIs begin with the names of the servers",
		"uri", s.URI, "others", s.Others, "servers", s.Sources)
}

func (f *fleet) server() mcp.Implementation {
	return mcp.Implementation{Name: fileName(f.arg), Version: "1"}
}

// none returns the Source that is shown while there are no servers.
func (f *fleet) none() mcp.Source {
	none := &nobody{catalog: mcp.Catalog{Server: f.server()}}
	for _, name := range f.named {
		none.catalog.Sources = append(none.catalog.Sources, mcp.JoinedSource{Name: name, Unknown: true})
	}
	return none
}

type nobody struct {
	mcp.Unimplemented
	catalog mcp.Catalog
}

// Catalog implements [mcp.Source].
func (n *nobody) Catalog(context.Context) (*mcp.Catalog, error) { return &n.catalog, nil }
