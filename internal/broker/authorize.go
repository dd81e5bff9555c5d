package broker

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/clientaddr"
	"github.com/slipway-mcp/slipway/mcp"
)

// Page is what a page shows.
type Page struct {
	Heading string
	// Problem says why there is nothing to consent to, or is empty.
	Problem string
	// Consent is the question, or nil.
	Consent *Consent
}

// Consent asks the user to let a client use the gateway. All texts but Form are for people, and
// untrusted.
type Consent struct {
	// Client is what the client calls itself, and ClientHost the host that vouches for it, or
	// empty: everyone can choose the name.
	Client, ClientHost string
	// Redirect is the host that the browser leads to afterwards, and Loopback reports that it is
	// this machine.
	Redirect string
	Loopback bool
	// Resource is what the client may use, with Scopes.
	Resource string
	Scopes   []string
	// Provider is the host at which the user signs in.
	Provider string
	// Form is the value of the field [FormField].
	Form string
}

// The fields of the form of a page, and the values of [DecisionField].
const (
	FormField     = "request"
	DecisionField = "decision"
	Allow         = "allow"
	Deny          = "deny"
)

// Limits of requests for a code.
const (
	maxQuery     = 8 << 10
	maxPageForm  = 16 << 10
	maxState     = 1 << 10
	maxScopes    = 64
	maxScopeText = 2 << 10
	maxResource  = 512
)

// transaction is a request for a code. It is sealed into the form of the page, so that nothing
// is kept before the user has consented.
type transaction struct {
	ID       string `json:"id"`
	Client   string `json:"client"` // the digest of its ID
	ClientID string `json:"clientId"`
	Name     string `json:"name,omitempty"`
	// Redirect, State, Challenge and Resource are parameters of the request. The code is for a
	// client that presents the same ones.
	Redirect  string   `json:"redirect"`
	State     string   `json:"state,omitempty"`
	Challenge string   `json:"challenge"`
	Resource  string   `json:"resource"`
	Scopes    []string `json:"scopes,omitempty"`
	Browser   string   `json:"browser"` // the digest of its secret
	// Expires is in seconds since 1970. ClientHost is the host of a client document, shown to the
	// user.
	Expires    int64  `json:"expires"`
	ClientHost string `json:"clientHost,omitempty"`
}

// redirectHost returns where the redirect leads, for people.
func (t *transaction) redirectHost() string {
	u, err := url.Parse(t.Redirect)
	if err != nil {
		return ""
	}
	return shownHost(u)
}

// event returns an event of the transaction.
func (t *transaction) event(what string) *Event {
	return &Event{
		What:     what,
		Client:   t.Name,
		Redirect: t.redirectHost(),
	}
}

// problem shows why a login cannot go on.
func (b *Broker) problem(w http.ResponseWriter, status int, text string) {
	b.opts.Render(w, status, &Page{
		Heading: "Not signed in",
		Problem: text,
	})
}

// once returns the value of a parameter; ok is false if it is given more than once.
func once(q url.Values, name string) (value string, ok bool) {
	return q.Get(name), len(q[name]) <= 1
}

// ask shows the page that asks for consent. Until client and redirect are known to be valid, an
// error is shown, not sent anywhere: the redirect could be chosen by an attacker.
func (b *Broker) ask(w http.ResponseWriter, r *http.Request) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(r.URL.RawQuery) > maxQuery {
		b.problem(w, http.StatusBadRequest, "The request of the MCP client is not valid, or too long.")
		return
	}
	id, single := once(q, "client_id")
	redirect, singleRedirect := once(q, "redirect_uri")
	if !single || !singleRedirect {
		b.problem(w, http.StatusBadRequest, "The request of the MCP client repeats a parameter.")
		return
	}
	c, err := b.resolve(r.Context(), id)
	var known *oauthError
	switch {
	case errors.As(err, &known):
		b.problem(w, http.StatusBadRequest, "This gateway does not know the MCP client: "+known.Text+".")
		return
	case err != nil:
		b.log.Error("sign-in", "error", err)
		b.problem(w, http.StatusServiceUnavailable, "The gateway cannot sign you in now. Its log says why.")
		return
	case redirect == "" || !matches(c.redirects, redirect):
		b.problem(w, http.StatusBadRequest, "The MCP client asks to be answered at an address that is not registered "+
			"or not allowed here. Nothing was sent there.")
		return
	}
	// The redirect is known to belong to the client, so further errors are sent to it.
	t := &transaction{
		ID:         rand.Text(),
		Client:     c.digest(),
		ClientID:   c.shortID(),
		Name:       c.name,
		ClientHost: c.host,
		Redirect:   redirect,
		Expires:    b.now().Add(formLife).Unix(),
	}
	if state, ok := once(q, "state"); ok && len(state) <= maxState {
		t.State = state
	}
	if err := b.complete(t, q); err != nil {
		b.redirectError(w, r, t, err)
		return
	}
	b.showConsent(w, r, t)
}

// complete verifies the rest of a request for a code.
func (b *Broker) complete(t *transaction, q url.Values) *oauthError {
	for _, name := range []string{
		"response_type", "response_mode", "state", "code_challenge", "code_challenge_method", "scope", "prompt",
	} {
		if _, ok := once(q, name); !ok {
			return badRequest(invalidRequest, "%s is given more than once", name)
		}
	}
	challenge, err := base64url.Decode(q.Get("code_challenge"))
	mode := q.Get("response_mode")
	switch {
	// Request objects (RFC 9101) are refused, because their parameters would take precedence.
	case q.Has("request") || q.Has("request_uri"):
		return badRequest("request_not_supported", "send the parameters in the address")
	case q.Get("response_type") != "code":
		return badRequest("unsupported_response_type", "want response_type code")
	case mode != "" && mode != "query":
		return badRequest(invalidRequest, "want response_mode query")
	case len(q.Get("state")) > maxState:
		return badRequest(invalidRequest, "state has more than %d bytes", maxState)
	case q.Get("code_challenge_method") != "S256" || err != nil || len(challenge) != 32:
		return badRequest(invalidRequest, "PKCE with S256 is required: code_challenge and code_challenge_method")
	case q.Get("prompt") == "none":
		return badRequest("interaction_required", "the user has to consent")
	}
	t.Challenge = q.Get("code_challenge")
	resource, failed := b.resource(q["resource"])
	if failed != nil {
		return failed
	}
	t.Resource = resource.ID
	if len(q.Get("scope")) > maxScopeText {
		return badRequest("invalid_scope", "scope has more than %d bytes", maxScopeText)
	}
	t.Scopes = scopesFor(resource, q.Get("scope"))
	return nil
}

// resource returns the endpoint that a client asks for.
func (b *Broker) resource(asked []string) (*Resource, *oauthError) {
	all := b.opts.Resources()
	switch {
	case len(asked) == 0 || asked[0] == "":
		return nil, badRequest(invalidTarget, "resource is missing: want the resource of the endpoint's metadata")
	case len(asked) > 1:
		return nil, badRequest(invalidTarget, "want one resource")
	case len(asked[0]) > maxResource:
		return nil, badRequest(invalidTarget, "resource has more than %d bytes", maxResource)
	}
	for i := range all {
		if all[i].ID == strings.TrimSuffix(asked[0], "/") {
			return &all[i], nil
		}
	}
	return nil, badRequest(invalidTarget, "the resource is not an endpoint of this gateway")
}

// scopesFor returns the scopes that a client gets: those of the resource among the ones that it
// asks for, or without any the required ones.
func scopesFor(resource *Resource, asked string) (all []string) {
	for scope := range strings.FieldsSeq(asked) {
		if slices.Contains(resource.Supported, scope) &&
			!slices.Contains(all, scope) &&
			len(all) < maxScopes {
			all = append(all, scope)
		}
	}
	if all == nil {
		return slices.Clone(resource.Required)
	}
	return all
}

// browserCookie is the name of the cookie that recognizes a browser. Over https, no other host
// and no page over http can set it.
func (b *Broker) browserCookie() string {
	if b.secure() {
		return "__Host-slipway-sign-in"
	}
	return "slipway-sign-in"
}

// browser returns the secret of the browser that sent a request, or "".
func (b *Broker) browser(r *http.Request) string {
	cookies := r.CookiesNamed(b.browserCookie())
	if len(cookies) != 1 || len(cookies[0].Value) < identity.BrowserSecret {
		return ""
	}
	return cookies[0].Value
}

// setBrowser sets the secret of a browser for the time of a login.
func (b *Broker) setBrowser(w http.ResponseWriter, secret string) {
	http.SetCookie(w, &http.Cookie{
		Name:     b.browserCookie(),
		Value:    secret,
		Path:     "/",
		MaxAge:   int((2 * formLife).Seconds()),
		Secure:   b.secure(),
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // the browser returns from another site
	})
}

// showConsent shows the page of a transaction, for this browser alone.
func (b *Broker) showConsent(w http.ResponseWriter, r *http.Request, t *transaction) {
	k, err := b.keys(r.Context())
	if err != nil {
		b.log.Error("sign-in", "error", err)
		b.problem(w, http.StatusServiceUnavailable, "The gateway cannot sign you in now. Its log says why.")
		return
	}
	secret := b.browser(r)
	if secret == "" { // several tabs of a browser share it
		secret = rand.Text()
	}
	b.setBrowser(w, secret)
	t.Browser = digest(secret)
	redirect, _ := url.Parse(t.Redirect) // it was parsed before
	provider, _ := url.Parse(b.opts.Provider.Issuer())
	b.opts.Render(w, http.StatusOK, &Page{
		Heading: "Sign in",
		Consent: &Consent{
			Client:     t.Name,
			ClientHost: t.ClientHost,
			Redirect:   shownHost(redirect),
			Loopback:   isLoopback(redirect),
			Resource:   t.Resource,
			Scopes:     t.Scopes,
			Provider:   provider.Host,
			Form:       base64.RawURLEncoding.EncodeToString(k.seal(sealedForm, t)),
		},
	})
}

// pendingLogin is a login that the user has consented to, and that waits for the provider.
type pendingLogin struct {
	transaction *transaction
	signIn      *identity.SignIn
}

// decide handles the form of the page.
func (b *Broker) decide(w http.ResponseWriter, r *http.Request) {
	if err := b.origins.Check(r); err != nil {
		b.problem(w, http.StatusForbidden, "This request came from another site. You were not signed in.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPageForm)
	t, err := b.formOf(r)
	if err != nil {
		b.log.Error("sign-in", "error", err)
	}
	switch {
	case t == nil:
		b.problem(w, http.StatusForbidden, "This form is not valid, or was shown in another browser or more than 10 "+
			"minutes ago. Go back to your MCP client and start again.")
		return
	case !b.forms.first(t.ID, struct{}{}):
		b.problem(w, http.StatusForbidden, "This form was sent before. Go back to your MCP client and start again.")
		return
	case r.PostForm.Get(DecisionField) != Allow:
		b.record(r, t.event(Declined))
		b.redirectError(w, r, t, badRequest(accessDenied, "the user declined"))
		return
	}
	signIn, err := b.opts.Provider.Begin(r.Context(), b.opts.Issuer+CallbackPath)
	if err != nil {
		b.logProvider("the login at the identity provider cannot begin", err)
		b.redirectError(w, r, t, badRequest(unavailable,
			"the login at the identity provider cannot begin; the log of the gateway says why"))
		return
	}
	b.pending.put(signIn.State(), clientaddr.Of(r.RemoteAddr), &pendingLogin{t, signIn})
	http.Redirect(w, r, signIn.URL(), http.StatusSeeOther)
}

// formOf returns the transaction in a form, or nil if it is not one for this browser.
func (b *Broker) formOf(r *http.Request) (*transaction, error) {
	if err := r.ParseForm(); err != nil {
		return nil, nil
	}
	sealed, err := base64url.Decode(r.PostForm.Get(FormField))
	if err != nil {
		return nil, nil
	}
	k, err := b.keys(r.Context())
	if err != nil {
		return nil, err
	}
	t := &transaction{}
	if !k.open(sealedForm, sealed, t) ||
		b.now().Unix() > t.Expires ||
		!t.isBrowser(b.browser(r)) {
		return nil, nil
	}
	return t, nil
}

// isBrowser reports whether a secret is that of the browser in which the page was shown.
func (t *transaction) isBrowser(secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(t.Browser), []byte(digest(secret))) == 1
}

// grantedCode is a code for a client.
type grantedCode struct {
	// transaction is the request that the user consented to, and tokens are those of the provider.
	transaction *transaction
	principal   *mcp.Principal
	tokens      identity.UserTokens
}

// unknownLogin is the text for a login that is not known.
const unknownLogin = "This login is not known, or no longer. Go back to your MCP client and start again."

// answer handles the return of a browser from the provider. The answer of another browser than
// the one in which the user consented changes nothing.
func (b *Broker) answer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	state, single := once(q, "state")
	waiting, ok := b.pending.get(state)
	if !single || !ok {
		b.problem(w, http.StatusNotFound, unknownLogin)
		return
	}
	t := waiting.transaction
	if !t.isBrowser(b.browser(r)) {
		b.problem(w, http.StatusForbidden, "This login was begun in another browser. You were not signed in.")
		return
	}
	if _, ok := b.pending.take(state); !ok { // an answer is used once
		b.problem(w, http.StatusNotFound, unknownLogin)
		return
	}
	user, err := waiting.signIn.Finish(r.Context(), q)
	if err != nil {
		b.providerRefused(w, r, t, err)
		return
	}
	p, err := b.opts.User(user)
	if err != nil {
		b.userRefused(w, r, t, err)
		return
	}
	code := rand.Text()
	b.codes.put(digest(code), p.Name, &grantedCode{t, p, user.Tokens})
	e := t.event(SignedIn)
	e.Principal = p.Name
	b.record(r, e)
	b.redirect(w, r, t, url.Values{"code": {code}})
}

// providerRefused reports to the client that the provider has not signed the user in.
func (b *Broker) providerRefused(
	w http.ResponseWriter,
	r *http.Request,
	t *transaction,
	err error,
) {
	e := t.event(Refused)
	e.Reason = "the login at the identity provider failed"
	b.record(r, e)
	var answered *identity.ServerError
	if errors.As(err, &answered) &&
		answered.Status == 0 &&
		answered.Code == accessDenied {
		b.redirectError(w, r, t, badRequest(accessDenied, "the login at the identity provider was not completed"))
		return
	}
	b.logProvider("the login at the identity provider failed", err)
	b.redirectError(w, r, t, badRequest(serverFailure,
		"the login at the identity provider failed; the log of the gateway says why"))
}

// userRefused reports to the client that the user may not use the gateway.
func (b *Broker) userRefused(w http.ResponseWriter, r *http.Request, t *transaction, err error) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		b.logProvider("the claims of the identity provider cannot be used", err)
		b.redirectError(w, r, t, badRequest(serverFailure, "the claims of the identity provider cannot be used"))
		return
	}
	e := t.event(Refused)
	e.Reason = refused.Text
	b.record(r, e)
	b.redirectError(w, r, t, badRequest(accessDenied, "%s", refused.Text))
}

// logProvider logs an error of the provider with its hint.
func (b *Broker) logProvider(message string, err error) {
	var setup *identity.SetupError
	if errors.As(err, &setup) {
		b.log.Error(message, "error", err, "hint", setup.Hint)
		return
	}
	b.log.Error(message, "error", err)
}

// redirectError answers a request for a code with an error.
func (b *Broker) redirectError(
	w http.ResponseWriter,
	r *http.Request,
	t *transaction,
	err *oauthError,
) {
	b.redirect(w, r, t, url.Values{
		"error":             {err.Code},
		"error_description": {err.Text},
	})
}

// redirect answers a request for a code, with the issuer (RFC 9207).
func (b *Broker) redirect(
	w http.ResponseWriter,
	r *http.Request,
	t *transaction,
	answer url.Values,
) {
	if t.State != "" {
		answer.Set("state", t.State)
	}
	answer.Set("iss", b.opts.Issuer)
	http.Redirect(w, r, withQuery(t.Redirect, answer), http.StatusSeeOther)
}

// expiresIn returns the seconds of a duration, rounded down.
func expiresIn(d time.Duration) int64 { return int64(d / time.Second) }

// withoutCancel is the context for what must not be lost when a client disconnects.
func withoutCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
}
