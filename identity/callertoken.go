package identity

import "context"

// CallerTokenKey is the key under which the context of a request has the bearer token of its
// caller, as a string. Package serve sets it after it has verified the token.
type CallerTokenKey struct{}

// CallerToken returns the verified bearer token of the caller of a request, or "". It is a
// secret of the caller: it must be sent only to resources that [mcp.Principal.Audience] lists.
func CallerToken(ctx context.Context) string {
	token, _ := ctx.Value(CallerTokenKey{}).(string)
	return token
}
