package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/mcp"
)

// IntrospectionOptions configure [NewIntrospection]. Issuer, URL and Audience are required.
type IntrospectionOptions struct {
	// Issuer is the authorization server that issues the tokens. A token that names another
	// one is not sent to it.
	Issuer string
	// URL is where the issuer answers questions about tokens (RFC 7662): https, or on this
	// machine.
	URL string
	// ClientID and Secret authenticate the server there, as a client of the issuer. The secret
	// is read for each question; nil means none.
	ClientID string
	Secret   func(ctx context.Context) (string, error)
	// Audience lists the accepted audiences, as in [JWTOptions].
	Audience []string
	// Claims names the members of the answer that become part of the principal.
	Claims ClaimOptions
	// Remember is how long an answer is used: 0 means 30 seconds. A token that is revoked stays
	// accepted for that time.
	Remember time.Duration
	// Leeway is the tolerated clock difference; 0 means 30 seconds.
	Leeway time.Duration
	// Timeout bounds a question; 0 means 5 seconds.
	Timeout time.Duration
	// Client sends the questions; nil means http.DefaultClient. Redirects are not followed.
	Client *http.Client
}

// Introspection is a [Verifier] for opaque tokens of one issuer, which it asks about each
// (RFC 7662). Names and claims of principals are those of [JWT].
//
// An answer is remembered by the hash of the token. At most 256 requests wait for answers, 32
// of one address; more are asked to come back.
type Introspection struct {
	opts    IntrospectionOptions
	paths   *claimPaths
	client  *http.Client
	waiting waitingRoom
	// revoked, if set, is called with a token that the issuer has accepted and now does not.
	revoked atomic.Pointer[func(token string)]

	mu sync.Mutex
	// known are the answers by the hash of the token, including those that are on their way.
	known map[[sha256.Size]byte]*introspected
}

var _ Verifier = (*Introspection)(nil)

// introspected is the answer to the question about a token, once done is closed.
type introspected struct {
	done chan struct{}
	p    *mcp.Principal
	err  error // wraps ErrToken if the issuer does not accept the token
	// until is when the issuer has to be asked again.
	until time.Time
	// accepted means that the issuer accepts the token, or did before it could not be asked.
	accepted bool
	// outdated means that the token was revoked after the question, perhaps.
	outdated bool
}

// NewIntrospection returns a verifier that asks an issuer. opts is required, and copied. The
// error is an address that is neither https nor on this machine, a missing audience, or an
// invalid claim path.
func NewIntrospection(opts *IntrospectionOptions) (*Introspection, error) {
	v := &Introspection{
		opts:  *opts,
		known: make(map[[sha256.Size]byte]*introspected),
	}
	o := &v.opts
	if _, err := secureURL(o.Issuer); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if _, err := secureURL(o.URL); err != nil {
		return nil, fmt.Errorf("introspection URL: %w", err)
	}
	if len(o.Audience) == 0 || slices.Contains(o.Audience, "") {
		return nil, errors.New("introspection: without an audience, tokens for other servers would be accepted")
	}
	var err error
	if v.paths, err = o.Claims.parse(); err != nil {
		return nil, fmt.Errorf("introspection: %w", err)
	}
	o.Remember = cmp.Or(max(o.Remember, 0), 30*time.Second)
	o.Leeway = cmp.Or(max(o.Leeway, 0), 30*time.Second)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 5*time.Second)
	client := *cmp.Or(o.Client, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	v.client = &client
	return v, nil
}

// forEndpoint implements endpointVerifier.
func (v *Introspection) forEndpoint(name string) Verifier {
	own := &Introspection{
		opts:   v.opts,
		paths:  v.paths,
		client: v.client,
		known:  make(map[[sha256.Size]byte]*introspected),
	}
	own.opts.Audience = audiencesBelow(v.opts.Audience, name)
	own.opts.Claims.AllowNoAudience = false // it would open every endpoint
	return own
}

// Verify implements [Verifier].
func (v *Introspection) Verify(ctx context.Context, token string) (*mcp.Principal, error) {
	issuer := issuerIn(token)
	if issuer != "" && issuer != v.opts.Issuer {
		return nil, invalid("not a token of %s", v.opts.Issuer)
	}
	sum := sumOf(token)
	now := time.Now()
	v.mu.Lock()
	answer := v.known[sum]
	if answer != nil && (answer.until.IsZero() || now.Before(answer.until)) {
		v.mu.Unlock()
		return answer.wait(ctx)
	}
	leave, ok := v.waiting.enter(ctx, maxWaitingOfAddress)
	if !ok {
		v.mu.Unlock()
		return nil, &throttledError{
			after:  time.Second,
			reason: "too many tokens are being verified",
		}
	}
	accepted := answer != nil && answer.accepted
	answer = &introspected{done: make(chan struct{})}
	v.makeRoom(now)
	v.known[sum] = answer
	v.mu.Unlock()
	defer leave()

	err := errors.New("the question failed") // of a panic
	var p *mcp.Principal
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		answer.p = p
		answer.err = err
		answer.accepted = err == nil || accepted && !errors.Is(err, ErrToken)
		answer.until = now.Add(v.opts.Remember)
		switch {
		case err != nil && !errors.Is(err, ErrToken):
			answer.until = now.Add(time.Second) // the issuer may recover
		case answer.outdated:
			answer.until = now // the next request asks again
		case err == nil && !p.Expires.IsZero() && p.Expires.Before(answer.until):
			answer.until = p.Expires
		}
		close(answer.done)
		f := v.revoked.Load()
		if f != nil && accepted && errors.Is(err, ErrToken) {
			(*f)(token)
		}
	}()
	// The answer serves all requests with the token, so it is awaited if this client disconnects.
	p, err = v.ask(context.WithoutCancel(ctx), token)
	return p, err
}

// wait waits for the answer to a question of another request.
func (a *introspected) wait(ctx context.Context) (*mcp.Principal, error) {
	select {
	case <-a.done:
		return a.p, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// makeRoom drops answers that are too old or, if there are none, a tenth. mu is held.
func (v *Introspection) makeRoom(now time.Time) {
	if len(v.known) < maxVerified {
		return
	}
	for sum, a := range v.known {
		if !a.until.IsZero() && !now.Before(a.until) {
			delete(v.known, sum)
		}
	}
	if len(v.known) < maxVerified {
		return
	}
	for sum, a := range v.known {
		if len(v.known) < maxVerified*9/10 {
			return
		}
		if !a.until.IsZero() { // the others are awaited, and bounded by the waiting room
			delete(v.known, sum)
		}
	}
}

// issuerIn returns the issuer that a token in the form of a JWT names, or "". It is not
// verified.
func issuerIn(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64url.Decode(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(text, &claims) != nil {
		return ""
	}
	return claims.Issuer
}

// ask asks the issuer about a token.
func (v *Introspection) ask(ctx context.Context, token string) (*mcp.Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()
	text, err := v.post(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("introspection: %w", err)
	}
	return v.read(text, time.Now())
}

// post returns the answer of the issuer. No error contains the token.
func (v *Introspection) post(ctx context.Context, token string) ([]byte, error) {
	form := url.Values{
		"token":           {token},
		"token_type_hint": {"access_token"},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.opts.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if v.opts.Secret != nil {
		secret, err := v.opts.Secret(ctx)
		if err != nil {
			return nil, err
		}
		// RFC 6749, section 2.3.1: both parts are form-encoded first.
		r.SetBasicAuth(url.QueryEscape(v.opts.ClientID), url.QueryEscape(strings.TrimRight(secret, "\r\n")))
	}
	got, err := v.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", v.opts.URL, err)
	case got.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", v.opts.URL, got.Status)
	case len(text) > maxDocument:
		return nil, fmt.Errorf("%s: larger than %d bytes", v.opts.URL, maxDocument)
	}
	return text, nil
}

// read returns the holder of a token that an answer is about.
func (v *Introspection) read(text []byte, now time.Time) (*mcp.Principal, error) {
	var answer struct {
		Active    *bool  `json:"active"`
		TokenType string `json:"token_type"`
	}
	var c claims
	var all map[string]json.RawMessage
	for _, into := range []any{&answer, &c, &all} {
		if err := json.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("introspection: %s: not an answer about a token", v.opts.URL)
		}
	}
	switch {
	case answer.Active == nil:
		return nil, fmt.Errorf("introspection: %s: the answer has no active", v.opts.URL)
	case !*answer.Active:
		return nil, invalid("the issuer says that it is not active")
	case answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "Bearer"):
		return nil, invalid("not a bearer token")
	case given(c.Confirmation):
		return nil, invalid("bound to a key by cnf, so it is not a bearer token")
	case c.Issuer != "" && c.Issuer != v.opts.Issuer:
		return nil, invalid("the answer is about a token of another issuer")
	}
	expected := jwt.Expected{
		AnyAudience: v.opts.Audience,
		Time:        now,
	}
	if v.opts.Claims.AllowNoAudience && len(c.Audience) == 0 {
		expected.AnyAudience = nil
	}
	if err := c.ValidateWithLeeway(expected, v.opts.Leeway); err != nil {
		return nil, invalid("%w", err)
	}
	c.Issuer = v.opts.Issuer
	p, err := holderOf(&c, &v.opts.Claims)
	if err != nil {
		return nil, err
	}
	return p, v.paths.apply(p, all)
}
