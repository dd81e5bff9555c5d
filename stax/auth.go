package stax

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// Auth says how a remote server is logged in to. Without it, a login of the user is used
// if there is one. The secrets that it names are found like all others, and are sent only
// to the authorization server.
type Auth struct {
	Kind AuthKind `json:"kind"`
	// By says whose login is used, for AuthOAuth: that of the user or, by default, the one of
	// this gateway for all its callers.
	By AuthBy `json:"by,omitempty"`
	// Header and Value are a static header with the secrets in braces, for AuthHeader.
	Header string `json:"header,omitempty"`
	Value  string `json:"value,omitempty"`

	// Issuer selects the authorization server, and Scopes what to ask for.
	Issuer string   `json:"issuer,omitempty"`
	Scopes []string `json:"scopes,omitempty"`

	// ClientID, ClientSecret, ClientKey and ClientKeyID are a registration there.
	ClientID     string     `json:"clientId,omitempty"`
	ClientSecret *SecretRef `json:"clientSecret,omitempty"`
	ClientKey    *SecretRef `json:"clientKey,omitempty"`
	ClientKeyID  string     `json:"clientKeyId,omitempty"`

	// Token is the assertion or the token to exchange, and TokenType and Audience describe
	// it. For AuthForward, Audience is required of the tokens that are forwarded.
	Token     *SecretRef `json:"token,omitempty"`
	TokenType string     `json:"tokenType,omitempty"`
	Audience  string     `json:"audience,omitempty"`
	// Provider is the identity provider of AuthIDJAG.
	Provider *AuthProvider `json:"provider,omitempty"`

	// Resource is "omit" for authorization servers that refuse the parameter.
	Resource string `json:"resource,omitempty"`
	// DPoP demands a token that is bound to a key, and AssumePKCE accepts an authorization
	// server that does not announce PKCE.
	DPoP       *bool `json:"dpop,omitempty"`
	AssumePKCE *bool `json:"assumePkce,omitempty"`
}

// AuthKind is a way to log in.
type AuthKind string

// The kinds of Auth.
const (
	AuthOAuth     AuthKind = "oauth"      // a person, with a browser
	AuthClient    AuthKind = "client"     // the client itself (client credentials)
	AuthJWTBearer AuthKind = "jwt-bearer" // an assertion, such as the identity of a workload
	AuthExchange  AuthKind = "exchange"   // another token (RFC 8693)
	AuthIDJAG     AuthKind = "id-jag"     // the ID token of the company's identity provider
	AuthHeader    AuthKind = "header"     // a static header
	AuthForward   AuthKind = "forward"    // the token of each caller, if it is for the server
)

// authKinds are the kinds with their grants.
var authKinds = []struct {
	kind  AuthKind
	grant identity.Grant
}{
	{AuthOAuth, identity.AuthorizationCode},
	{AuthClient, identity.ClientCredentials},
	{AuthJWTBearer, identity.JWTBearer},
	{AuthExchange, identity.TokenExchange},
	{AuthIDJAG, identity.IdentityAssertion},
	{AuthHeader, ""},
	{AuthForward, ""},
}

// AuthBy says whose login is used.
type AuthBy string

// The values of AuthBy.
const (
	AuthByGateway AuthBy = "gateway"
	AuthByUser    AuthBy = "user"
)

// SecretRef names a secret.
type SecretRef struct {
	Secret string `json:"secret"`
}

// AuthProvider is an identity provider, and our registration there.
type AuthProvider struct {
	Issuer       string     `json:"issuer"`
	ClientID     string     `json:"clientId"`
	ClientSecret *SecretRef `json:"clientSecret,omitempty"`
}

// Secrets returns the keys of the secrets that the login uses.
func (a *Auth) Secrets() (keys []string) {
	refs := []*SecretRef{a.ClientSecret, a.ClientKey, a.Token}
	if a.Provider != nil {
		refs = append(refs, a.Provider.ClientSecret)
	}
	for _, ref := range refs {
		if ref != nil {
			keys = append(keys, ref.Secret)
		}
	}
	return append(keys, (&Binding{Template: a.Value}).Keys()...)
}

// auth decodes how to log in to a server.
func (d *decoder) auth(s *Server, n *tree.Node, at string) {
	a := &Auth{}
	known := fields{
		"kind":         (*string)(&a.Kind),
		"by":           (*string)(&a.By),
		"header":       &a.Header,
		"value":        &a.Value,
		"issuer":       &a.Issuer,
		"scopes":       &a.Scopes,
		"clientId":     &a.ClientID,
		"clientSecret": d.secretRef(&a.ClientSecret),
		"clientKey":    d.secretRef(&a.ClientKey),
		"clientKeyId":  &a.ClientKeyID,
		"token":        d.secretRef(&a.Token),
		"tokenType":    &a.TokenType,
		"audience":     &a.Audience,
		"provider": func(n *tree.Node, at string) {
			p := &AuthProvider{}
			if d.object(n, at, fields{
				"issuer":       &p.Issuer,
				"clientId":     &p.ClientID,
				"clientSecret": d.secretRef(&p.ClientSecret),
			}, &s.Extra) {
				a.Provider = p
			}
		},
		"resource":   &a.Resource,
		"dpop":       &a.DPoP,
		"assumePkce": &a.AssumePKCE,
	}
	if !d.object(n, at, known, &s.Extra) {
		return
	}
	s.Auth = a
	d.headerAuth(s)
	if why, hint := a.check(); why != "" {
		d.Add(ruleAuth, at, hint, "server %q: %s", s.Name, why)
	} else if secret := a.unboundSecret(); secret != "" {
		d.Add(ruleAuthIssuer, at, "", "server %q: no issuer is set for %s, so first logins fail", s.Name, secret)
	}
}

// headerBinding returns the binding that auth of the kind header is, if it is valid.
func (s *Server) headerBinding() (b Binding, ok bool) {
	if s.Auth == nil {
		return b, false
	}
	b = Binding{
		Server:   s.Name,
		Header:   s.Auth.Header,
		Template: s.Auth.Value,
	}
	return b, s.Auth.Kind == AuthHeader && headerName(b.Header) && len(b.Keys()) > 0
}

// headerAuth turns the kind header into secrets of the server and their binding.
func (d *decoder) headerAuth(s *Server) {
	b, ok := s.headerBinding()
	if !ok {
		return
	}
	for _, key := range b.Keys() {
		if !slices.Contains(s.Secrets, key) {
			s.Secrets = append(s.Secrets, key)
		}
	}
	config := d.doc.Config
	if !slices.Contains(config.Bindings, b) {
		config.Bindings = append(config.Bindings, b)
	}
}

// secretRef returns the decoder of a reference to a secret. A value in its place is
// reported, and not repeated.
func (d *decoder) secretRef(into **SecretRef) func(n *tree.Node, at string) {
	return func(n *tree.Node, at string) {
		if n.Kind == tree.String {
			d.literal(check.Error, at, `write {"secret": "KEY"}`)
			return
		}
		ref := &SecretRef{}
		var extra []Field
		if !d.object(n, at, fields{"secret": &ref.Secret}, &extra) {
			return
		}
		if !IsSecretKey(ref.Secret) {
			d.Add(ruleSecretKey, at+"/secret", "letters, digits and _, as in GITHUB_TOKEN",
				"this is not the key of a secret")
			return
		}
		*into = ref
	}
}

// check returns what is wrong, and how to fix it.
func (a *Auth) check() (why, hint string) {
	var kinds []string
	known := false
	for _, k := range authKinds {
		kinds = append(kinds, string(k.kind))
		known = known || k.kind == a.Kind
	}
	switch {
	case !known:
		return fmt.Sprintf("unknown kind of auth %s", quote(string(a.Kind))), "one of " + strings.Join(kinds, ", ")
	case a.By != "" && a.Kind != AuthOAuth:
		return "by belongs to the kind oauth", "remove it"
	case a.By != "" && a.By != AuthByGateway && a.By != AuthByUser:
		return fmt.Sprintf("a login by %s is unknown", quote(string(a.By))), "write gateway or user"
	case a.Resource != "" && a.Resource != "omit":
		return "resource can only be omitted", `write "resource": "omit", or remove it`
	case a.Kind == AuthHeader && (!headerName(a.Header) || len((&Binding{Template: a.Value}).Keys()) == 0):
		return "the kind header needs a header, and a value with a secret",
			`write "header": "X-Api-Key", "value": "{API_KEY}"`
	case a.Kind == AuthHeader && framesMessages(a.Header):
		return fmt.Sprintf("the header %s is that of HTTP or the protocol, which would lose the secret", quote(a.Header)),
			`write "header": "X-Api-Key"`
	case a.Kind != AuthHeader && (a.Header != "" || a.Value != ""):
		return "header and value belong to the kind header", "remove them"
	case a.Kind == AuthForward:
		return a.checkForward()
	case a.Kind == AuthHeader:
		return "", ""
	}
	if err := a.Settings(noSecret).Check(); err != nil {
		return err.Error(), required[a.Kind]
	}
	return "", ""
}

// noSecret is a lookup for settings whose secrets are not used.
func noSecret(context.Context, string) (Secret, error) { return Secret{}, nil }

// unboundSecret returns the secret that a login would present to an issuer that only the server names, such as
// "the client secret", or an empty string.
func (a *Auth) unboundSecret() string {
	if a.Kind == AuthHeader || a.Kind == AuthForward {
		return ""
	}
	return a.Settings(noSecret).UnboundSecret()
}

// required are the settings of the kinds that cannot do without, as hints.
var required = map[AuthKind]string{
	AuthClient:    `write "clientId": "ID", and "clientSecret": {"secret": "KEY"} or "clientKey": {"secret": "KEY"}`,
	AuthJWTBearer: `write "clientId": "ID", "token": {"secret": "KEY"}`,
	AuthExchange:  `write "clientId": "ID", "token": {"secret": "KEY"}, "tokenType": "id_token"`,
	AuthIDJAG: `write "clientId": "ID", "token": {"secret": "KEY"}, "provider": {"issuer": "https://idp.example.com", ` +
		`"clientId": "ID"}`,
}

// framesMessages reports whether HTTP or the protocol sets a header, so that it cannot have another value:
// the headers of a connection, those of a message, and those of the protocol. Proxy-Authorization is of a
// connection, too, but access proxies in front of a server read a credential from it.
func framesMessages(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Proxy-Authorization":
		return false
	case "Host", "Content-Length", "Content-Type", "Content-Encoding", "Accept", "Accept-Encoding", "Expect",
		"Last-Event-Id":
		return true
	}
	return strings.HasPrefix(name, "Mcp-") || hophttp.OfConnection(name)
}

// Settings returns how package identity logs in. lookup returns secrets by key, when they
// are needed.
func (a *Auth) Settings(lookup func(ctx context.Context, key string) (Secret, error)) *identity.Settings {
	read := func(ref *SecretRef) identity.Secret {
		if ref == nil {
			return nil
		}
		return func(ctx context.Context) (string, error) {
			secret, err := lookup(ctx, ref.Secret)
			return secret.Reveal(), err
		}
	}
	s := &identity.Settings{
		Issuer: a.Issuer,
		Scopes: a.Scopes,
		Client: identity.ClientSettings{
			ID:     a.ClientID,
			Secret: read(a.ClientSecret),
			Key:    read(a.ClientKey),
			KeyID:  a.ClientKeyID,
		},
		Exchange: identity.ExchangeSettings{
			Token:     read(a.Token),
			TokenType: a.TokenType,
			Audience:  a.Audience,
		},
		OmitResource: a.Resource == "omit",
		DPoP:         a.DPoP != nil && *a.DPoP,
		AssumePKCE:   a.AssumePKCE != nil && *a.AssumePKCE,
	}
	if p := a.Provider; p != nil {
		s.Exchange.Issuer = p.Issuer
		s.Exchange.ClientID = p.ClientID
		s.Exchange.ClientSecret = read(p.ClientSecret)
	}
	for _, k := range authKinds {
		if k.kind == a.Kind {
			s.Grant = k.grant
		}
	}
	return s
}

// ErrUserLogin reports that a server wants the login of each user, and that the callers of
// this process cannot prove who they are.
var ErrUserLogin = errors.New("its auth is by user, and this endpoint does not know who its callers are")

// Login returns how to log in to a remote server of definitions: nil without auth.
func (r *Resolver) Login(m *Merged, s *Server) *identity.Settings {
	if s.Auth == nil || s.Auth.Kind == AuthHeader || s.Auth.Kind == AuthForward {
		return nil
	}
	login := s.Auth.Settings(func(ctx context.Context, key string) (Secret, error) {
		found := r.queryStores(ctx, key)
		if found.store == "" {
			return Secret{}, &MissingError{
				Server: s.Name,
				Keys:   []string{key},
				Causes: found.problems,
			}
		}
		return found.secret, nil
	})
	file := m.Origin(s.Name).Name
	login.Command = "slipway login " + process.PathWord(file) + " " + process.LastWord(s.Name)
	login.Place = m.authPlace(s)
	return login
}

// authPlace returns where the auth of a server is, for hints.
func (m *Merged) authPlace(s *Server) string {
	return visible.Line("auth of " + s.Name + " in " + m.Origin(s.Name).Name)
}

// SecretKeys returns the keys of all secrets of a server: those that it receives, and those
// of its auth.
func (s *Server) SecretKeys() []string {
	keys := s.Secrets
	if s.Auth != nil {
		for _, key := range s.Auth.Secrets() {
			if !slices.Contains(keys, key) {
				keys = append(keys[:len(keys):len(keys)], key)
			}
		}
	}
	return keys
}
