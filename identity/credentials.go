package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// refreshTimeout is how long a refresh may take, including the wait for other processes. It
// is not cancelled with the request that needs it: an answer that is not read would
// lose the only refresh token.
const refreshTimeout = 45 * time.Second

// freshTime is how long a new token counts as new: if the server refuses it, another one
// would not help.
const freshTime = 10 * time.Second

// Credentials authorize the requests to one server with its login. It implements
// client.Credentials and is safe for concurrent use.
//
// The store is read before the first request, after a refusal, and before a refresh, so a
// login or logout of another process takes effect then.
type Credentials struct {
	client   *Client
	server   string
	settings *Settings
	// follows means that the store is read again whenever it has changed.
	follows bool
	// observe, if not nil, is called with the failures and the end of the login.
	observe func(kind EventKind, issuer, reason string)

	// refreshing is held during a refresh.
	refreshing chan struct{}

	mu     sync.Mutex // guards the following fields
	loaded bool
	seen   storeStamp // of the store when it was read, if the credentials follow it
	login  *record    // nil: no login
	proof  *proofKey  // of the login, or nil
	failed string     // why the last refresh failed, or empty
}

// Credentials returns the credentials for a server. settings are those of
// [LoginOptions]; with a grant that needs no person, a token is obtained when the server
// asks for one.
func (c *Client) Credentials(server string, settings *Settings) *Credentials {
	if settings == nil {
		settings = &Settings{}
	}
	return &Credentials{
		client:     c,
		server:     server,
		settings:   settings,
		refreshing: make(chan struct{}, 1),
	}
}

// Authorize adds the token to a request to the server. Without a login it adds nothing. It
// refreshes the token if necessary; the error is then a [*LoginRequiredError], or the
// reason why the issuer cannot be reached.
func (k *Credentials) Authorize(r *http.Request) error {
	login, err := k.current()
	if login != nil && login.Ended != "" {
		login, err = k.reload() // the user may have logged in again
	}
	if err != nil || login == nil {
		return err
	}
	now := k.client.now()
	switch {
	case login.Ended != "":
		return k.required(login, login.Ended, demand{})
	case login.expired(now):
		if login, err = k.renew(r.Context(), login, true); err != nil {
			return err
		}
	case login.due(now):
		if ahead, err := k.renew(r.Context(), login, false); err == nil {
			login = ahead
		}
	}
	if login.ProofKey == "" {
		r.Header["Authorization"] = []string{"Bearer " + login.Access}
		return nil
	}
	proof, err := k.proofKey(login)
	if err != nil {
		return err
	}
	text, err := proof.prove(r.Method, r.URL.String(), login.Access, now)
	if err != nil {
		return err
	}
	r.Header["Authorization"] = []string{"DPoP " + login.Access}
	r.Header["Dpop"] = []string{text}
	return nil
}

// current returns the login as last read.
func (k *Credentials) current() (*record, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.follows {
		return k.followLocked()
	}
	if !k.loaded {
		login, err := k.client.store.login(k.client.principal, k.server)
		if err != nil {
			return nil, err
		}
		k.loaded = true
		k.login = login
	}
	return k.login, nil
}

// followLocked returns the login in the store.
func (k *Credentials) followLocked() (*record, error) {
	store := k.client.store
	if k.loaded && store.stamp().is(k.seen) {
		return k.login, nil
	}
	login, seen, err := store.followed(k.client.principal, k.server)
	if err != nil {
		return nil, err
	}
	k.loaded = true
	k.seen = seen
	k.login = login
	return login, nil
}

// reload reads the store again.
func (k *Credentials) reload() (*record, error) {
	k.mu.Lock()
	k.loaded = false
	k.mu.Unlock()
	if k.follows {
		k.client.store.forgetRecent()
	}
	return k.current()
}

// set replaces the login in memory.
func (k *Credentials) set(login *record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loaded = true
	k.login = login
}

// proofKey returns the key of a login, with the nonces of its servers.
func (k *Credentials) proofKey(login *record) (*proofKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.proof != nil && k.proof.stored == login.ProofKey {
		return k.proof, nil
	}
	proof, err := parseProofKey(login.ProofKey)
	if err == nil {
		k.proof = proof
	}
	return proof, err
}

// required returns the error that asks the user for a login.
func (k *Credentials) required(login *record, reason string, d demand) error {
	e := &LoginRequiredError{
		Server:     k.server,
		Scopes:     d.scopes,
		Reason:     reason,
		Advertised: d.metadata != "",
		demand:     d,
		settings:   k.settings,
	}
	if login != nil {
		e.Issuer = login.Issuer
	}
	return e
}

// Refused is called with a response of status 401 or 403. It reports whether the request
// should be sent again, through Authorize. The error, if any, is the reason why the
// request cannot be authorized; without either, the response stands.
func (k *Credentials) Refused(resp *http.Response) (retry bool, err error) {
	ctx := resp.Request.Context()
	d := demandOf(resp.Header)
	used := tokenOf(resp.Request)
	if resp.StatusCode == http.StatusForbidden {
		return false, k.forbidden(used, d)
	}
	login, err := k.current()
	if err != nil {
		return false, err
	}
	if login != nil && login.ProofKey != "" {
		proof, err := k.proofKey(login)
		if err != nil {
			return false, err
		}
		if proof.remember(resp.Request.URL.String(), resp.Header) && d.code == "use_dpop_nonce" {
			return true, nil
		}
	}
	if used == "" || login == nil {
		return k.first(ctx, d)
	}
	if login.Access != used {
		return true, nil // replaced meanwhile
	}
	now := k.client.now()
	if now.Sub(login.Obtained) < freshTime &&
		!login.due(now) &&
		!k.replacedByOther(used) {
		return false, k.required(login, "it does not accept the token of the login", d)
	}
	if moved := k.issuerChanged(ctx, login, d); moved != "" {
		return false, k.end(ctx, login, moved, d)
	}
	next, err := k.renew(ctx, login, true)
	var required *LoginRequiredError
	if errors.As(err, &required) && required.demand.metadata == "" {
		required.demand = d
		required.Scopes = d.scopes
	}
	return err == nil && next.Access != used, err
}

// tokenOf returns the token that a request presented.
func tokenOf(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token
}

// first handles a request that had no token, because there was no login when it was sent.
func (k *Credentials) first(ctx context.Context, d demand) (retry bool, err error) {
	login, err := k.reload()
	switch {
	case err != nil:
		return false, err
	case login != nil && login.Ended == "":
		return true, nil
	case login != nil:
		return false, k.required(login, login.Ended, d)
	case k.settings.Grant.Interactive():
		return false, k.required(nil, "it requires a login", d)
	}
	return k.obtain(ctx, d)
}

// obtain gets a token with a grant that needs no person. Concurrent requests share it.
func (k *Credentials) obtain(ctx context.Context, d demand) (retry bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	if err := k.begin(ctx); err != nil {
		return false, err
	}
	defer k.finish()
	if login, err := k.reload(); err != nil || login != nil && login.Ended == "" {
		return err == nil, err
	}
	_, err = k.client.Login(ctx, k.server, &LoginOptions{
		Settings: k.settings,
		Reason: &LoginRequiredError{
			Server: k.server,
			demand: d,
		},
	})
	if err != nil {
		return false, err
	}
	login, err := k.reload()
	return login != nil, err
}

// begin waits until no other request refreshes the login.
func (k *Credentials) begin(ctx context.Context) error {
	select {
	case k.refreshing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish releases refreshing. The goroutine that acquired it calls finish once.
func (k *Credentials) finish() { <-k.refreshing }

// forbidden returns the error for a request that needs more scopes, or nil if the refusal
// has another reason.
func (k *Credentials) forbidden(used string, d demand) error {
	if d.code != "insufficient_scope" {
		return nil
	}
	login, err := k.current()
	if err != nil {
		return err
	}
	if login == nil || used == "" {
		return k.required(nil, "it requires a login", d)
	}
	e := &LoginRequiredError{
		Server: k.server,
		Issuer: login.Issuer,
		Scopes: d.scopes,
		Reason: "the login lacks a permission for this request",

		Advertised: true,
		demand:     d,
		settings:   k.settings,
	}
	e.Repeated = true
	for _, scope := range d.scopes {
		e.Repeated = e.Repeated && slices.Contains(login.Requested, scope)
	}
	if e.Repeated {
		e.Reason = "the login asked for the permission for this request and does not have it"
	}
	return e
}

// replacedByOther reports whether the stored token is another one, and uses it.
func (k *Credentials) replacedByOther(used string) bool {
	login, err := k.reload()
	return err == nil && login != nil && login.Access != used
}

// issuerChanged returns a reason if the server now names other authorization servers. Its
// metadata is fetched before a token of the previous issuer is refreshed for it. If it
// cannot be fetched, the login stays.
func (k *Credentials) issuerChanged(ctx context.Context, login *record, d demand) string {
	w := k.client.web(k.server, k.settings)
	doc, err := w.resource(ctx, k.server, d.metadata)
	if err != nil ||
		len(doc.AuthorizationServers) == 0 ||
		slices.Contains(doc.AuthorizationServers, login.Issuer) {
		return ""
	}
	return "it no longer accepts logins of " + secrets.URL(login.Issuer)
}

// end marks a login as ended, and returns the error that asks for another. The
// registration stays.
func (k *Credentials) end(ctx context.Context, login *record, reason string, d demand) error {
	ended := *login
	ended.Ended = reason
	k.set(&ended)
	if err := k.client.store.replaceLogin(context.WithoutCancel(ctx), &ended, login.Access); err != nil {
		return err
	}
	k.report(EventEnded, login.Issuer, reason)
	return k.required(login, reason, d)
}

// report reports an event of the login, if that is wanted.
func (k *Credentials) report(kind EventKind, issuer, reason string) {
	if k.observe != nil {
		k.observe(kind, issuer, reason)
	}
}

// noteRefresh reports why a refresh failed, unless the one before failed for the same reason.
// A nil error is a success.
func (k *Credentials) noteRefresh(login *record, err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	k.mu.Lock()
	known := k.failed == reason
	k.failed = reason
	k.mu.Unlock()
	if err != nil && !known {
		k.report(EventRefreshFailed, login.Issuer, reason)
	}
}

// renew returns a login with another token than used, which has expired, was refused, or is
// about to expire. Only if must is set, it waits for another process that refreshes the
// login, and otherwise returns used.
//
// Of all processes one refreshes: it takes the lock of the login and reads the store
// again, because the refresh token may have been spent by the one before it.
func (k *Credentials) renew(ctx context.Context, used *record, must bool) (*record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	// A token that is still valid is used while another request refreshes it.
	if must {
		if err := k.begin(ctx); err != nil {
			return nil, err
		}
	} else {
		select {
		case k.refreshing <- struct{}{}:
		default:
			return used, nil
		}
	}
	defer k.finish()
	// A request that held the lock before may have refreshed the token.
	if login, err := k.current(); err == nil && login != nil && login.Access != used.Access {
		return login, nil
	}
	store := k.client.store
	if must {
		unlock, err := store.lockLogin(ctx, used.name())
		if err != nil {
			return nil, err
		}
		defer unlock()
	} else {
		unlock, ok := store.tryLockLogin(used.name())
		if !ok {
			return used, nil
		}
		defer unlock()
	}
	if err := store.sync(ctx); err != nil {
		return nil, fmt.Errorf("logins of the cluster: %w", err)
	}
	login, err := k.reload()
	switch {
	case err != nil:
		return nil, err
	case login == nil:
		return nil, k.required(nil, "it requires a login: another process logged out", demand{})
	case login.Ended != "":
		return nil, k.required(login, login.Ended, demand{})
	case login.Access != used.Access:
		return login, nil
	}
	return k.refresh(ctx, login)
}

// refresh gets the next token of a login, and saves it before it is used. Only a refusal
// of the refresh token itself ends the login.
func (k *Credentials) refresh(ctx context.Context, login *record) (*record, error) {
	c := k.client
	if login.Refresh == "" {
		if !login.Grant.Interactive() {
			return k.obtainAgain(ctx, login)
		}
		return nil, k.end(ctx, login, "the login has expired", demand{})
	}
	t, err := k.requestRefresh(ctx, login)
	switch {
	case hasCode(err, "invalid_grant"):
		if err := c.store.sync(ctx); err != nil {
			return nil, fmt.Errorf("logins of the cluster: %w", err)
		}
		if k.replacedByOther(login.Access) {
			return k.current()
		}
		return nil, k.end(ctx, login, "the login has ended: "+hostOf(login.Issuer)+" no longer accepts it", demand{})
	case hasCode(err, "invalid_client") && !login.Configured:
		err := c.store.forgetRegistration(ctx, login.Issuer, login.Client.ID)
		return nil, errors.Join(
			k.end(ctx, login, "the login has ended: "+hostOf(login.Issuer)+" has forgotten the client", demand{}), err)
	case err != nil:
		c.log.Warn("token not refreshed, keeping the login",
			"server", secrets.URL(k.server),
			"err", err,
		)
		k.noteRefresh(login, err)
		return nil, err
	}
	next := *login
	var kind error
	if t.dpop == (login.ProofKey != "") {
		next.set(t)
	} else {
		// The token is unusable, but the refresh token that came with it replaces the one that
		// is spent: without it, the next attempt would end the login.
		kind = errors.New("the token endpoint answered with another type of token than before")
		next.Refresh = cmp.Or(t.refresh, next.Refresh)
	}
	if err := c.store.replaceLogin(ctx, &next, login.Access); err != nil {
		// The previous refresh token is spent: the new one must not be lost with this error.
		c.log.Error("refreshed token not saved, using it until exit",
			"server", secrets.URL(k.server),
			"err", err,
		)
	}
	k.noteRefresh(login, kind)
	if kind != nil {
		k.set(&next)
		return nil, kind
	}
	c.log.Info("token refreshed", "server", secrets.URL(k.server), "issuer", secrets.URL(login.Issuer))
	k.set(&next)
	return &next, nil
}

// obtainAgain repeats a grant that needs no person.
func (k *Credentials) obtainAgain(ctx context.Context, login *record) (*record, error) {
	settings := *k.settings
	if settings.Grant.Interactive() {
		// The login was made with settings of the command line.
		if login.Grant != ClientCredentials {
			return nil, k.end(ctx, login, "the login has expired", demand{})
		}
		settings = Settings{
			Grant:        login.Grant,
			Issuer:       login.Issuer,
			Scopes:       login.Requested,
			OmitResource: login.OmitResource,
			DPoP:         login.ProofKey != "",
			Client: ClientSettings{
				ID:    login.Client.ID,
				KeyID: login.Client.KeyID,
			},
		}
		if secret := login.Client.Secret; secret != "" {
			settings.Client.Secret = func(context.Context) (string, error) {
				return secret, nil
			}
		}
		if key := login.Client.Key; key != "" {
			settings.Client.Key = func(context.Context) (string, error) { return key, nil }
		}
	}
	_, err := k.client.Login(ctx, k.server, &LoginOptions{
		Settings: &settings,
		Reason:   &LoginRequiredError{Server: k.server},
	})
	if err != nil {
		return nil, err
	}
	next, err := k.reload()
	if err == nil && next == nil {
		err = k.required(nil, "it requires a login: another process logged out", demand{})
	}
	return next, err
}

// requestRefresh sends the refresh token. The resource is named again, as servers may
// otherwise issue a token for another one.
func (k *Credentials) requestRefresh(ctx context.Context, login *record) (*token, error) {
	form := url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {login.Refresh},
	}
	if !login.OmitResource {
		form.Set("resource", login.Resource)
	}
	r := &tokenRequest{
		web:      newWeb(k.client.allow, login.Server, login.Issuer),
		endpoint: login.TokenEndpoint,
		issuer:   login.Issuer,
		form:     form,
		client:   &login.Client,
		methods:  login.AuthMethods,
		now:      k.client.now,
	}
	if login.ProofKey != "" {
		proof, err := k.proofKey(login)
		if err != nil {
			return nil, err
		}
		r.proof = proof
	}
	return r.send(ctx)
}
