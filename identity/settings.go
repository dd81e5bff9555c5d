package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Grant is a way to obtain a token.
type Grant string

// The supported grants. The zero value is AuthorizationCode.
const (
	// AuthorizationCode logs in with a browser (RFC 6749, section 4.1, with PKCE).
	AuthorizationCode Grant = "code"
	// Device logs in with a browser on another device (RFC 8628).
	Device Grant = "device"
	// ClientCredentials logs in as the client itself, with a secret or a key (RFC 6749,
	// section 4.4).
	ClientCredentials Grant = "client"
	// JWTBearer exchanges a signed assertion, such as the identity of a workload, for a
	// token (RFC 7523).
	JWTBearer Grant = "jwt-bearer"
	// TokenExchange exchanges another token for one of the server (RFC 8693).
	TokenExchange Grant = "exchange"
	// IdentityAssertion exchanges the ID token of the company's identity provider for an
	// assertion, and that for a token (ID-JAG, "Enterprise-Managed Authorization").
	IdentityAssertion Grant = "id-jag"
)

// Grants returns the names of the supported grants.
func Grants() []string {
	return []string{
		string(AuthorizationCode), string(Device), string(ClientCredentials),
		string(JWTBearer), string(TokenExchange), string(IdentityAssertion),
	}
}

// implementation returns the implementation of a grant, or nil if it is unknown.
func (g Grant) implementation() grant {
	switch g {
	case "", AuthorizationCode:
		return codeGrant{}
	case Device:
		return deviceGrant{}
	case ClientCredentials:
		return clientGrant{}
	case JWTBearer:
		return jwtBearerGrant{}
	case TokenExchange:
		return exchangeGrant{}
	case IdentityAssertion:
		return idJAGGrant{}
	}
	return nil
}

// Interactive reports whether the grant needs a person for each login.
func (g Grant) Interactive() bool { return g == "" || g == AuthorizationCode || g == Device }

// Secret returns a secret when it is needed. It is called for each request, as a secret
// may be replaced, and its errors must not contain the value.
type Secret func(ctx context.Context) (string, error)

// maxSecret is the maximum size of a secret, a key or an assertion in bytes.
const maxSecret = 64 << 10

// read returns the value of a secret; a nil Secret has none.
func (s Secret) read(ctx context.Context, what string) (string, error) {
	if s == nil {
		return "", nil
	}
	value, err := s(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	value = strings.TrimSpace(value)
	if value == "" || len(value) > maxSecret {
		return "", fmt.Errorf("%s: want 1 to %d bytes", what, maxSecret)
	}
	return value, nil
}

// Settings say how to log in to one server. The zero value and nil use the authorization
// code grant, with everything else as the server's metadata says.
type Settings struct {
	// Grant is how to obtain a token.
	Grant Grant
	// Issuer selects one of the authorization servers that the server names. If the server
	// has no metadata, it is the authorization server. The first login that presents a secret
	// requires it: see [Settings.UnboundSecret].
	Issuer string
	// Scopes replaces the scopes that the server asks for.
	Scopes []string

	// Client is our registration at the authorization server.
	Client ClientSettings
	// Exchange configures the grants that present another token.
	Exchange ExchangeSettings

	// OmitResource leaves out the resource parameter of all requests, for authorization
	// servers that refuse it, such as Microsoft Entra ID. Tokens are then not bound to the
	// server, unless the scopes do that.
	OmitResource bool
	// AssumePKCE logs in although the metadata does not announce S256. An authorization
	// server that ignores PKCE leaves a stolen code usable.
	AssumePKCE bool
	// DPoP demands a token that is bound to a key (RFC 9449). Without it, such a token is
	// used if the server demands one.
	DPoP bool
	// Command is the command that logs in, for hints; empty means slipway login and the URL.
	Command string
	// Place is where the settings are, for hints, such as "auth of crm in mcp.yaml"; empty
	// means the flags of slipway login.
	Place string
	// CallbackPort is the port of this machine to which the browser returns; 0 means any
	// free one.
	CallbackPort int
}

// ClientSettings are a registration at an authorization server. The zero value registers
// a client if the authorization server supports that.
type ClientSettings struct {
	// ID is the identifier: one issued by the authorization server, or the https URL of a
	// client ID metadata document.
	ID string
	// Secret is the secret that was issued with the ID, or nil.
	Secret Secret
	// Key is the private key in PEM form for private_key_jwt, or nil, and KeyID its kid.
	Key   Secret
	KeyID string
}

// ExchangeSettings are the token to present, and where it is from.
type ExchangeSettings struct {
	// Token is the assertion of JWTBearer, or the subject token of the others.
	Token Secret
	// TokenType is the type of the subject token, as a URI or as its last part: jwt,
	// id_token, access_token or saml2. Empty means access_token for TokenExchange, and
	// id_token for IdentityAssertion.
	TokenType string
	// Audience is the audience to ask for; empty means none for TokenExchange, and the
	// issuer of the server for IdentityAssertion.
	Audience string

	// Issuer is the identity provider of IdentityAssertion, and ClientID and ClientSecret
	// our registration there.
	Issuer       string
	ClientID     string
	ClientSecret Secret
}

// Check returns an error that names the setting that is missing, invalid or useless with
// the grant.
func (s *Settings) Check() error {
	how := s.Grant.implementation()
	switch {
	case how == nil:
		return fmt.Errorf("unknown grant %q: want %s", s.Grant, strings.Join(Grants(), ", "))
	case s.Client.ID == "" && (s.Client.Secret != nil || s.Client.Key != nil):
		return errors.New("a client secret or key needs a client ID")
	case s.Client.Secret != nil && s.Client.Key != nil:
		return errors.New("a client has a secret or a key, not both")
	case s.CallbackPort < 0 || s.CallbackPort > 65535:
		return fmt.Errorf("callback port %d: want 1 to 65535", s.CallbackPort)
	}
	for _, scope := range s.Scopes {
		if !isScope(scope) {
			return fmt.Errorf("invalid scope %q", scope)
		}
	}
	return how.check(s)
}

// UnboundSecret returns the secret that these settings present without naming the issuer that
// it is for, such as "the client secret", or an empty string. A server could name an issuer that
// collects it, so a login is refused unless an earlier one presented such a secret there. Keys
// of clients are not affected: what they sign names the issuer. An assertion for an audience is
// only presented to that issuer.
func (s *Settings) UnboundSecret() string {
	for _, secret := range s.unboundSecrets() {
		if secret.audience == "" {
			return secret.name
		}
	}
	return ""
}

// unboundSecret is a secret that the settings present without naming the issuer.
type unboundSecret struct {
	name string
	// audience is the only issuer that accepts the secret, or empty.
	audience string
	// presented reports whether the login of a record presented such a secret to its issuer.
	presented func(*record) bool
}

// unboundSecrets returns the secrets that these settings present without naming the issuer.
func (s *Settings) unboundSecrets() []unboundSecret {
	if s.Issuer != "" {
		return nil
	}
	var all []unboundSecret
	sameGrant := func(r *record) bool { return r.Grant == s.Grant }
	switch s.Grant {
	case JWTBearer:
		all = append(all, unboundSecret{name: "the assertion", presented: sameGrant})
	case TokenExchange:
		all = append(all, unboundSecret{name: "the subject token", presented: sameGrant})
	case IdentityAssertion:
		// Without an audience, the assertion is for the issuer to which it is presented. A record
		// does not have the audience of its assertion, so none vouches for the issuer.
		if audience := s.Exchange.Audience; audience != "" {
			all = append(all, unboundSecret{
				name:      "the assertion for " + secrets.URL(audience),
				audience:  audience,
				presented: func(*record) bool { return false },
			})
		}
	}
	if s.Client.Secret != nil {
		// An issuer chooses the IDs and the secrets of clients that it registers.
		all = append(all, unboundSecret{
			name:      "the client secret",
			presented: func(r *record) bool { return r.Configured && r.Client.Secret != "" },
		})
	}
	return all
}

// grant returns the grant with its default.
func (s *Settings) grant() Grant {
	if s.Grant == "" {
		return AuthorizationCode
	}
	return s.Grant
}
