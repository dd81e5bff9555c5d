package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Clients lets a Source reach the clients of its [Server] outside of their requests. Pass
// the same value to [Options.Clients] and to the Source; the zero value is ready to
// use. It is safe for concurrent use.
type Clients struct {
	// Single means that the server has a single client, as with [Server.ServeStdio], so that
	// questions of a Source outside of a request are for that client. Set it before use.
	Single bool

	known atomic.Bool // only is set

	mu      sync.Mutex
	only    mcp.Session
	arrived chan struct{} // closed when only is set; nil until a caller waits

	watchers registry[*byte, func(ClientEvent)]
}

// ClientEvent is a change of one client, for [Clients.Watch].
type ClientEvent struct {
	Session mcp.Session
	// RootsChanged: the client has sent notifications/roots/list_changed.
	RootsChanged bool
	// Ended: the session has ended.
	Ended bool
	// Stopping, if not nil, is where a watcher adds the goroutines that stop what it has started for
	// the session that has ended, because another server waits for that to continue the session.
	Stopping *sync.WaitGroup
}

// Only returns the single client, and waits until it is ready: up to 2025-11-25 when it
// has sent notifications/initialized, in 2026-07-28 with its first request, in which case
// [mcp.Session.Version] is 0. Without Single, and if c is nil, it immediately returns nil.
// The only possible error is that of ctx.
func (c *Clients) Only(ctx context.Context) (mcp.Session, error) {
	if c == nil || !c.Single {
		return nil, nil
	}
	c.mu.Lock()
	if c.only != nil {
		defer c.mu.Unlock()
		return c.only, nil
	}
	if c.arrived == nil {
		c.arrived = make(chan struct{})
	}
	arrived := c.arrived
	c.mu.Unlock()
	select {
	case <-arrived:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.only, nil
}

// Watch calls f for each event until stop is called. f runs on the goroutine of the
// client's message: it must be quick, and must not wait for the client.
func (c *Clients) Watch(f func(ClientEvent)) (stop func()) {
	key := new(byte)
	c.watchers.add(key, f)
	return func() { c.watchers.remove(key) }
}

// begin records that a client may be asked from now on. The first client counts.
func (c *Clients) begin(s *session) {
	if c == nil || !c.Single || c.known.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.only != nil {
		return
	}
	c.only = s
	c.known.Store(true)
	if c.arrived != nil {
		close(c.arrived)
	}
}

// notify calls all watchers, on the goroutine of the message. c may be nil.
func (c *Clients) notify(e ClientEvent) {
	if c == nil || e.Session == nil {
		return
	}
	for _, f := range c.watchers.all() {
		f(e)
	}
}
