package fleet

import (
	"cmp"
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
	order   []string
	stays   map[*member]bool   // shown or pending ones that stay as they are
	fresh   map[string]*member // newly opened
	gone    []string           // members that were removed or disabled
	skipped map[string]error   // servers that cannot be opened
	failed  []error            // the reasons, including the names
	missing []string           // programs that they need
	changed int                // fresh ones with a predecessor
}

// update makes the servers match a file. Removed servers disappear from the lists at once;
// new ones are started, and shown once each has been started or has failed. A changed
// server keeps running until its replacement has started. If servers collide, update
// returns an error and restores the previous state.
func (f *fleet) update(ctx context.Context, d *Definitions, first bool) (*plan, error) {
	before := f.members
	order := f.order
	names := f.names
	if first {
		f.starting.alone = f.isAlone(d)
	}
	p := f.plan(ctx, d)
	f.names = d.names()
	f.order = p.order
	server := f.implementation()
	if first && len(f.order) > 1 {
		f.identity.Store(&server)
	}
	for _, name := range order { // the ones that stay until they can be replaced
		if !slices.Contains(f.order, name) {
			f.order = append(f.order, name)
		}
	}
	undo, limited := f.limitReplaced(ctx, d, p)
	if len(p.gone) > 0 || limited {
		f.members = maps.Clone(before)
		for _, name := range p.gone {
			delete(f.members, name)
		}
		_ = f.show(ctx, f.members) // fewer servers and tools cannot collide
	}
	f.awaitStarts(ctx, p.fresh, first)
	next := maps.Clone(f.members)
	late := make(map[string]*member)
	for name, m := range p.fresh {
		if m.current() >= ready {
			next[name] = m
		} else {
			late[name] = m
		}
	}
	if err := f.show(ctx, next); err != nil {
		closeAll(p.fresh)
		undo()
		f.members = before
		f.order = order
		f.names = names
		return nil, errors.Join(err, f.show(ctx, before))
	}
	f.adopt(before, next, late, p)
	if !first {
		// Requests may be waiting for servers that the file no longer has.
		f.starting.endPhase()
		f.opts.Logger.Info("definitions reloaded", "file", f.file,
			"added", len(p.fresh)-p.changed, "changed", p.changed, "removed", len(p.gone))
	}
	return p, nil
}

// limitReplaced applies the tool lists of changed definitions to the servers that they cannot replace yet, or
// perhaps never, and reports whether that changes any. Otherwise a tool that a definition disables would be
// offered for as long as its server does not start.
func (f *fleet) limitReplaced(ctx context.Context, d *Definitions, p *plan) (undo func(), any bool) {
	was := make(map[*member]mcp.Source)
	for name, m := range f.members {
		was[m] = m.limited
		m.limited = nil
		if d.Invalid[name] == nil && (p.fresh[name] != nil || p.skipped[name] != nil) {
			limited, err := m.limit(ctx, d.Merged.Config.Server(name))
			if err != nil { // its catalog is not available, and neither are its tools
				limited = was[m]
			}
			m.limited = limited
		}
		any = any || m.limited != nil || was[m] != nil
	}
	return func() {
		for m, limited := range was {
			m.limited = limited
		}
	}, any
}

// adopt makes next the members and late the pending servers.
func (f *fleet) adopt(before, next, late map[string]*member, p *plan) {
	f.members = next
	f.order = p.order
	f.missing = p.missing
	for _, m := range next {
		m.handle(isShown)
	}
	for name, m := range before {
		if next[name] != m {
			f.retire(m, next[name])
		}
	}
	for name, m := range f.pending {
		if !p.stays[m] {
			delete(f.pending, name)
			f.departures.all.Go(m.close)
		}
	}
	for name, m := range late {
		f.pending[name] = m
		if before[name] != nil {
			f.opts.Logger.Warn("server cannot be started by its new definition, keeping the old one until it can", "server",
				name)
		}
	}
	maps.DeleteFunc(p.skipped, func(name string, _ error) bool {
		return f.members[name] != nil || f.pending[name] != nil
	})
	f.opts.Client.Roster.LeftOut(f.file, p.skipped)
	f.publishPending()
	f.wake()
}

// plan compares a file with the current servers, and opens new ones.
func (f *fleet) plan(ctx context.Context, d *Definitions) *plan {
	p := &plan{
		stays:   map[*member]bool{},
		fresh:   map[string]*member{},
		skipped: map[string]error{},
	}
	resolver := d.resolver(f.opts.Resolver)
	for i := range d.Merged.Config.Servers {
		s := &d.Merged.Config.Servers[i]
		switch {
		case s.Disabled() && !resolver.Disabled:
		case len(p.order) == f.opts.MaxServers:
			f.skip(p, s.Name,
				fmt.Errorf("it is skipped: the file has more than %d servers", f.opts.MaxServers))
		default:
			p.order = append(p.order, s.Name)
		}
	}
	valid := slices.DeleteFunc(slices.Clone(p.order), func(name string) bool {
		return d.Invalid[name] != nil
	})
	targets, errs := resolver.ResolveAll(ctx, d.Merged, valid)
	for _, name := range p.order {
		s := d.Merged.Config.Server(name)
		err := cmp.Or(d.Invalid[name], errs[name])
		if err == nil {
			err = f.planServer(ctx, p, resolver, targets[name], s)
		}
		if err != nil {
			_, missing := resolver.LookPath(s.Command)
			if missing != nil && !s.Remote() {
				p.missing = append(p.missing, s.Command)
			}
			f.skip(p, name, err)
			p.stays[f.members[name]] = true
			p.stays[f.pending[name]] = true // in their previous states
		}
	}
	for name, m := range f.members {
		pending := f.pending[name]
		if !p.stays[m] && p.fresh[name] == nil && (pending == nil || !p.stays[pending]) {
			p.gone = append(p.gone, name)
		}
	}
	slices.Sort(p.gone)
	return p
}

// planServer plans the change for one server.
func (f *fleet) planServer(ctx context.Context, p *plan, r *stax.Resolver, target *stax.Target, s *stax.Server) error {
	print := target.Fingerprint()
	old := f.members[s.Name]
	pending := f.pending[s.Name]
	for _, m := range []*member{old, pending} {
		if m != nil && m.print == print {
			p.stays[m] = true
			return nil
		}
	}
	m, err := f.launch(ctx, r, target, s, old)
	if err != nil {
		return err
	}
	p.fresh[s.Name] = m
	if old != nil {
		p.changed++
	}
	return nil
}

// skip records and reports why a server cannot be opened.
func (f *fleet) skip(p *plan, name string, err error) {
	p.failed = append(p.failed, err)
	var server *stax.ServerError
	if errors.As(err, &server) {
		err = server.Err // the name is reported separately
	}
	p.skipped[name] = err
	if f.members[name] != nil {
		err = fmt.Errorf("%w; keeping the previous version", err)
	}
	f.opts.reportUnavailable(name, err)
}

// awaitStarts waits until each server has been started or has failed; initially no longer
// than Startup.Wait if servers start in the background.
func (f *fleet) awaitStarts(ctx context.Context, fresh map[string]*member, first bool) {
	start := &f.opts.Startup
	wait := start.Settle
	if first && start.Background {
		f.starting.joined = start.Joined
		f.starting.beginPhase(wait)
		wait = min(wait, start.Wait)
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for _, m := range fresh {
		select {
		case <-m.tried:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// isAlone reports whether a file has a single server, so that requests wait for its start
// without any other limit.
func (f *fleet) isAlone(d *Definitions) bool {
	enabled := 0
	for i := range d.Merged.Config.Servers {
		if !d.Merged.Config.Servers[i].Disabled() || f.opts.Resolver.Disabled {
			enabled++
		}
	}
	start := &f.opts.Startup
	return enabled == 1 && start.Background && !start.Joined && !start.settleSet
}

// closeAll closes members at the same time, because each may take seconds.
func closeAll(members map[string]*member) {
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(m.close)
	}
	all.Wait()
}
