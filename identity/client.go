package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Options configure [New].
type Options struct {
	// Store keeps logins and registrations. It is required.
	Store *Store
	// Principal is whose logins these are; empty means the user of this machine.
	Principal string
	// AllowNetwork lists networks that metadata may lead to in addition to the public
	// internet and the hosts that the user named.
	AllowNetwork []netip.Prefix
	// Name is the name of the client in registrations, which users see on the login page;
	// empty means Slipway.
	Name string
	// Logger logs refreshes; nil disables logging. Tokens are never logged.
	Logger *slog.Logger
}

// Client logs in to servers. It is safe for concurrent use.
type Client struct {
	store *Store
	// principal is whose logins they are; empty means the user of this machine.
	principal string
	allow     []netip.Prefix
	// name is what the client calls itself when it is registered.
	name string
	log  *slog.Logger
	now  func() time.Time // for tests
}

// New returns a client.
func New(o *Options) *Client {
	c := &Client{
		store:     o.Store,
		principal: o.Principal,
		allow:     o.AllowNetwork,
		name:      cmp.Or(o.Name, "Slipway"),
		log:       o.Logger,
		now:       time.Now,
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c
}

// For returns a client for the logins of another principal in the same store.
func (c *Client) For(principal string) *Client {
	other := *c
	other.principal = principal
	return &other
}

// Login is a stored login. It contains no secrets.
type Login struct {
	// Server is the URL of the server, Issuer the authorization server, and Client the ID
	// of the client that logged in.
	Server, Issuer, Client string
	// Grant is how the token was obtained, and Scopes what it permits, as far as known.
	Grant  Grant
	Scopes []string
	// Expires is when the token expires; zero means that the issuer does not say.
	// Refreshable reports whether it is then replaced without a new login.
	Expires     time.Time
	Refreshable bool
	// Bound reports whether the token is bound to a key (DPoP).
	Bound bool
	// Ended is why the login has to be repeated, or empty.
	Ended string
}

// summary returns a record without its secrets.
func (r *record) summary() *Login {
	return &Login{
		Server:      r.Server,
		Issuer:      r.Issuer,
		Client:      r.Client.ID,
		Grant:       r.Grant,
		Scopes:      r.scopes(),
		Expires:     r.expires(),
		Refreshable: r.Ended == "" && (r.Refresh != "" || !r.Grant.Interactive()),
		Bound:       r.ProofKey != "",
		Ended:       r.Ended,
	}
}

// LoginOptions configure [Client.Login].
type LoginOptions struct {
	// Settings say how to log in; nil means those that led to Reason or, without it, as the
	// server's metadata says.
	Settings *Settings
	// Reason is the error that demands the login, or nil to ask the server. Its scopes are
	// added to those of the current login.
	Reason *LoginRequiredError
	// Interaction reaches the user. Grants without a person need none.
	Interaction *Interaction
	// Timeout is how long to wait for the user; 0 means 10 minutes.
	Timeout time.Duration
}

// loginTimeout is the default of LoginOptions.Timeout.
const loginTimeout = 10 * time.Minute

// Login logs in to a server and stores the login, in place of an earlier one to it. Errors
// are or wrap a [*SetupError], a [*DiscoveryError], a [*ServerError], a [*StoreError], or one of
// the network.
func (c *Client) Login(ctx context.Context, server string, opts *LoginOptions) (*Login, error) {
	if opts == nil {
		opts = &LoginOptions{}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(opts.Timeout, loginTimeout), ErrTimeout)
	defer cancel()
	f, err := c.start(ctx, server, opts)
	if err != nil {
		return nil, err
	}
	f.ui = opts.Interaction
	r, err := c.obtain(ctx, f)
	if f.reused && isUnknownClient(err) {
		// The registration of an earlier login is forgotten by now. A new one is used once: an
		// issuer that does not know that either has another problem.
		if f.ui != nil && f.ui.Registering != nil {
			f.ui.Registering(f.issuer())
		}
		r, err = c.obtain(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	return c.keep(ctx, f, r)
}

// start checks the options of a login, and finds out where and with which scopes to log in.
func (c *Client) start(ctx context.Context, server string, opts *LoginOptions) (*flow, error) {
	settings := opts.Settings
	if settings == nil && opts.Reason != nil {
		settings = opts.Reason.settings
	}
	if settings == nil {
		settings = &Settings{}
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	server, err := checkServer(server)
	if err != nil {
		return nil, err
	}
	previous, err := c.store.login(c.principal, server)
	if err != nil {
		return nil, err
	}
	return c.prepare(ctx, server, settings, opts.Reason, previous)
}

// keep stores a new login in place of earlier ones, which it revokes.
func (c *Client) keep(ctx context.Context, f *flow, r *record) (*Login, error) {
	replaced, err := c.store.saveLogin(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	c.revokeReplaced(ctx, f.web, r, replaced)
	return r.summary(), nil
}

// checkServer verifies and normalizes the URL of a server.
func checkServer(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil ||
		u.Host == "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("%s is not an http or https URL", secrets.URL(server))
	}
	if u.Scheme == "http" && !netguard.NamesLoopback(server) {
		return "", fmt.Errorf("%s is not https: a token would travel in plain text", secrets.URL(server))
	}
	if u.User != nil {
		return "", fmt.Errorf("%s: a login replaces the user in front of the host", secrets.URL(server))
	}
	u.Fragment = ""
	return u.String(), nil
}

// prepare finds out where and with which scopes to log in.
func (c *Client) prepare(
	ctx context.Context, server string, s *Settings, reason *LoginRequiredError, previous *record,
) (*flow, error) {
	w := c.web(server, s)
	var d demand
	refused := true
	// A refusal has already stated the demand, so the server need not be asked.
	if reason != nil && reason.demand.known() {
		d = reason.demand
	} else {
		var err error
		if d, refused, err = w.probe(ctx, server); err != nil {
			return nil, err
		}
	}
	found, err := w.discover(ctx, server, s.Issuer, d)
	if err != nil {
		return nil, &DiscoveryError{err}
	}
	if !refused && found.assumed {
		return nil, &SetupError{
			Text: secrets.URL(server) + " answers without a login",
			Hint: "slipway ls " + process.ShellWord(secrets.URL(server)) + " lists what it offers",
		}
	}
	f := &flow{
		client:   c,
		web:      w,
		server:   server,
		settings: s,
		found:    found,
	}
	if err := f.checkIssuerOfSecrets(previous); err != nil {
		return nil, err
	}
	f.scopes = f.selectScopes(d, previous)
	// The proofs are signed with ES256, the only algorithm here.
	if s.DPoP || found.dpop {
		algorithms := found.server.DPoPAlgorithms
		if len(algorithms) > 0 && !slices.Contains(algorithms, "ES256") {
			return nil, fmt.Errorf("%s does not accept DPoP proofs with ES256", secrets.URL(found.server.Issuer))
		}
		if f.proof, err = newProofKey(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// checkIssuerOfSecrets refuses to present a secret to an authorization server that only the server names, which could
// collect the secrets of others in this way. The user has to name the issuer, or has presented such a secret there
// before: a login without one does not vouch for its issuer.
func (f *flow) checkIssuerOfSecrets(previous *record) error {
	s := f.settings
	for _, secret := range s.unboundSecrets() {
		if secret.audience != "" && secret.audience == f.issuer() {
			continue // it is useless elsewhere
		}
		if previous != nil &&
			previous.Issuer == f.issuer() &&
			previous.Client.ID == s.Client.ID &&
			secret.presented(previous) {
			continue
		}
		issuer := secrets.URL(f.issuer())
		hint := "repeat the command with --issuer " + process.ShellWord(issuer)
		if s.Place != "" {
			hint = fmt.Sprintf("set issuer: %q in %s", issuer, s.Place)
		}
		return &SetupError{
			Text: fmt.Sprintf("%s is not sent to %s: only %s names that issuer", secret.name, issuer, secrets.URL(f.server)),
			Hint: "if it is for that issuer, " + hint,
		}
	}
	return nil
}

// web returns the requests for a server. The hosts that the user configured may be
// anywhere.
func (c *Client) web(server string, s *Settings) *web {
	typed := []string{server}
	for _, issuer := range []string{s.Issuer, s.Exchange.Issuer} {
		if issuer != "" {
			typed = append(typed, issuer)
		}
	}
	return newWeb(c.allow, typed...)
}

// selectScopes returns the scopes to ask for: the configured ones, else those of the
// challenge, else those of the resource. A challenge for more scopes adds to those of the
// current login.
func (f *flow) selectScopes(d demand, previous *record) []string {
	base := f.found.scopes
	switch {
	case len(f.settings.Scopes) > 0:
		base = f.settings.Scopes
	case len(d.scopes) > 0:
		base = d.scopes
	}
	if d.code == "insufficient_scope" {
		base = mergeScopes(base, d.scopes)
		if previous != nil && previous.Issuer == f.issuer() {
			base = mergeScopes(previous.Requested, previous.Granted, base)
		}
	}
	base = mergeScopes(base)
	// Alone, offline_access would replace the default scopes.
	if len(base) > 0 && f.settings.Grant.Interactive() &&
		slices.Contains(f.found.server.ScopesSupported, "offline_access") {
		base = mergeScopes(base, []string{"offline_access"})
	}
	return base
}

// obtain runs the grant and returns the new record.
func (c *Client) obtain(ctx context.Context, f *flow) (*record, error) {
	t, err := f.settings.Grant.implementation().obtain(ctx, f)
	err = c.forgetClient(ctx, f, err)
	if err != nil {
		return nil, err
	}
	return c.recordOf(f, t)
}

// recordOf returns the record of a flow that has obtained a token.
func (c *Client) recordOf(f *flow, t *token) (*record, error) {
	if f.settings.DPoP && !t.dpop {
		return nil, fmt.Errorf("%s issued a token that is not bound to a key, although dpop is set",
			secrets.URL(f.issuer()))
	}
	if t.dpop && f.proof == nil {
		return nil, fmt.Errorf("%s issued a token that is bound to an unknown key", secrets.URL(f.issuer()))
	}
	m := &f.found.server
	r := &record{
		Principal:          c.principal,
		Issuer:             m.Issuer,
		Client:             *f.registration,
		Resource:           f.found.resource,
		Server:             f.server,
		Grant:              f.settings.grant(),
		Configured:         f.settings.Client.ID != "",
		Requested:          f.scopes,
		TokenEndpoint:      m.TokenEndpoint,
		RevocationEndpoint: m.RevocationEndpoint,
		AuthMethods:        m.AuthMethods,
		OmitResource:       f.settings.OmitResource,
	}
	r.set(t)
	if t.dpop {
		var err error
		if r.ProofKey, err = f.proof.encode(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// forgetClient forgets the registration of a flow if the issuer has forgotten it: the next
// login registers again. An issuer may say so on a page that the user alone sees, so that is
// also what a login means that used an earlier registration and gets no answer.
func (c *Client) forgetClient(ctx context.Context, f *flow, err error) error {
	unanswered := f.reused && (errors.Is(err, ErrTimeout) || errors.Is(err, context.Canceled))
	if !isUnknownClient(err) && !unanswered ||
		f.settings.Client.ID != "" ||
		f.registration == nil {
		return err
	}
	return errors.Join(err, c.store.forgetRegistration(context.WithoutCancel(ctx), f.issuer(), f.registration.ID))
}

// isUnknownClient reports whether an issuer does not know, or no longer accepts, the client.
func isUnknownClient(err error) bool {
	return hasCode(err, "invalid_client") || hasCode(err, "unauthorized_client")
}

// checkBinding refuses to show a client ID to another issuer than the one it was used with
// (client ID metadata documents are for all).
func (c *Client) checkBinding(ctx context.Context, server, id, issuer string) error {
	if isDocumentID(id) {
		return nil
	}
	r, err := c.store.login(c.principal, server)
	if err != nil || r == nil || r.Issuer == issuer || r.Client.ID != id {
		return err
	}
	return &SetupError{
		Text: fmt.Sprintf("the client ID belongs to %s, and the server now names %s",
			secrets.URL(r.Issuer), secrets.URL(issuer)),
		Hint: "if the ID is also registered at " + secrets.URL(issuer) + ": slipway logout " +
			process.ShellWord(secrets.URL(server)),
	}
}

// revokeReplaced revokes the refresh tokens of logins that a new one replaced, if their
// issuer supports it. A failure does not matter: nothing uses them.
func (c *Client) revokeReplaced(ctx context.Context, w *web, r *record, replaced []*record) {
	for _, old := range replaced {
		// The same client may have one set of tokens only.
		if old.Client.ID == r.Client.ID && old.Issuer == r.Issuer {
			continue
		}
		if err := c.revoke(ctx, w, old); err != nil {
			c.log.Debug("replaced login not revoked", "server", secrets.URL(old.Server), "err", err)
		}
	}
}

// Logins returns all stored logins, by server.
func (c *Client) Logins() ([]*Login, error) {
	records, err := c.store.logins(c.principal)
	if err != nil {
		return nil, err
	}
	var all []*Login
	for _, r := range records {
		all = append(all, r.summary())
	}
	return all, nil
}

// ErrNoLogin reports that there is no login to a server.
var ErrNoLogin = errors.New("not logged in")

// Logout removes the login to a server, and then revokes its tokens. revoked reports
// whether the issuer supports that. If revoking fails, the login is removed all the same,
// and the error says that the token remains valid until it expires. It takes at most 10
// seconds. Without a login, the error matches [ErrNoLogin].
func (c *Client) Logout(ctx context.Context, server string) (revoked bool, err error) {
	removed, err := c.store.removeLogins(ctx, c.principal, server)
	if err != nil {
		return false, err
	}
	if len(removed) == 0 {
		return false, fmt.Errorf("%s: %w", secrets.URL(server), ErrNoLogin)
	}
	if err := errors.Join(c.revokeAll(ctx, removed)...); err != nil {
		return false, notRevoked(err)
	}
	return !slices.ContainsFunc(removed, func(r *record) bool { return r.RevocationEndpoint == "" }), nil
}

// maxRevoking is the maximum number of logins whose tokens are revoked at the same time.
const maxRevoking = 16

// revokeAll revokes the tokens of logins that were removed, as far as their issuers support
// that, and returns an error, or nil, for each. It revokes them at the same time, so that an
// issuer that is down does not keep the tokens of others valid, and takes at most 10 seconds.
func (c *Client) revokeAll(ctx context.Context, removed []*record) []error {
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	failed := make([]error, len(removed))
	places := make(chan struct{}, maxRevoking)
	var all sync.WaitGroup
	for i, r := range removed {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			failed[i] = c.revoke(ctx, newWeb(c.allow, r.Server, r.Issuer), r)
		})
	}
	all.Wait()
	return failed
}

// ErrNotRevoked is the error of a logout that has removed a login, but could not revoke its tokens.
var ErrNotRevoked = errors.New("logged out, but the tokens remain valid until they expire")

// notRevoked returns the error of a logout after which tokens remain valid.
func notRevoked(err error) error { return fmt.Errorf("%w: %w", ErrNotRevoked, err) }

// revoke revokes the tokens of a login (RFC 7009): the refresh token, which usually ends
// all tokens of the login, and the token itself. The second is revoked even if the first
// is not.
func (c *Client) revoke(ctx context.Context, w *web, r *record) error {
	if r.RevocationEndpoint == "" {
		return nil
	}
	refresh := c.revokeToken(ctx, w, r, r.Refresh, "refresh_token")
	access := c.revokeToken(ctx, w, r, r.Access, "access_token")
	if refresh != nil && access != nil && refresh.Error() == access.Error() {
		return refresh
	}
	return errors.Join(refresh, access)
}

// revokeToken revokes one token of a login, unless it is empty.
func (c *Client) revokeToken(ctx context.Context, w *web, r *record, token, hint string) error {
	if token == "" {
		return nil
	}
	request := &tokenRequest{
		issuer:  r.Issuer,
		client:  &r.Client,
		methods: r.AuthMethods,
		form: url.Values{
			"token":           {token},
			"token_type_hint": {hint},
		},
		now: c.now,
	}
	form, header, err := request.authenticated()
	if err != nil {
		return err
	}
	resp, text, err := w.post(ctx, r.RevocationEndpoint, "application/x-www-form-urlencoded",
		[]byte(form.Encode()), header)
	if err != nil {
		return err
	}
	// An issuer that does not know one kind of token says so.
	failure := serverError(resp, text)
	if resp.StatusCode != http.StatusOK && failure.Code != "unsupported_token_type" {
		return failure
	}
	return nil
}

// CommandFor returns the command that logs in to a server, for hints.
func CommandFor(server string) string {
	return "slipway login " + process.ShellWord(secrets.URL(server))
}
