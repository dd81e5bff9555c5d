package identity

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// ProviderOptions configure [NewProvider].
type ProviderOptions struct {
	// Issuer is the identity provider: the issuer of its ID tokens, or any URL that names a
	// provider without OpenID Connect, such as https://github.com. It is required.
	Issuer string
	// Client is the registration of the gateway there. The zero value registers a client.
	Client ClientSettings
	// Scopes are those to ask for; nil means openid, profile, email and offline_access, as far
	// as the provider has them, and none without OpenID Connect.
	Scopes []string
	// Authorize, Token and UserInfo are the endpoints of a provider without metadata. All three
	// are required then, and none otherwise. GitHub needs none: its endpoints are known.
	Authorize, Token, UserInfo string
	// Subject is the claim that identifies a user for good, never one that a user can change;
	// empty means sub, and id for GitHub.
	Subject string
}

// Provider signs users in at an identity provider: by OpenID Connect, or by OAuth and an address
// that describes the user. It is safe for concurrent use.
type Provider struct {
	client *Client
	opts   ProviderOptions
	// parameters are added to the address of the login page.
	parameters map[string]string

	mu sync.Mutex // guards the following fields
	// meta is the metadata of the provider, which was fetched at fetched, or nil.
	meta    *serverMetadata
	fetched time.Time
}

// metadataLife is how long the metadata of a provider is used.
const metadataLife = 10 * time.Minute

// knownProvider is what a provider does differently.
type knownProvider struct {
	// prefix is that of the issuer.
	prefix string
	// authorize, token and userInfo are the endpoints of a provider without metadata, and
	// subject is the claim with the permanent ID of a user, if that is not sub.
	authorize, token, userInfo string
	subject                    string
	// parameters are added to the address of the login page; an empty value removes one.
	parameters map[string]string
	// public reports that everyone may have an account there.
	public bool
	// verifiesEmail reports that the email of userInfo is always verified, and emailVerified is the claim
	// that says so, if that is not email_verified.
	verifiesEmail bool
	emailVerified string
}

// knownProviders returns the differences of large identity providers from OpenID Connect: missing
// metadata, other claims, and parameters that a refresh token requires.
func knownProviders() []knownProvider {
	return []knownProvider{
		{
			prefix: "https://accounts.google.com",
			// Instead of offline_access; without consent, only the first login gets a refresh token.
			parameters: map[string]string{
				"access_type": "offline",
				"prompt":      "consent",
			},
			public: true,
		},
		{
			prefix:    "https://github.com",
			authorize: "https://github.com/login/oauth/authorize",
			token:     "https://github.com/login/oauth/access_token",
			userInfo:  "https://api.github.com/user",
			subject:   "id", // names of accounts can be changed, and used again by others
			public:    true,
			// Users choose one of their verified addresses for their profile.
			verifiesEmail: true,
		},
		{
			prefix: "https://login.microsoftonline.com/",
			// offline_access needs no prompt there, and with one, users need an administrator.
			parameters: map[string]string{"prompt": ""},
			// Administrators and guests choose other addresses.
			emailVerified: "xms_edov",
		},
	}
}

// NewProvider returns a provider. c registers the gateway there, if Client is the zero value.
// Nothing is fetched yet. Errors name the option.
func NewProvider(c *Client, o *ProviderOptions) (*Provider, error) {
	p := &Provider{
		client: c,
		opts:   *o,
	}
	if known := knownFor(o.Issuer); known != nil {
		p.parameters = known.parameters
		if p.opts.Authorize+p.opts.Token+p.opts.UserInfo == "" {
			p.opts.Authorize = known.authorize
			p.opts.Token = known.token
			p.opts.UserInfo = known.userInfo
		}
		p.opts.Subject = cmp.Or(p.opts.Subject, known.subject)
	}
	p.opts.Subject = cmp.Or(p.opts.Subject, "sub")
	if o.Client.ID == "" && p.opts.Token+p.known() != "" {
		return nil, &SetupError{
			Text: secrets.URL(o.Issuer) + " does not register clients by itself",
			Hint: "register one there, and pass its ID",
		}
	}
	w := newWeb(c.allow, o.Issuer)
	if err := w.checkURL(o.Issuer); err != nil {
		return nil, fmt.Errorf("identity provider: %w", err)
	}
	if strings.ContainsAny(o.Issuer, "#?") {
		return nil, fmt.Errorf("identity provider %s: an issuer has no query and no fragment", secrets.URL(o.Issuer))
	}
	// All endpoints are configured, or none.
	given := []string{p.opts.Authorize, p.opts.Token, p.opts.UserInfo}
	if slices.Contains(given, "") && strings.Join(given, "") != "" {
		return nil, errors.New("a provider without metadata needs all of its endpoints: authorize, token and userinfo")
	}
	for _, address := range given {
		if address == "" {
			continue
		}
		if err := w.checkURL(address); err != nil {
			return nil, fmt.Errorf("endpoint of the identity provider: %w", err)
		}
	}
	settings := p.settings()
	return p, settings.Check()
}

// known returns the prefix of the issuer if it is a known one, which registers no clients.
func (p *Provider) known() string {
	if known := knownFor(p.opts.Issuer); known != nil {
		return known.prefix
	}
	return ""
}

// knownFor returns the entry whose prefix covers the issuer, or nil. Prefixes end at a slash: the
// host of one provider can be the start of another's.
func knownFor(issuer string) *knownProvider {
	for _, known := range knownProviders() {
		if strings.HasPrefix(issuer+"/", strings.TrimSuffix(known.prefix, "/")+"/") {
			return &known
		}
	}
	return nil
}

// VerifiedEmail reports whether the provider has verified the claim "email" of a user, by the user's claims
// or because it verifies every address. An address that is not verified is what its user claims.
func (p *Provider) VerifiedEmail(claims map[string]json.RawMessage) bool {
	claim := "email_verified"
	if known := knownFor(p.opts.Issuer); known != nil {
		if known.verifiesEmail && p.opts.UserInfo == known.userInfo {
			return true
		}
		claim = cmp.Or(known.emailVerified, claim)
	}
	said := strings.Trim(string(claims[claim]), `"`)
	return said == "true" || claim != "email_verified" && said == "1"
}

// Issuer returns the issuer of the users.
func (p *Provider) Issuer() string { return p.opts.Issuer }

// IsPublicProvider reports whether everyone may have an account at a provider, as at Google and
// GitHub: the gateway then has to decide who may use it.
func IsPublicProvider(issuer string) bool {
	known := knownFor(issuer)
	return known != nil && known.public
}

// settings returns the settings of a login at the provider.
func (p *Provider) settings() *Settings {
	return &Settings{
		Client:       p.opts.Client,
		Scopes:       p.opts.Scopes,
		OmitResource: true, // the user signs in at the gateway, not at a resource
		AssumePKCE:   true, // the nonce, the secret and the cookie of the browser protect the code, too
	}
}

// web returns a client for the addresses of the provider. Hosts that the operator has named may be
// anywhere; those in the metadata must be public or allowed.
func (p *Provider) web() *web {
	typed := []string{p.opts.Issuer}
	for _, address := range []string{p.opts.Authorize, p.opts.Token, p.opts.UserInfo} {
		if address != "" {
			typed = append(typed, address)
		}
	}
	return newWeb(p.client.allow, typed...)
}

// flow returns a login at the provider, with its metadata.
func (p *Provider) flow(ctx context.Context) (*flow, error) {
	w := p.web()
	meta, err := p.metadata(ctx, w)
	if err != nil {
		return nil, err
	}
	f := &flow{
		client:     p.client,
		web:        w,
		server:     p.opts.Issuer,
		settings:   p.settings(),
		scopes:     mergeScopes(p.scopes(meta)),
		hosted:     true,
		parameters: map[string]string{},
		found: &discovery{
			server:  *meta,
			assumed: p.opts.Token != "",
		},
	}
	for name, value := range p.parameters {
		f.parameters[name] = value
	}
	return f, nil
}

// scopes returns the scopes to ask for.
func (p *Provider) scopes(meta *serverMetadata) (all []string) {
	if p.opts.Scopes != nil || p.opts.Token != "" {
		return p.opts.Scopes
	}
	for _, scope := range []string{"openid", "profile", "email", "offline_access"} {
		optional := scope != "openid" && (len(meta.ScopesSupported) > 0 || scope == "offline_access")
		if !optional || slices.Contains(meta.ScopesSupported, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// metadata returns the metadata of the provider, which is kept for a while: everyone can make
// the gateway begin a login.
func (p *Provider) metadata(ctx context.Context, w *web) (*serverMetadata, error) {
	if p.opts.Token != "" {
		return &serverMetadata{
			Issuer:                p.opts.Issuer,
			AuthorizationEndpoint: p.opts.Authorize,
			TokenEndpoint:         p.opts.Token,
			UserInfoEndpoint:      p.opts.UserInfo,
		}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.client.now()
	if p.meta != nil && now.Sub(p.fetched) < metadataLife {
		return p.meta, nil
	}
	meta, err := w.authorizationServer(context.WithoutCancel(ctx), p.opts.Issuer)
	if err != nil {
		return nil, err
	}
	p.meta = meta
	p.fetched = now
	return meta, nil
}

// Check verifies, by the metadata of the provider, that users can sign in there and return to
// redirect. The error matches [*SetupError] if the provider or the options lack something that it
// needs. Any other error means that the provider does not answer, or that its metadata is not usable.
func (p *Provider) Check(ctx context.Context, redirect string) error {
	if p.opts.Token != "" {
		return nil // its endpoints are configured
	}
	meta, err := p.web().authorizationServer(ctx, p.opts.Issuer)
	if errors.Is(err, errNoDocument) {
		return &SetupError{
			Text: secrets.URL(p.opts.Issuer) + " has no metadata of an OpenID Connect or OAuth provider",
			Hint: "use the issuer exactly as the provider states it, or set its endpoints",
		}
	}
	if err != nil {
		return err
	}
	f := &flow{
		settings: p.settings(),
		found:    &discovery{server: *meta},
	}
	if err := f.checkCodeSupport(); err != nil {
		return err
	}
	if p.opts.Client.ID != "" || meta.RegistrationEndpoint != "" {
		return nil
	}
	return &SetupError{
		Text: secrets.URL(p.opts.Issuer) + " does not register clients by itself",
		Hint: "register a client there with the callback " + redirect + ", and pass its ID with --sign-in-client-id",
	}
}

// SignIn is a login at a provider that waits for the answer of the browser. It is for one answer.
type SignIn struct {
	provider *Provider
	begun    *Begun
	// nonce must be in the ID token, so that a token of another login is refused.
	nonce string
}

// Begin starts a login whose answer arrives at the https URL redirect. Errors are a
// [*SetupError], a [*ServerError] or one of the network.
func (p *Provider) Begin(ctx context.Context, redirect string) (*SignIn, error) {
	f, err := p.flow(ctx)
	if err != nil {
		return nil, err
	}
	s := &SignIn{
		provider: p,
		nonce:    rand.Text(),
	}
	if slices.Contains(f.scopes, "openid") {
		f.parameters["nonce"] = s.nonce
	}
	s.begun, err = f.begin(ctx, redirect)
	setup := (*SetupError)(nil)
	if errors.As(err, &setup) && p.opts.Client.ID == "" {
		setup.Hint = "register a client there with the callback " + redirect + ", and pass its ID with --sign-in-client-id"
	}
	return s, err
}

// URL returns the page to open. It is secret.
func (s *SignIn) URL() string { return s.begun.Authorization().URL }

// State returns the state by which the answer is recognized. It is secret.
func (s *SignIn) State() string { return s.begun.State() }

// User is a user who has signed in.
type User struct {
	// Subject identifies the user at the provider, for good.
	Subject string
	// Claims are what the provider says about the user.
	Claims map[string]json.RawMessage
	// Tokens are those of the provider. They stay in the gateway.
	Tokens UserTokens
}

// UserTokens are the tokens of a provider, by which the gateway finds out later whether the user
// still exists there. They are secret.
type UserTokens struct {
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	// Lifetime is how long the access token is valid from its issue; 0 means unknown.
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

// Finish verifies the query of an answer, and returns the user. Errors are a [*ServerError], one
// that matches [ErrForeignAnswer], or one that says why the answer was not used.
func (s *SignIn) Finish(ctx context.Context, query url.Values) (*User, error) {
	t, err := s.begun.exchange(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.provider.user(ctx, s.begun.flow, t, s.nonce)
}

// ErrUserGone reports that a provider no longer has a user, or has ended the login.
var ErrUserGone = errors.New("the identity provider has ended the login")

// Known is what a gateway keeps of a user who has signed in.
type Known struct {
	// Redirect is the address that the login used.
	Redirect string
	Subject  string
	Tokens   UserTokens
}

// Refresh asks the provider again for a user who has signed in. The error matches [ErrUserGone]
// if the login has ended there, and is temporary otherwise. save stores new tokens before they
// are used: the old ones may no longer be valid then. Refresh is not cancelled with ctx, so that
// no answer is lost.
func (p *Provider) Refresh(
	ctx context.Context,
	k *Known,
	save func(UserTokens) error,
) (*User, error) {
	tokens := k.Tokens
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	f, err := p.flow(ctx)
	if err != nil {
		return nil, err
	}
	t := &token{
		access:   tokens.Access,
		lifetime: tokens.Lifetime,
	}
	switch {
	case tokens.Refresh != "":
		if err := f.useClient(ctx, k.Redirect, "authorization_code"); err != nil {
			return nil, err
		}
		form := f.form("refresh_token")
		form.Set("refresh_token", tokens.Refresh)
		if t, err = f.request(ctx, form); err != nil {
			if hasCode(err, "invalid_grant") {
				return nil, fmt.Errorf("%w: %w", ErrUserGone, err)
			}
			return nil, err
		}
		// A provider that does not rotate refresh tokens returns none.
		t.refresh = cmp.Or(t.refresh, tokens.Refresh)
		if err := save(tokensOf(t)); err != nil {
			return nil, err
		}
	case f.found.server.UserInfoEndpoint == "":
		return nil, fmt.Errorf("%w: it issued no refresh token", ErrUserGone)
	}
	// A refreshed ID token has no nonce.
	u, err := p.user(ctx, f, t, "")
	if err == nil && u.Subject != k.Subject {
		return nil, fmt.Errorf("%w: it answered with another user", ErrUserGone)
	}
	return u, err
}

// revokeTimeout bounds the revocation of tokens.
const revokeTimeout = 10 * time.Second

// Revoke revokes the tokens of a user at the provider (RFC 7009), so that they are useless to
// those who read them from the store or a backup. revoked is false if the provider does not
// support that. It takes at most 10 seconds.
func (p *Provider) Revoke(ctx context.Context, k *Known) (revoked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	f, err := p.flow(ctx)
	if err != nil || f.found.server.RevocationEndpoint == "" {
		return false, err
	}
	if err := f.useClient(ctx, k.Redirect, "authorization_code"); err != nil {
		return false, err
	}
	r := &record{
		Issuer:             f.issuer(),
		Client:             *f.registration,
		AuthMethods:        f.found.server.AuthMethods,
		RevocationEndpoint: f.found.server.RevocationEndpoint,
	}
	r.Access = k.Tokens.Access
	r.Refresh = k.Tokens.Refresh
	return true, p.client.revoke(ctx, f.web, r)
}

func tokensOf(t *token) UserTokens {
	return UserTokens{
		Access:   t.access,
		Refresh:  t.refresh,
		Lifetime: t.lifetime,
	}
}

// user returns the user whom a token of the provider describes.
func (p *Provider) user(ctx context.Context, f *flow, t *token, nonce string) (*User, error) {
	u := &User{
		Claims: map[string]json.RawMessage{},
		Tokens: tokensOf(t),
	}
	if t.dpop {
		return nil, errors.New("the identity provider answered with a token that is bound to a key")
	}
	signed := ""
	if t.id != "" {
		claims, err := p.idClaims(f, t.id, nonce)
		if err != nil {
			return nil, fmt.Errorf("ID token of %s: %w", secrets.URL(p.opts.Issuer), err)
		}
		u.Claims = claims
		signed = textClaim(claims, "sub")
	} else if nonce != "" && slices.Contains(f.scopes, "openid") {
		return nil, fmt.Errorf("%s answered without an ID token", secrets.URL(p.opts.Issuer))
	}
	if address := f.found.server.UserInfoEndpoint; address != "" {
		info, err := f.web.userInfo(ctx, address, t.access)
		if err != nil {
			return nil, err
		}
		// OpenID Connect Core, section 5.3.2: a token could be that of another user.
		if sub := textClaim(info, "sub"); signed != "" && sub != signed {
			return nil, fmt.Errorf("%s describes another user than its ID token", secrets.URL(address))
		}
		for name, value := range info {
			if _, ok := u.Claims[name]; !ok {
				u.Claims[name] = value
			}
		}
	}
	u.Subject = textClaim(u.Claims, p.opts.Subject)
	if u.Subject == "" || len(u.Subject) > maxSubject {
		return nil, fmt.Errorf("%s names no user: the claim %s is missing or too long", secrets.URL(p.opts.Issuer),
			p.opts.Subject)
	}
	return u, nil
}

// maxSubject bounds the name of a user at its provider.
const maxSubject = 255

// idClaims returns the claims of an ID token. It was received from the token endpoint over TLS,
// which vouches for the issuer in place of the signature (OpenID Connect Core, section 3.1.3.7).
// nonce is empty for refreshed tokens.
func (p *Provider) idClaims(f *flow, text, nonce string) (map[string]json.RawMessage, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(text) > maxSecret {
		return nil, errors.New("not a signed JWT")
	}
	payload, err := base64url.Decode(parts[1])
	if err != nil || jsonscan.Valid(payload) != nil {
		return nil, errors.New("not a signed JWT")
	}
	var all map[string]json.RawMessage
	var c struct {
		Issuer          string          `json:"iss"`
		Audience        json.RawMessage `json:"aud"`
		AuthorizedParty string          `json:"azp"`
		Expires         float64         `json:"exp"`
		Nonce           string          `json:"nonce"`
	}
	if json.Unmarshal(payload, &all) != nil || json.Unmarshal(payload, &c) != nil {
		return nil, errors.New("not a signed JWT")
	}
	audience := audiences(c.Audience)
	id := f.registration.ID
	switch {
	case c.Issuer != p.opts.Issuer:
		return nil, fmt.Errorf("it is of another issuer, %q", printable(c.Issuer))
	case !slices.Contains(audience, id) || len(audience) > 1 && c.AuthorizedParty != id ||
		c.AuthorizedParty != "" && c.AuthorizedParty != id:
		return nil, errors.New("it is for another client")
	case float64(p.client.now().Add(-clockLeeway).Unix()) > c.Expires:
		return nil, errors.New("it has expired")
	case nonce != "" && c.Nonce != nonce:
		return nil, errors.New("it is of another login")
	}
	return all, nil
}

// clockLeeway is the tolerated difference between clocks.
const clockLeeway = 30 * time.Second

// audiences reads aud: a text or a list.
func audiences(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var list []string
	_ = json.Unmarshal(raw, &list) // otherwise no audience
	return list
}

// textClaim returns a claim that is a text or a number, or "".
func textClaim(claims map[string]json.RawMessage, name string) string {
	var text string
	if json.Unmarshal(claims[name], &text) == nil {
		return text
	}
	var number json.Number
	_ = json.Unmarshal(claims[name], &number) // otherwise no text
	return number.String()
}

// userInfo asks an endpoint about the user of a token. The error matches [ErrUserGone] if the
// token is not accepted.
func (w *web) userInfo(ctx context.Context, address, access string) (map[string]json.RawMessage, error) {
	if err := w.checkURL(address); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+access)
	// A redirect would send the token to another address.
	client := *w.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", secrets.URL(address), failureOf(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		failure := &ServerError{
			Host:   hostOf(address),
			Status: resp.StatusCode,
		}
		if resp.StatusCode == http.StatusUnauthorized {
			return nil, fmt.Errorf("%w: %w", ErrUserGone, failure)
		}
		return nil, failure
	}
	text, err := readDocument(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", secrets.URL(address), err)
	}
	var claims map[string]json.RawMessage
	if jsonscan.Valid(text) != nil || json.Unmarshal(text, &claims) != nil {
		return nil, fmt.Errorf("%s did not answer with a JSON object", secrets.URL(address))
	}
	return claims, nil
}
