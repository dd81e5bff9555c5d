// Package broker is an authorization server for MCP clients in front of an identity provider
// that does not register clients, such as Microsoft Entra ID, Google and GitHub.
//
//	provider, err := identity.NewProvider(logins, &identity.ProviderOptions{Issuer: "https://id.example.com"})
//	b, err := broker.New(&broker.Options{Issuer: "https://mcp.example.com", Provider: provider, Store: store})
//	http.Handle("/oauth/", b)
//
// A client registers ([RFC 7591], or by a client ID metadata document), and sends its user to
// [AuthorizePath]. A page asks the user to consent to this client, and then leads to the
// provider. The client gets a code, and for it an access token for one endpoint and a refresh
// token. Package serve has the page, and verifies the access tokens.
//
// # What is kept
//
// Registrations are sealed into the client ID, so that nothing is kept of them. Logins in
// progress and codes are in memory, and lost with the process. Sessions, with the tokens of the
// provider, and the keys are in a [identity.Store], which processes may share.
//
// # Security
//
// The duties are those of OAuth 2.1, the MCP specification ("Authorization", "Security Best
// Practices") and RFC 9700: consent for each login before the provider, in the same browser as
// its answer; exact redirects; PKCE with S256; tokens for one audience; refresh tokens that
// rotate, and end the session if one is used twice; the issuer in each answer (RFC 9207). Tokens
// of the provider never leave the gateway, and those of the gateway are never sent to it.
//
// [RFC 7591]: https://www.rfc-editor.org/rfc/rfc7591
package broker
