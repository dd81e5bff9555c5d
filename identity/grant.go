package identity

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// grant obtains the first token of a login.
type grant interface {
	// check returns an error if settings are missing or useless with the grant.
	check(s *Settings) error
	// obtain obtains a token.
	obtain(ctx context.Context, f *flow) (*token, error)
}

// flow is one login in progress.
type flow struct {
	// web sends requests on behalf of server, and found is what discovery found out about its
	// issuer.
	client   *Client
	web      *web
	server   string
	settings *Settings
	found    *discovery
	// scopes are those to ask for.
	scopes []string
	// registration is our client at the issuer, once it is known. reused reports that an
	// earlier login registered it.
	registration *registration
	reused       bool
	// proof is the key to bind the token to, or nil.
	proof *proofKey
	// ui is how the user is involved; nil in a hosted flow.
	ui *Interaction
	// hosted reports that the answer arrives at a web server, see [Client.Begin].
	hosted bool
	// tag is appended to the state.
	tag string
	// parameters are added to the address of the login page; an empty value removes one.
	parameters map[string]string
}

// issuer returns the chosen authorization server.
func (f *flow) issuer() string { return f.found.server.Issuer }

// form returns the parameters that all requests of a flow have.
func (f *flow) form(grantType string) url.Values {
	form := url.Values{}
	if grantType != "" {
		form.Set("grant_type", grantType)
	}
	if !f.settings.OmitResource {
		form.Set("resource", f.found.resource)
	}
	return form
}

// scoped adds the scopes to a form; without any, the parameter is left out.
func (f *flow) scoped(form url.Values) url.Values {
	if len(f.scopes) > 0 {
		form.Set("scope", strings.Join(f.scopes, " "))
	}
	return form
}

// request sends a form to the token endpoint of the issuer.
func (f *flow) request(ctx context.Context, form url.Values) (*token, error) {
	r := &tokenRequest{
		web:      f.web,
		endpoint: f.found.server.TokenEndpoint,
		issuer:   f.issuer(),
		form:     form,
		client:   f.registration,
		methods:  f.found.server.AuthMethods,
		proof:    f.proof,
		now:      f.client.now,
	}
	return r.send(ctx)
}

// useClient chooses the client for the issuer: the configured one, the one registered
// earlier with the same callback address, or a new registration. redirect is empty for
// grants without a browser on this machine.
func (f *flow) useClient(ctx context.Context, redirect string, grantTypes ...string) error {
	own, err := configured(ctx, f.settings)
	if err != nil {
		return err
	}
	m := &f.found.server
	if own != nil {
		if isDocumentID(own.ID) && !m.ClientDocumentSupported && !f.found.assumed {
			return &SetupError{
				Text: secrets.URL(m.Issuer) + " does not support client ID metadata documents",
				Hint: "pass an ID that it issued, or none to register a client: " + CommandFor(f.server) + " --client-id ID",
			}
		}
		if err := f.client.checkBinding(ctx, f.server, own.ID, m.Issuer); err != nil {
			return err
		}
		f.registration = own
		return nil
	}
	kind := grantTypes[0]
	if f.hosted {
		kind += " " + redirect // a gateway and the user of its machine share the store
	}
	known, err := f.client.store.registration(ctx, m.Issuer, kind)
	if err != nil {
		return err
	}
	if known != nil && known.Redirect == redirect && !known.expired(f.client.now()) {
		f.registration = known
		f.reused = true
		return nil
	}
	if m.RegistrationEndpoint == "" {
		hint := "register one there with the callback http://127.0.0.1/callback, and pass its ID: " +
			CommandFor(f.server) + " --client-id ID"
		if f.hosted {
			hint = "register one there with the callback " + redirect + ", and set its ID as clientId"
		}
		return &SetupError{
			Text: secrets.URL(m.Issuer) + " does not register clients by itself",
			Hint: hint,
		}
	}
	metadata := &clientMetadata{
		ClientName:      f.client.name,
		GrantTypes:      append(grantTypes, "refresh_token"),
		ResponseTypes:   []string{},
		ApplicationType: "native",
		DPoPBound:       f.proof != nil && f.settings.DPoP,
	}
	if f.hosted && !netguard.NamesLoopback(redirect) {
		metadata.ApplicationType = "web"
	}
	if redirect != "" {
		metadata.RedirectURIs = []string{redirect}
		metadata.ResponseTypes = []string{"code"}
	}
	f.reused = false
	f.registration, err = f.web.register(ctx, m, metadata)
	if err != nil {
		return err
	}
	return f.client.store.saveRegistration(ctx, m.Issuer, kind, f.registration)
}

// expired reports whether the secret of a registration has expired.
func (r *registration) expired(now time.Time) bool {
	return !r.Expires.IsZero() && now.After(r.Expires)
}

// useConfiguredClient sets the client of grants that never register one.
func (f *flow) useConfiguredClient(ctx context.Context) error {
	own, err := configured(ctx, f.settings)
	if err != nil {
		return err
	}
	if err := f.client.checkBinding(ctx, f.server, own.ID, f.issuer()); err != nil {
		return err
	}
	f.registration = own
	return nil
}

// clientGrant is ClientCredentials.
type clientGrant struct{}

// check requires an ID and a credential: with this grant, the client itself is authenticated.
func (clientGrant) check(s *Settings) error {
	if s.Client.ID == "" || s.Client.Secret == nil && s.Client.Key == nil {
		return errors.New("the grant client needs a client ID, and its secret or key")
	}
	return nil
}

// obtain requests a token for the client itself (RFC 6749, section 4.4).
func (clientGrant) obtain(ctx context.Context, f *flow) (*token, error) {
	if err := f.useConfiguredClient(ctx); err != nil {
		return nil, err
	}
	return f.request(ctx, f.scoped(f.form("client_credentials")))
}

// grantJWTBearer is the grant type of RFC 7523.
const grantJWTBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// jwtBearerGrant is JWTBearer. A refused assertion is neither sent again nor replaced by
// another grant.
type jwtBearerGrant struct{}

// check requires the assertion, which the user obtains elsewhere. A client secret is optional.
func (jwtBearerGrant) check(s *Settings) error {
	if s.Client.ID == "" || s.Exchange.Token == nil {
		return errors.New("the grant jwt-bearer needs a client ID and an assertion")
	}
	return nil
}

// obtain exchanges an assertion for a token (RFC 7523, section 2.1). The assertion is read for each
// request, since it expires.
func (jwtBearerGrant) obtain(ctx context.Context, f *flow) (*token, error) {
	if err := f.useConfiguredClient(ctx); err != nil {
		return nil, err
	}
	assertion, err := f.settings.Exchange.Token.read(ctx, "assertion")
	if err != nil {
		return nil, err
	}
	form := f.scoped(f.form(grantJWTBearer))
	form.Set("assertion", assertion)
	return f.request(ctx, form)
}

// Parameters of token exchange (RFC 8693).
const (
	grantExchange   = "urn:ietf:params:oauth:grant-type:token-exchange"
	tokenTypePrefix = "urn:ietf:params:oauth:token-type:"
)

// tokenTypes are the types that may be written as their last part.
var tokenTypes = []string{"access_token", "id_token", "jwt", "refresh_token", "saml1", "saml2"}

// tokenTypeURI returns the URI of a token type.
func tokenTypeURI(name string) string {
	if slices.Contains(tokenTypes, name) {
		return tokenTypePrefix + name
	}
	return name
}

// exchangeGrant is TokenExchange.
type exchangeGrant struct{}

// check requires the subject token, and a valid token type if one is set.
func (exchangeGrant) check(s *Settings) error {
	if s.Client.ID == "" || s.Exchange.Token == nil {
		return errors.New("the grant exchange needs a client ID and a subject token")
	}
	return checkTokenType(s)
}

// checkTokenType returns an error if the token type is neither a known short name nor a URI.
func checkTokenType(s *Settings) error {
	name := s.Exchange.TokenType
	if name != "" && !strings.Contains(tokenTypeURI(name), ":") {
		return fmt.Errorf("unknown token type %q: want %s, or a URI", name, strings.Join(tokenTypes, ", "))
	}
	return nil
}

// obtain exchanges the subject token for an access token (RFC 8693, section 2.1), at the issuer of
// the server itself.
func (exchangeGrant) obtain(ctx context.Context, f *flow) (*token, error) {
	if err := f.useConfiguredClient(ctx); err != nil {
		return nil, err
	}
	form := f.scoped(f.form(grantExchange))
	if err := presentToken(ctx, form, &f.settings.Exchange, "access_token"); err != nil {
		return nil, err
	}
	if audience := f.settings.Exchange.Audience; audience != "" {
		form.Set("audience", audience)
	}
	form.Set("requested_token_type", tokenTypePrefix+"access_token")
	return f.request(ctx, form)
}

// presentToken adds the subject token to a form. kind is the type if the settings have
// none.
func presentToken(ctx context.Context, form url.Values, s *ExchangeSettings, kind string) error {
	subject, err := s.Token.read(ctx, "subject token")
	if err != nil {
		return err
	}
	if s.TokenType != "" {
		kind = s.TokenType
	}
	form.Set("subject_token", subject)
	form.Set("subject_token_type", tokenTypeURI(kind))
	return nil
}

// idJAGGrant is IdentityAssertion ("Enterprise-Managed Authorization").
type idJAGGrant struct{}

// check requires the settings of both steps: the client at the server's issuer, and the subject
// token with the client at the identity provider.
func (idJAGGrant) check(s *Settings) error {
	if s.Client.ID == "" ||
		s.Exchange.Token == nil ||
		s.Exchange.Issuer == "" ||
		s.Exchange.ClientID == "" {
		return errors.New("the grant id-jag needs a client ID, and the subject token, the issuer and the client ID " +
			"of the identity provider")
	}
	return checkTokenType(s)
}

// obtain gets an identity assertion from the identity provider, and exchanges it at the server's
// issuer like any other assertion (RFC 7523).
func (idJAGGrant) obtain(ctx context.Context, f *flow) (*token, error) {
	if err := f.useConfiguredClient(ctx); err != nil {
		return nil, err
	}
	assertion, err := f.identityAssertion(ctx)
	if err != nil {
		return nil, fmt.Errorf("identity provider: %w", err)
	}
	form := f.scoped(f.form(grantJWTBearer))
	form.Set("assertion", assertion)
	return f.request(ctx, form)
}

// identityAssertion exchanges the token of the user at the identity provider for an
// assertion that the server's authorization server accepts.
func (f *flow) identityAssertion(ctx context.Context) (string, error) {
	x := &f.settings.Exchange
	provider, err := f.web.authorizationServer(ctx, x.Issuer)
	if err != nil {
		return "", err
	}
	secret, err := x.ClientSecret.read(ctx, "client secret of the identity provider")
	if err != nil {
		return "", err
	}
	form := f.scoped(url.Values{})
	form.Set("grant_type", grantExchange)
	form.Set("requested_token_type", tokenTypePrefix+"id-jag")
	form.Set("resource", f.found.resource)
	// The audience of the assertion is the authorization server of the server, where it is
	// presented.
	form.Set("audience", f.issuer())
	if x.Audience != "" {
		form.Set("audience", x.Audience)
	}
	if err := presentToken(ctx, form, x, "id_token"); err != nil {
		return "", err
	}
	r := &tokenRequest{
		web:      f.web,
		endpoint: provider.TokenEndpoint,
		issuer:   provider.Issuer,
		form:     form,
		client: &registration{
			ID:     x.ClientID,
			Secret: secret,
		},
		methods: provider.AuthMethods,
		now:     f.client.now,
	}
	t, err := r.send(ctx)
	if err != nil {
		return "", err
	}
	if t.issuedType != "" && t.issuedType != tokenTypePrefix+"id-jag" {
		return "", fmt.Errorf("it issued a token of the type %q instead of an assertion", printable(t.issuedType))
	}
	return t.access, nil
}
