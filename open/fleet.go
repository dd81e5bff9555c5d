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

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp/build"
)

// fleet is the servers of a file as one Source, which follows the file. After
// begin one goroutine alone changes it.
type fleet struct {
	*compose.Swap
	arg  string
	opts *DefinitionsOptions
	live *LiveOptions

	order   []string                  // of the names in the file
	named   []string                  // all servers in the file, also those that cannot be started
	members map[string]*member        // that are shown
	pending map[string]*member        // not started yet; joins, or takes a member's place, when it is
	down    atomic.Pointer[[]*member] // what pending holds, for requests
	failed  []error                   // why servers could not even be tried, at first
	away    []string                  // programs that servers need and that are not there
	seen    build.Snap                // the file as it was read last

	starting startup                            // of servers that are served in the background
	together atomic.Pointer[mcp.Implementation] // what they are, if the file has several

	pokes   chan struct{}  // of capacity 1: look at what happened to the servers
	running sync.WaitGroup // the goroutine
	leaving departures
	again   <-chan os.Signal // [DefinitionsOptions.Again]
	deaf    func()           // ends it

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
		f.again, f.deaf = opts.Again() // from now on: a signal that nobody expects ends the process
	}
	return f
}

// begin starts the servers and shows those that are there.
func (f *fleet) begin(ctx context.Context) error {
	f.seen = f.look()
	d, err := readDefinitions(f.arg, f.opts.Strict)
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

// reachTime is how long a request for something that no server offers waits for
// servers that have failed to start.
const reachTime = 2 * time.Second

// reach retries servers that failed to start, as a request may be for a tool of theirs.
// It waits until each has joined or failed again, and reports whether one has joined.
func reach(ctx context.Context, down []*member) bool {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var group sync.WaitGroup
	var joined atomic.Bool
	for _, m := range down {
		server := m.server.Load()
		if server == nil || !m.up.Load() && server.State().Phase != live.Waiting {
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

// endStartup ends the waiting for servers if each has joined or failed once.
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

// nothing is the error of a file none of whose servers can be tried.
func (f *fleet) nothing() *Error {
	if len(f.failed) == 0 {
		return &Error{Arg: f.arg, Why: "it has no servers that are enabled"}
	}
	return &Error{Arg: f.arg, Why: "none of its servers can be started", Kind: Remote, Err: errors.Join(f.failed...)}
}

// Close ends all servers and waits for that.
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

func (f *fleet) look() build.Snap { return build.Snapshot([]string{f.arg}) }

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
			if now == last && (now != f.seen || f.arrived()) { // nobody is writing it at the moment
				f.reload()
			}
			last = now
		case <-f.pokes:
			f.attend()
		}
	}
}

// arrived reports whether a program is there now for want of which a server was
// left out.
func (f *fleet) arrived() bool {
	return slices.ContainsFunc(f.away, func(program string) bool {
		_, err := f.opts.Resolver.LookPath(program)
		return err == nil
	})
}

// reload has the servers follow what the file says now. What makes no sense is
// not followed.
func (f *fleet) reload() {
	f.seen, f.away = f.look(), nil
	err := barrier.Run("read "+f.arg, func() error {
		d, err := readDefinitions(f.arg, f.opts.Strict)
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

// attend sees to servers that have been started or offer something else.
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

// join shows a server that was waited for, in the place of the one that has its
// name, if there is one.
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

// mend leaves out a server that has come to offer what collides with what others
// do, so that they are served on.
func (f *fleet) mend() {
	_, collision := f.Catalog(f.quit)
	if collision == nil || f.quit.Err() != nil {
		return
	}
	for _, changed := range []bool{true, false} { // whoever came last goes first
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

// setAside has a server wait until it collides with no other any more.
func (f *fleet) setAside(m *member, collision error) {
	f.pending[m.name] = m
	if why := collision.Error(); m.collision != why && f.quit.Err() == nil {
		m.collision = why
		f.opts.trouble(m.name, collision)
	}
}

// show has clients see these servers, in the order of the file. An error is that
// two of them collide, and leaves what was shown.
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

// none is what is shown as long as there is no server.
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
