package client

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// A request that needs another process at a limit stops an idle one, and waits for its exit. What
// exits leaves its room, which stays counted, to the first request that it helps: requests that
// arrive later, and other servers with the same [Processes], cannot take it.

// claim is a request that needs another process.
type claim struct {
	key       tenantKey
	principal string
	client    string // in [Isolated.waiting]
	granted   bool   // there is room for its process, which is counted
}

// stopSlack is how long requests wait for a process that is stopping, beyond its stop timeout.
const stopSlack = 10 * time.Second

// tenantLocked returns the process or connection for a key. To create one, it waits for room if
// another process is stopping.
func (i *Isolated) tenantLocked(ctx context.Context, key tenantKey, principal string) (*tenant, error) {
	c := &claim{key: key, principal: principal}
	defer i.withdrawLocked(c)
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
		if err := i.makeRoomLocked(c); err != nil {
			return nil, err
		}
		if c.granted {
			return i.admitLocked(ctx, c)
		}
		if err := i.awaitRoomLocked(ctx, c); err != nil {
			return nil, err
		}
	}
}

// admitLocked creates a process or connection for a granted claim.
func (i *Isolated) admitLocked(ctx context.Context, c *claim) (t *tenant, err error) {
	transport := i.Source.transport
	own := i.opts.Transport != nil
	if own {
		if transport, err = i.opts.Transport(ctx); err != nil {
			return nil, err
		}
	}
	c.granted = false // from now on the process counts
	t = i.startLocked(c.key, c.principal, transport)
	if own {
		t.owner = mcp.PrincipalFrom(ctx)
	}
	return t, nil
}

// awaitRoomLocked unlocks i until a claim may have been granted, or has to stop another process. It
// returns an error if ctx is done first, or if too many requests wait.
func (i *Isolated) awaitRoomLocked(ctx context.Context, c *claim) error {
	if !slices.Contains(i.claims, c) {
		client, err := i.waiting.enter(mcp.RequestFrom(ctx), i.Source.opts.Limits.InFlight)
		if err != nil {
			return err
		}
		c.client = client
		i.claims = append(i.claims, c)
	}
	if i.changed == nil {
		i.changed = make(chan struct{})
	}
	changed := i.changed
	i.mu.Unlock()
	defer i.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noteChangeLocked wakes the requests in awaitRoomLocked.
func (i *Isolated) noteChangeLocked() {
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
}

// withdrawLocked ends a claim, and passes on its room if it was not used.
func (i *Isolated) withdrawLocked(c *claim) {
	if n := slices.Index(i.claims, c); n >= 0 {
		i.claims = slices.Delete(i.claims, n, n+1)
		i.waiting.leave(c.client)
		i.noteChangeLocked()
	}
	if c.granted {
		c.granted = false
		i.passOnLocked()
	}
}

// passOnLocked grants the room that a process has left, and that counts in [Processes], to the first
// claim that it helps. If there is none, it no longer counts.
func (i *Isolated) passOnLocked() {
	defer i.noteChangeLocked()
	for _, c := range i.claims {
		if !c.granted && !i.closed && i.exceededLocked(c.principal) == nil {
			c.granted = true
			return
		}
	}
	if i.countsProcesses() {
		i.Source.opts.Processes.add(-1)
	}
}

// limit is a limit of a server that is exhausted.
type limit struct {
	counts func(principal string) bool // the processes that count for it
	err    error
}

// exceededLocked returns the limit of the server that does not permit another process of a principal, or nil.
func (i *Isolated) exceededLocked(principal string) *limit {
	its := func(of string) bool { return of == principal }
	if n := i.countLocked(its); principal != "" && n >= i.opts.MaxPerPrincipal {
		return &limit{its, mcp.Errorf(mcp.CodeToolBusy,
			"%d processes of this server are already running for this principal", n)}
	}
	if n := i.countLocked(every); n >= i.opts.MaxTotal {
		return &limit{every, mcp.Errorf(mcp.CodeToolBusy, "%d processes of this server are already running", n)}
	}
	return nil
}

// every counts the processes of all principals.
func every(string) bool { return true }

// makeRoomLocked grants a claim if there is room for its process. If not, a process is stopping that will
// make room, or else the error says why there is none.
func (i *Isolated) makeRoomLocked(c *claim) error {
	if c.granted {
		return nil
	}
	if full := i.exceededLocked(c.principal); full != nil {
		return i.stopOneLocked(c, full)
	}
	all := i.Source.opts.Processes
	if i.countsProcesses() && !all.reserve() {
		return i.stopOneLocked(c, &limit{every, all.errFull()})
	}
	c.granted = true
	return nil
}

// countLocked returns the number of processes that ok accepts and that may run, or for which there is room.
func (i *Isolated) countLocked(ok func(principal string) bool) (n int) {
	for _, t := range i.tenants {
		if ok(t.principal) {
			n++
		}
	}
	for t := range i.stopping {
		if ok(t.principal) {
			n++
		}
	}
	for _, c := range i.claims {
		if c.granted && ok(c.principal) {
			n++
		}
	}
	return n
}

// stopOneLocked stops the process that has been idle longest, among those that count for full, unless one is
// already stopping for the claim: one for each claim before it. It returns the error of full if there is none.
func (i *Isolated) stopOneLocked(c *claim, full *limit) error {
	before := make(map[tenantKey]struct{})
	for _, other := range i.claims {
		if other == c {
			break
		}
		if other.key == c.key {
			return nil // they share a process
		}
		if !other.granted && full.counts(other.principal) {
			before[other.key] = struct{}{}
		}
	}
	stopping := 0
	for t := range i.stopping {
		if !t.stuck && full.counts(t.principal) {
			stopping++
		}
	}
	if stopping > len(before) || i.stopIdlestLocked(full.counts) {
		return nil
	}
	return full.err
}

// stopIdlestLocked stops the process that has been idle longest, among those that ok
// accepts, and reports whether there was one.
func (i *Isolated) stopIdlestLocked(ok func(principal string) bool) bool {
	var idlest *tenant
	for _, t := range i.tenants {
		if !ok(t.principal) || t.uses > 0 || t.src.State().InFlight > 0 {
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

// stopLocked stops a process without waiting for it. The result is closed when it has stopped.
func (i *Isolated) stopLocked(t *tenant) (stopped <-chan struct{}) {
	delete(i.tenants, t.key)
	i.stopping[t] = struct{}{}
	done := make(chan struct{})
	late := time.AfterFunc(stopPatience(t.src.transport), func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		t.stuck = true
		i.noteChangeLocked()
	})
	i.work.Go(func() {
		defer close(done)
		t.unwatch()
		_ = t.src.Close() // never fails
		late.Stop()
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.stopping, t)
		i.passOnLocked()
	})
	return done
}

// stopPatience is how long a process of a transport may take to exit.
func stopPatience(t Transport) time.Duration {
	command, ok := t.(*Command)
	if !ok {
		command = &Command{}
	}
	return stopSlack + command.stopTimeout()
}
