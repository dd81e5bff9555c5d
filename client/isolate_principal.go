package client

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// This file serves a server that each principal uses with its own transport, see
// [IsolateOptions.Transport].

// principalKey identifies a principal. Names alone do not: the issuer "a#b" with the subject
// "c" has the same as the issuer "a" with the subject "b#c".
func principalKey(p *mcp.Principal) string {
	return fmt.Sprintf("%q %q %q", p.Issuer, p.Subject, p.Name)
}

// preparePause is how long a failure to connect for a principal is remembered, so that lists
// do not wait for a server that is down.
const preparePause = 10 * time.Second

// Catalog implements [mcp.Source]. With [IsolateOptions.Transport], it is that of the caller
// once [Isolated.Prepare] or a request has connected, and otherwise the known catalog of the
// Source.
func (i *Isolated) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	if cat := i.Known(ctx); cat != nil {
		return cat, nil
	}
	return i.Source.Catalog(ctx)
}

// Known returns the catalog of the caller, or nil if it is not known, or the same for all.
// Callers with equal catalogs get the same pointer, so that what is computed from it is
// computed once.
func (i *Isolated) Known(ctx context.Context) *mcp.Catalog {
	p := mcp.PrincipalFrom(ctx)
	if i.opts.Transport == nil || p == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	t := i.tenants[tenantKey{principal: principalKey(p)}]
	if t == nil {
		return nil
	}
	cat := t.src.catalog.Load()
	if cat == t.of {
		return t.shown
	}
	shown := cat.Copy()
	shown.PerCaller = true
	for _, other := range i.tenants {
		if other != t && other.shown != nil && other.shown.Version() == shown.Version() {
			shown = other.shown
			break
		}
	}
	t.of = cat
	t.shown = shown
	return shown
}

// prepareFailure is why connecting for a principal has failed.
type prepareFailure struct {
	of  *mcp.Principal
	at  time.Time
	err error
}

// maxFailures limits the failures that are remembered.
const maxFailures = 1000

// Prepare connects for the caller of ctx, if it is not connected, so that its catalog is
// known. Unless now is set, it returns the error of the last attempt for 10 seconds instead of
// making another.
func (i *Isolated) Prepare(ctx context.Context, now bool) error {
	p := mcp.PrincipalFrom(ctx)
	if p == nil {
		p = &mcp.Principal{}
	}
	key := tenantKey{principal: principalKey(p)}
	i.mu.Lock()
	last, failed := i.failures[key]
	i.mu.Unlock()
	if failed && !now && time.Since(last.at) < preparePause {
		return last.err
	}
	src, leave, err := i.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	before := src.catalog.Load()
	_, err = src.Catalog(ctx)
	if ctx.Err() != nil {
		return err // the attempt goes on
	}
	if err == nil && before == nil {
		defer i.Source.watchers.Tell(mcp.Change{
			Tools:     true,
			Resources: true,
			Prompts:   true,
		})
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.failures, key)
	if err == nil {
		return nil
	}
	if i.failures == nil || len(i.failures) >= maxFailures {
		i.failures = make(map[tenantKey]prepareFailure)
	}
	i.failures[key] = prepareFailure{p, time.Now(), err}
	return err
}

// dropRefusedLocked removes a connection that was never made because its caller has no login:
// the server itself is well.
func (i *Isolated) dropRefusedLocked(t *tenant) {
	if t.owner == nil || t.uses > 0 || i.closed || i.tenants[t.key] != t || t.src.catalog.Load() != nil {
		return
	}
	if authorizationError(t.src.lastError()) != nil {
		i.stopLocked(t)
	}
}

// lastError returns why the server could not be reached last, or nil.
func (s *Source) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastErr
}

// Retry makes [Isolated.Prepare] forget that it has failed for a principal.
func (i *Isolated) Retry(match func(p *mcp.Principal) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.failures, func(_ tenantKey, f prepareFailure) bool { return match(f.of) })
}

// Stop ends the connection of a principal. Its requests in flight fail.
func (i *Isolated) Stop(match func(p *mcp.Principal) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, t := range i.tenants {
		if t.owner != nil && match(t.owner) && !i.closed {
			i.stopLocked(t)
		}
	}
}
