package broker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// maxForm bounds the body of a request of a client.
const maxForm = 16 << 10

// clientForm reads the form of a client. No parameter may be repeated.
func clientForm(w http.ResponseWriter, r *http.Request) (url.Values, *oauthError) {
	text, err := fsutil.ReadLimited(http.MaxBytesReader(w, r.Body, maxForm+1), maxForm)
	if err != nil {
		return nil, &oauthError{
			Status: http.StatusRequestEntityTooLarge,
			Code:   invalidRequest,
			Text:   "the request is too large",
		}
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	form, err := url.ParseQuery(string(text))
	if err != nil || !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return nil, badRequest(invalidRequest, "want a form")
	}
	for name, values := range form {
		if len(values) > 1 {
			return nil, badRequest(invalidRequest, "%.40q is given more than once", name)
		}
	}
	if r.URL.RawQuery != "" {
		return nil, badRequest(invalidRequest, "send the parameters in the body: addresses are logged")
	}
	// A client that sends a credential expects that it is checked.
	if form.Has("client_secret") ||
		form.Has("client_assertion") ||
		r.Header.Get("Authorization") != "" {
		return nil, &oauthError{
			Status: http.StatusUnauthorized,
			Code:   invalidClient,
			Text:   "clients are public here: send client_id alone (token_endpoint_auth_method none)",
		}
	}
	return form, nil
}

// tokenAnswer is a successful answer of RFC 6749, section 5.1.
type tokenAnswer struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope,omitempty"`
}

// forClient handles the form of a known client. What has begun is not cancelled with the request.
// An error of handle is the answer.
func (b *Broker) forClient(
	w http.ResponseWriter, r *http.Request, handle func(ctx context.Context, c *client, form url.Values) error,
) {
	form, failed := clientForm(w, r)
	if failed != nil {
		b.fail(w, failed)
		return
	}
	ctx, cancel := withoutCancel(r.Context())
	defer cancel()
	c, err := b.resolve(ctx, form.Get("client_id"))
	if err == nil {
		err = handle(ctx, c, form)
	}
	if err != nil {
		b.fail(w, err)
	}
}

// token is the token endpoint.
func (b *Broker) token(w http.ResponseWriter, r *http.Request) {
	b.forClient(w, r, func(ctx context.Context, c *client, form url.Values) (err error) {
		var answer *tokenAnswer
		switch form.Get("grant_type") {
		case "authorization_code":
			answer, err = b.exchange(ctx, r, c, form)
		case "refresh_token":
			answer, err = b.refresh(ctx, r, c, form)
		default:
			err = badRequest("unsupported_grant_type", "want authorization_code or refresh_token")
		}
		if err != nil {
			return err
		}
		w.Header().Set("Pragma", "no-cache")
		write(w, http.StatusOK, answer)
		return nil
	})
}

// errGrant is the error for a code or a refresh token that is not valid. Why is not said.
func errGrant() error {
	return badRequest(invalidGrant, "the code or the refresh token is not valid: sign in again")
}

// exchange answers a code with the first tokens of a session. A code is used up by its first use,
// whether that succeeds or not; a second use ends the session.
func (b *Broker) exchange(
	ctx context.Context,
	r *http.Request,
	c *client,
	form url.Values,
) (*tokenAnswer, error) {
	code := digest(form.Get("code"))
	granted, ok := b.codes.take(code)
	if !ok {
		if id, spent := b.spent.take(code); spent {
			b.record(r, &Event{
				What:   CodeUsed,
				Client: c.name,
			})
			if err := b.endSession(ctx, r, id); err != nil {
				return nil, err
			}
		}
		return nil, errGrant()
	}
	// The code is for the client, the redirect and the verifier of its request (RFC 6749, section
	// 4.1.3, and RFC 7636).
	t := granted.transaction
	if t.Client != c.digest() || t.Redirect != form.Get("redirect_uri") ||
		!verifies(t.Challenge, form.Get("code_verifier")) {
		return nil, errGrant()
	}
	asked := form.Get("resource")
	if asked != "" && strings.TrimSuffix(asked, "/") != t.Resource {
		return nil, badRequest(invalidTarget, "the code is for another resource")
	}
	id := rand.Text()
	now := b.now()
	s := &session{
		Client:     t.Client,
		ClientID:   t.ClientID,
		Name:       t.Name,
		Resource:   t.Resource,
		Scopes:     t.Scopes,
		Tokens:     granted.tokens,
		Generation: 1,
		Rotated:    now,
		Created:    now,
	}
	s.describe(granted.principal)
	if err := b.addSession(ctx, id, s); err != nil {
		return nil, err
	}
	b.spent.put(code, "", id)
	return b.issue(ctx, id, s, nil)
}

// verifies reports whether a verifier belongs to a challenge (RFC 7636, section 4.6).
func verifies(challenge, verifier string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// issue returns tokens of a session. scopes, if not nil, are fewer than those of the session.
func (b *Broker) issue(
	ctx context.Context,
	id string,
	s *session,
	scopes []string,
) (*tokenAnswer, error) {
	k, err := b.keys(ctx)
	if err != nil {
		return nil, err
	}
	if scopes == nil {
		scopes = s.Scopes
	}
	now := b.now()
	// A token must not outlast the one of the provider, whose refresh confirms the user.
	life := b.opts.TokenLife
	if s.Tokens.Lifetime > 0 {
		life = max(min(life, s.Tokens.Lifetime), time.Second)
	}
	scope := strings.Join(scopes, " ")
	claims := map[string]any{
		"iss":       b.opts.Issuer,
		"sub":       s.Subject,
		"aud":       s.Resource,
		"client_id": s.ClientID,
		"scope":     scope,
		"iat":       now.Unix(),
		"exp":       now.Add(life).Unix(),
		"jti":       rand.Text(),
		"sid":       id,
		"idp":       s.Issuer,
	}
	for name, value := range map[string][]string{
		"groups": s.Groups,
		"roles":  s.Roles,
	} {
		if len(value) > 0 {
			claims[name] = value
		}
	}
	if s.Tenant != "" {
		claims["tenant"] = s.Tenant
	}
	if len(s.Claims) > 0 {
		claims["claims"] = s.Claims
	}
	access, err := k.sign(claims, now)
	if err != nil {
		return nil, err
	}
	return &tokenAnswer{
		Access:    access,
		Type:      "Bearer",
		ExpiresIn: expiresIn(life),
		Refresh:   k.refreshToken(id, s.Generation),
		Scope:     scope,
	}, nil
}

// refresh answers a refresh token with the next tokens of its session, after the provider has
// confirmed the user. A token that was used before ends the session, except for the last one
// within the time of grace: its successor is returned again.
func (b *Broker) refresh(
	ctx context.Context,
	r *http.Request,
	c *client,
	form url.Values,
) (*tokenAnswer, error) {
	k, err := b.keys(ctx)
	if err != nil {
		return nil, err
	}
	id, generation, ok := k.parseRefreshToken(form.Get("refresh_token"))
	if !ok {
		return nil, errGrant()
	}
	// Of two requests with the same token, the second must see that it was used.
	unlock, err := b.opts.Store.Lock(ctx, b.kind("session"), id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := b.session(id)
	if err != nil {
		return nil, err
	}
	if s == nil || s.Client != c.digest() || generation > s.Generation {
		return nil, errGrant()
	}
	asked := form.Get("resource")
	if asked != "" && strings.TrimSuffix(asked, "/") != s.Resource {
		return nil, badRequest(invalidTarget, "the refresh token is for another resource")
	}
	scopes, failed := narrowed(s.Scopes, form.Get("scope"))
	if failed != nil {
		return nil, failed
	}
	event := &Event{
		What:      Refreshed,
		Principal: s.principalName(),
		Client:    s.Name,
	}
	switch age := b.now().Sub(s.Rotated); {
	case generation == s.Generation:
	// The client may not have received the answer, as after a lost connection.
	case generation == s.Generation-1 && age >= 0 && age <= grace:
		return b.issue(ctx, id, s, scopes)
	default:
		event.What = Reused
		b.record(r, event)
		if err := b.endSession(ctx, r, id); err != nil {
			return nil, err
		}
		return nil, errGrant()
	}
	if s, err = b.confirm(ctx, id, s); err != nil {
		if !errors.Is(err, identity.ErrUserGone) {
			return nil, err
		}
		event.What = Ended
		event.Reason = "the identity provider or the gateway no longer accepts the user"
		b.record(r, event)
		if err := b.endSession(ctx, r, id); err != nil {
			return nil, err
		}
		return nil, errGrant()
	}
	b.record(r, event)
	return b.issue(ctx, id, s, scopes)
}

// narrowed returns the scopes that a refresh asks for, or nil for those of the session.
func narrowed(granted []string, asked string) ([]string, *oauthError) {
	if asked == "" {
		return nil, nil
	}
	scopes := []string{}
	for scope := range strings.FieldsSeq(asked) {
		if slices.Contains(granted, scope) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 && len(granted) > 0 {
		return nil, badRequest("invalid_scope", "the refresh token has none of these scopes")
	}
	return scopes, nil
}

// confirm asks the provider for the user of a session, and rotates its refresh token. The error
// matches [identity.ErrUserGone] if the user may no longer use the gateway; after others, the
// refresh token is still valid.
func (b *Broker) confirm(ctx context.Context, id string, s *session) (*session, error) {
	ended := func(ok bool, err error) error {
		if err == nil && !ok {
			return identity.ErrUserGone
		}
		return err
	}
	user, err := b.opts.Provider.Refresh(ctx, &identity.Known{
		Redirect: b.opts.Issuer + CallbackPath,
		Subject:  s.Subject,
		Tokens:   s.Tokens,
	}, func(tokens identity.UserTokens) error {
		return ended(b.changeSession(ctx, id, func(stored *session) error {
			stored.Tokens = tokens
			return nil
		}))
	})
	if err != nil {
		b.logProvider("the identity provider does not confirm a user", err)
		return nil, err
	}
	// The rules of the gateway apply again: the claims of the user may have changed.
	p, err := b.opts.User(user)
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return nil, identity.ErrUserGone
	}
	if err != nil {
		return nil, err
	}
	var next *session
	err = ended(b.changeSession(ctx, id, func(stored *session) error {
		stored.describe(p)
		stored.Tokens = user.Tokens
		stored.Generation++
		stored.Rotated = b.now()
		next = stored
		return nil
	}))
	return next, err
}

// revoke is the revocation endpoint (RFC 7009): either token ends the session. A token that is
// not valid is no error (section 2.2).
func (b *Broker) revoke(w http.ResponseWriter, r *http.Request) {
	b.forClient(w, r, func(ctx context.Context, c *client, form url.Values) error {
		if err := b.revokeToken(ctx, r, c, form.Get("token")); err != nil {
			return err
		}
		w.WriteHeader(http.StatusOK)
		return nil
	})
}

// revokeToken ends the session of a token of a client, if there is one.
func (b *Broker) revokeToken(
	ctx context.Context,
	r *http.Request,
	c *client,
	token string,
) error {
	k, err := b.keys(ctx)
	if err != nil {
		return err
	}
	id, _, ok := k.parseRefreshToken(token)
	if !ok {
		id = sessionOf(token)
	}
	s, err := b.session(id)
	if err != nil || s == nil {
		return err
	}
	if s.Client != c.digest() {
		return badRequest(invalidGrant, "the token was issued to another client")
	}
	if err := b.endSession(ctx, r, id); err != nil {
		return err
	}
	b.record(r, &Event{
		What:      Revoked,
		Principal: s.principalName(),
		Client:    s.Name,
	})
	return nil
}

// sessionOf returns the session that an access token names. Its signature is not verified: the
// ID of a session is as secret as the token, and only ends it.
func sessionOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64url.Decode(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Session string `json:"sid"`
	}
	_ = json.Unmarshal(payload, &claims) // without one, no session is found
	return claims.Session
}
