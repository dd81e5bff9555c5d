// Package identity logs in to servers that require OAuth, and keeps the tokens.
//
//	store := identity.OpenStore(dir, nil)
//	c := identity.New(&identity.Options{Store: store})
//	login, err := c.Login(ctx, "https://example.com/mcp", &identity.LoginOptions{Interaction: ui})
//	endpoint := &client.Endpoint{URL: login.Server, Credentials: c.Credentials(login.Server, nil)}
//
// [Client.Login] follows the authorization chapter of 2026-07-28 towards servers of every
// protocol version: protected resource metadata (RFC 9728), metadata of the authorization
// server (RFC 8414 and OpenID Connect Discovery), PKCE, resource indicators (RFC 8707),
// and the issuer in answers (RFC 9207). [Settings] select another grant than the
// authorization code, a registered client, or DPoP.
//
// [Credentials] adds a token to each request, refreshes it ahead of its expiry, and
// decides what a refusal means: another token, more scopes, or a new login, reported as a
// [*LoginRequiredError].
//
// A [Store] keeps registrations and tokens in an encrypted file. Processes share it: of
// all that need a new token, one refreshes and the others read its result.
//
// # Security
//
// The documents that a server names are untrusted input. They are fetched over https
// (http only on this machine, for servers on this machine), from the public internet or
// the host that the user named, with limits on size, time and redirects. A token is sent
// only to the server it was obtained for, and a client's credentials only to the issuer
// that they belong to. No error or log line contains either.
package identity
