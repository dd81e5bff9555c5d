package mcp

import (
	"context"
	"time"
)

// Principal is who a request was authenticated as. The surface in front of the
// server sets it ([WithPrincipal]); the server binds sessions and request state
// to it, and a Source may decide by it.
type Principal struct {
	// Name identifies the caller. It is not secret.
	Name string
	// Scopes are what the caller may do.
	Scopes []string
	// Expires is when the caller's credentials end, zero if that is not known.
	Expires time.Time
}

// id is what sessions and state are bound to; nobody has the empty one.
func (p *Principal) id() string {
	if p == nil {
		return ""
	}
	return "principal:" + p.Name
}

type principalKey struct{}

// WithPrincipal returns a context under which requests belong to p.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who the request under ctx belongs to, or nil if nobody
// was authenticated.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
