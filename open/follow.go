package open

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// plan lists the changes that make the servers match a file.
type plan struct {
	order  []string
	keep   map[string]bool    // members that stay unchanged
	wait   map[string]bool    // pending ones that are still wanted
	fresh  map[string]*member // newly opened
	gone   []string           // members that were removed or disabled
	out    map[string]error   // servers that cannot be opened
	away   []string           // missing programs that they need
	counts struct{ added, changed int }
}

// follow updates the servers to match a file. Removed servers disappear from the lists at
// once; new ones are started, and shown once each has been started or has failed. A
// changed server keeps running until its replacement has started. If servers collide,
// follow returns an error and restores the previous state.
func (f *fleet) follow(ctx context.Context, d *defined, first bool) error {
	before, order, named := f.members, f.order, f.named
	if first {
		f.starting.alone = f.alone(d)
	}
	p := f.plan(ctx, d)
	f.named = d.names()
	f.order = p.order
	if server := f.server(); first && len(f.order) > 1 {
		f.together.Store(&server)
	}
	for _, name := range order { // the ones that stay until they can be replaced
		if !slices.Contains(f.order, name) {
			f.order = append(f.order, name)
		}
	}
	if len(p.gone) > 0 {
		f.members = maps.Clone(before)
		for _, name := range p.gone {
			delete(f.members, name)
		}
		_ = f.show(ctx, f.members) // fewer servers cannot collide
	}
	f.settle(ctx, p.fresh, first)
	next, late := maps.Clone(f.members), make(map[string]*member)
	for name, m := range p.fresh {
		if m.up.Load() {
			next[name] = m
		} else {
			late[name] = m
		}
	}
	if err := f.show(ctx, next); err != nil {
		closeAll(p.fresh)
		f.members, f.order, f.named = before, order, named
		return errors.Join(err, f.show(ctx, before))
	}
	f.settled(before, next, late, p)
	if !first {
		f.starting.end() // requests may be waiting for servers that the file no longer has
		f.opts.Logger.Info("the definitions have been read", "file", f.arg,
			"added", p.counts.added, "changed", p.counts.changed, "removed", len(p.gone))
	}
	return nil
}

// settled makes next the members and late the pending servers.
func (f *fleet) settled(before, next, late map[string]*member, p *plan) {
	f.members, f.order, f.away = next, p.order, p.away
	for _, m := range next {
		m.changed.Store(false)
	}
	for name, m := range before {
		if next[name] != m {
			f.retire(m, next[name])
		}
	}
	for name, m := range f.pending {
		if !p.wait[name] {
			delete(f.pending, name)
			f.leaving.all.Go(m.close)
		}
	}
	for name, m := range late {
		f.pending[name] = m
		if before[name] != nil {
			f.opts.Logger.Warn("the server cannot be started by its new definition; it is served by the old one until it can",
				"server", name)
		}
	}
	if f.opts.LeftOut != nil {
		for name := range p.out {
			if f.members[name] != nil || f.pending[name] != nil {
				delete(p.out, name)
			}
		}
		f.opts.LeftOut(f.arg, p.out)
	}
	f.noteDown()
	f.poke()
}

// plan compares a file with the current servers, and opens new ones.
func (f *fleet) plan(ctx context.Context, d *defined) *plan {
	f.failed = nil
	p := &plan{keep: map[string]bool{}, wait: map[string]bool{}, fresh: map[string]*member{}, out: map[string]error{}}
	resolver, forget := remembering(d.resolver(f.opts.Resolver))
	defer forget()
	for i := range d.merged.Config.Servers {
		s := &d.merged.Config.Servers[i]
		if s.Disabled() && !resolver.Disabled {
			continue
		}
		if len(p.order) == f.opts.MaxServers {
			f.leaveOut(p, s.Name, fmt.Errorf("it is left out: the file has more than %d servers", f.opts.MaxServers))
			continue
		}
		p.order = append(p.order, s.Name)
		err := d.wrong[s.Name]
		if err == nil {
			err = f.planOne(ctx, p, resolver, d.merged, s)
		}
		if err != nil {
			if _, missing := resolver.LookPath(s.Command); missing != nil && !s.Remote() {
				p.away = append(p.away, s.Command)
			}
			f.leaveOut(p, s.Name, err)
			p.keep[s.Name], p.wait[s.Name] = true, true // keep it in its previous state, if it has one
		}
	}
	for name := range f.members {
		if !p.keep[name] && p.fresh[name] == nil && !p.wait[name] {
			p.gone = append(p.gone, name)
		}
	}
	slices.Sort(p.gone)
	return p
}

// planOne plans the change for one server.
func (f *fleet) planOne(ctx context.Context, p *plan, r *stax.Resolver, merged *stax.Merged, s *stax.Server) error {
	print, err := fingerprintOf(ctx, r, merged, s)
	if err != nil {
		return err
	}
	old, late := f.members[s.Name], f.pending[s.Name]
	switch {
	case old != nil && old.print == print:
		p.keep[s.Name] = true
		return nil
	case late != nil && late.print == print:
		p.wait[s.Name] = true
		return nil
	}
	m, err := f.start(ctx, r, merged, s, print, old)
	if err != nil {
		return err
	}
	p.fresh[s.Name] = m
	if old == nil {
		p.counts.added++
	} else {
		p.counts.changed++
	}
	return nil
}

func (f *fleet) leaveOut(p *plan, name string, err error) {
	f.failed = append(f.failed, err)
	if inner := errors.Unwrap(err); inner != nil && err.Error() == fmt.Sprintf("server %q: %v", name, inner) {
		err = inner // the callback receives the name separately
	}
	p.out[name] = err
	if f.members[name] != nil {
		err = fmt.Errorf("%w; it is served as it was", err)
	}
	f.opts.trouble(name, err)
}

// settle waits until each server has been started or has failed; initially no longer than
// StartWait if servers start in the background.
func (f *fleet) settle(ctx context.Context, fresh map[string]*member, first bool) {
	patience := f.opts.Settle
	if first && f.opts.Background {
		f.starting.joined = f.opts.joined
		f.starting.begin(patience)
		patience = min(patience, f.opts.StartWait)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for _, m := range fresh {
		select {
		case <-m.first:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// alone reports whether a file has a single server, so that requests wait for its start
// without any other limit.
func (f *fleet) alone(d *defined) bool {
	enabled := 0
	for i := range d.merged.Config.Servers {
		if !d.merged.Config.Servers[i].Disabled() || f.opts.Resolver.Disabled {
			enabled++
		}
	}
	return enabled == 1 && f.opts.Background && !f.opts.joined && !f.opts.settles
}

func closeAll(members map[string]*member) {
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(m.close)
	}
	all.Wait()
}

// maxLeaving limits the number of retired servers that may still finish their calls;
// beyond that, the oldest is stopped.
const maxLeaving = 100

// departures are retired servers with calls in flight. Only one goroutine adds to them.
type departures struct {
	all     sync.WaitGroup
	current []*departure
}

type departure struct {
	hurry context.CancelFunc
	done  chan struct{}
}

func (d *departures) wait() { d.all.Wait() }

// retire stops a server that is no longer shown once its calls have ended. to is its
// replacement, or nil.
func (f *fleet) retire(m, to *member) {
	if to != nil {
		to.inherited = slices.Concat(m.inherited, m.subscribed())
	}
	ctx, hurry := context.WithTimeout(f.quit, f.opts.Drain)
	l := &f.leaving
	l.current = slices.DeleteFunc(l.current, func(d *departure) bool {
		select {
		case <-d.done:
			return true
		default:
			return false
		}
	})
	if len(l.current) >= maxLeaving {
		l.current[0].hurry()
		l.current = l.current[1:]
	}
	d := &departure{hurry: hurry, done: make(chan struct{})}
	l.current = append(l.current, d)
	l.all.Go(func() {
		defer close(d.done)
		defer hurry()
		defer m.close()
		f.handOver(ctx, m, to)
		m.finish(ctx)
		f.handOver(ctx, m, to) // subscriptions made in the meantime
	})
}

// handOver subscribes the replacement of a server to the resources that clients had
// subscribed to on the old one.
func (f *fleet) handOver(ctx context.Context, from, to *member) {
	if to == nil {
		return
	}
	known := to.subscribed()
	for _, uri := range slices.Concat(from.inherited, from.subscribed()) {
		if ctx.Err() != nil {
			return
		}
		if _, already := slices.BinarySearch(known, uri); already {
			continue
		}
		if err := to.part.Subscribe(ctx, uri); err == nil {
			f.TellOf(to.name, mcp.Change{URI: uri}) // it may have changed in the meantime
		}
	}
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
	for !m.idle() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
