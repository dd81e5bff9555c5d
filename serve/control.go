package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// Control replaces options of the servers that were given it as [Live.Control], while they
// run and without closing a connection. The zero value is ready for use. A Control is safe
// for concurrent use.
type Control struct {
	mu sync.Mutex
	// running are the servers of the process that follow changed options.
	running []*running
	last    *Options // the last ones that were applied
}

// running is a server that a Control can change.
type running struct {
	// source and admission are what changed options apply to.
	source    mcp.Source
	rules     *serverRules
	admission *admission
	handler   *Handler     // nil on stdio
	exposed   bool         // others can reach its address
	tls       *certificate // nil without TLS
	// drain has the options for draining, which can change until it begins.
	drain atomic.Pointer[Connections]
}

// Apply replaces these options for all requests from now on:
//
//   - Auth and RemoteWithoutAuth. Sessions and streams stay open. The next request of each
//     needs a token that the new Auth accepts, and streams without one end within 25 seconds.
//   - Limits. What clients have used counts on.
//   - PublicURL, and AllowedHosts, AllowedOrigins, MaxBody and PostOnly of HTTP. A WebSocket
//     keeps the MaxBody that it was opened with.
//   - The Features except HideAppTools. Connections of a transport that is no longer served
//     stay open until they end.
//   - The files of TLS, but neither whether there are any, nor whether there is a ClientCA.
//   - DrainDelay and DrainTimeout.
//   - Audit. The old one may get lines of requests in flight until they end.
//
// The other fields of opts, which may be nil, are ignored. If the options of one server are
// not valid, Apply returns the same errors as [Run], and no server is changed. A server that
// starts later gets the options that were applied last.
func (c *Control) Apply(ctx context.Context, opts *Options) error {
	o := opts.withDefaults()
	if err := o.Check(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	prepared := make([]func(), 0, len(c.running))
	for _, r := range c.running {
		apply, err := r.prepare(ctx, o)
		if err != nil {
			return err
		}
		prepared = append(prepared, apply)
	}
	for _, apply := range prepared {
		apply()
	}
	c.last = &o
	return nil
}

// prepare checks the options for a server, and returns a function that applies them.
func (r *running) prepare(ctx context.Context, o Options) (apply func(), err error) {
	verifies := r.tls.verifiesClients()
	if r.exposed && o.Auth == nil && !verifies && !o.RemoteWithoutAuth {
		return nil, fmt.Errorf("apply the options: %w", ErrExposed)
	}
	if o.TLS.Cert != "" && r.handler != nil && verifies != (o.TLS.ClientCA != "") {
		return nil, errors.New("apply the options: whether clients need certificates cannot change while the server runs")
	}
	if err := o.checkToolScopes(ctx, r.source); err != nil {
		return nil, err
	}
	tools := o.rules.tools.Load()
	was := r.rules.tools.Load()
	if was != nil && o.Auth != nil && was.auth.sameToolScopes(o.Auth) {
		tools = was // which knows the tools that had other names
	}
	certificate := func() {}
	if r.tls != nil && o.TLS.Cert != "" {
		if certificate, err = r.tls.prepare(o.TLS); err != nil {
			return nil, err
		}
	}
	return func() {
		certificate()
		r.drain.Store(&o.Connections)
		r.rules.tools.Store(tools)
		r.admission.policy.Store(o.policy()) // first, so that nothing new is served by the old one
		if r.handler != nil {
			r.handler.apply(&o)
			r.handler.connect.follow()
		}
	}, nil
}

// apply replaces the options of a handler.
func (h *Handler) apply(o *Options) {
	h.admission.limiter.set(o.Limits)
	o.acceptPublicHost()
	access := mcpserver.HTTPAccess{
		AllowedHosts:   o.HTTP.AllowedHosts,
		AllowedOrigins: o.HTTP.AllowedOrigins,
		MaxBody:        o.HTTP.MaxBody,
		PostOnly:       o.HTTP.PostOnly,
	}
	h.endpoint.SetAccess(access)
	h.legacy.SetAccess(access)
	h.sockets.SetAccess(access)
	next := o.surface(h.health.source)
	next.files = next.files && h.rules.given == nil
	h.surface.Store(next)
	defer h.hop.followTokens()
	for _, n := range h.endpoints {
		n.apply(o)
		n.http.SetAccess(access)
		if n.sockets != nil {
			n.sockets.SetAccess(access)
		}
	}
}

// sameToolScopes reports whether tools need the same scopes by a and by other.
func (a *Auth) sameToolScopes(other *Auth) bool {
	same := func(x, y map[string][]string) bool { return maps.EqualFunc(x, y, slices.Equal) }
	return same(a.ToolScopes, other.ToolScopes) && same(a.Implies, other.Implies) &&
		slices.Equal(a.SourceNames, other.SourceNames)
}

// follow registers a server until forget is called. c may be nil.
func (c *Control) follow(ctx context.Context, r *running) (forget func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil {
		apply, err := r.prepare(ctx, *c.last)
		if err != nil {
			return nil, err
		}
		apply()
	}
	c.running = append(c.running, r)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running = slices.DeleteFunc(c.running, func(other *running) bool {
			return other == r
		})
	}, nil
}
