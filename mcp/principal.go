package mcp

import (
	"context"
	"time"
)

// Principal is the authenticated caller of a request. The surface in front of the server
// sets it ([WithPrincipal]). The server binds sessions and request state to it, and a
// Source may use it for authorization.
type Principal struct {
	// Name identifies the caller. It is not secret.
	Name string
	// Scopes are the permissions of the caller.
	Scopes []string
	// Expires is when the caller's credentials expire. Zero means unknown.
	Expires time.Time
}

// principalKey is the key of a [Principal] in a context.
type principalKey struct{}

// WithPrincipal returns a context under which requests belong to p.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal of the request under ctx, or nil if the request is
// not authenticated.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
