package mcp

import (
	"context"
	"time"
)

// Principal is the authenticated caller of a request. The surface
// sets it ([WithPrincipal]). The server binds sessions and request state to it, and a
// Source may use it for authorization. It is read-only once a request has it.
type Principal struct {
	// Name identifies the caller among all callers of the server. It is not secret.
	Name string
	// Issuer and Subject identify the caller to others: the issuer of its token, and the
	// issuer's name for it. Both are empty if the token is not from an issuer.
	Issuer, Subject string
	// Client is the OAuth client that the token was issued to, or empty.
	Client string
	// Audience lists the resources that the token is for, as its issuer signed them, or is nil.
	Audience []string
	// Scopes are the permissions of the caller.
	Scopes []string
	// Groups, Roles and Tenant are the caller's, as mapped from the claims of its token.
	Groups, Roles []string
	Tenant        string
	// Claims are the other mapped claims by name. Claims that are not mapped never leave the
	// verifier, so they cannot be logged.
	Claims map[string][]string
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
