package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// admission decides which requests are admitted: those with a valid token, within the rate
// limits, and with the required scopes.
type admission struct {
	policy  atomic.Pointer[accessRules]
	limiter *limiter // nil means no limits
	log     *slog.Logger
	refused func(status int) // counts refusals; may be nil
	callers bool             // a gate needs to know the caller of every request
	path    string           // of the endpoint

	lastLogged atomic.Int64 // when last logged, in Unix nanoseconds
}

var _ server.Gate = (*admission)(nil)

// accessRules are what a [Control] can replace while the server runs. They never
// change themselves.
type accessRules struct {
	auth   *Auth  // nil admits everyone
	audit  *Audit // nil without
	public string // base URL; "" means the host in the client's request
}

// newAdmission returns the admission with the policy of o. If the policy may change, everything is
// counted, so that a limit can be set later.
func newAdmission(o *Options) *admission {
	d := &admission{
		limiter: newLimiter(o.Limits),
		log:     o.Logger,
		callers: o.Policy != nil || o.TLS.ClientCA != "",
		path:    EndpointPath,
	}
	if d.limiter == nil && o.Control != nil {
		d.limiter = startLimiter(o.Limits)
	}
	d.policy.Store(o.policy())
	return d
}

// policy returns the policy that o describes.
func (o *Options) policy() *accessRules {
	p := &accessRules{
		auth:  o.Auth,
		audit: o.Audit,
	}
	if public, err := parsePublicURL(o.PublicURL); o.PublicURL != "" && err == nil {
		p.public = public.String()
	}
	return p
}

// open reports whether every request is admitted.
func (d *admission) open() bool {
	return d.policy.Load().auth == nil && d.limiter == nil && !d.callers
}

// caller is the sender of a request, or the holder of a connection. It is the context of
// everything that results from it.
type caller struct {
	context.Context
	remote, host string
	origin       string  // of the web page that sent the request, or ""
	secure       bool    // the request came over TLS
	connection   bool    // it holds a connection that carries many requests
	posted       bool    // the connection's messages come as HTTP requests and are counted as those
	client       *client // nil without limits
	admission    *admission

	// State for rechecking a connection; the principal's scopes may change.
	token     string
	checked   atomic.Int64 // when the token was last found valid, in Unix nanoseconds
	principal atomic.Pointer[mcp.Principal]
	policy    atomic.Pointer[accessRules] // by which the token was last found valid
}

func (d *admission) newCaller(r *http.Request) *caller {
	return &caller{
		admission: d,
		Context:   r.Context(),
		remote:    r.RemoteAddr,
		host:      r.Host,
		origin:    r.Header.Get("Origin"),
		secure:    r.TLS != nil,
	}
}

// callerKey is the key of a caller in a context.
type callerKey struct{}

// Value implements [context.Context].
func (c *caller) Value(key any) any {
	switch key {
	case callerKey{}:
		return c
	case identity.CallerTokenKey{}:
		return c.token
	}
	return c.Context.Value(key)
}

// remoteOf returns the address that a request came from, or "".
func remoteOf(ctx context.Context) string {
	if c := callerOf(ctx); c != nil {
		return c.remote
	}
	return mcp.RequestFrom(ctx).RemoteAddr()
}

func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// authenticate is [server.HTTPOptions.Authenticate].
func (d *admission) authenticate(w http.ResponseWriter, r *http.Request) context.Context {
	c := d.newCaller(r)
	p, refused := d.admit(c, r)
	return d.answer(w, c, p, refused)
}

// answer returns the context for serving a request that has been admitted. Otherwise it
// answers the request and returns nil.
func (d *admission) answer(w http.ResponseWriter, c *caller, p *mcp.Principal, refused *refusal) context.Context {
	switch {
	case refused != nil:
		d.refuse(w, c, refused)
		return nil
	case p == nil:
		return c
	}
	return mcp.WithPrincipal(c, p)
}

// admit identifies the sender of a request and decides whether to admit it. The principal
// is nil if there is no authentication.
func (d *admission) admit(c *caller, r *http.Request) (*mcp.Principal, *refusal) {
	current := d.policy.Load()
	if current.auth == nil {
		p, err := certificateHolder(r.TLS)
		switch {
		case err != nil:
			return nil, d.chargeFailure(c, &refusal{
				status:  http.StatusForbidden,
				message: err.Error(),
			})
		case p == nil:
			return nil, d.charge(c, addressKey(c.remote))
		}
		c.principal.Store(p)
		return p, d.charge(c, clientKey{principal: p.Name})
	}
	token, refused := bearer(r)
	if refused != nil {
		return nil, d.chargeFailure(c, refused)
	}
	return d.identify(c, current, token)
}

// identify returns the holder of a token; "" means no token.
func (d *admission) identify(c *caller, current *accessRules, token string) (*mcp.Principal, *refusal) {
	if token == "" {
		return nil, d.chargeFailure(c, unauthorized("", "a bearer token is required", current.auth))
	}
	p, refused := d.verify(c, current.auth, token)
	if refused != nil {
		return nil, d.chargeFailure(c, refused)
	}
	if refused := d.charge(c, clientKey{principal: p.Name}); refused != nil {
		return nil, refused
	}
	c.token = token
	c.principal.Store(p)
	if c.connection {
		c.policy.Store(current)
		c.checked.Store(time.Now().UnixNano())
	}
	return p, nil
}

// verify returns the holder of a token that is valid and has the scopes for every
// request.
func (d *admission) verify(ctx context.Context, auth *Auth, token string) (*mcp.Principal, *refusal) {
	p, err := auth.verify(ctx, token)
	switch {
	case errors.Is(err, ErrToken):
		r := unauthorized(kindToken, ErrToken.Error(), auth)
		r.reason = visible.Line(err.Error())
		return nil, r
	case err != nil:
		return nil, d.unverified(err)
	case auth.lacks(p, auth.Scopes):
		return nil, forbidden("the token lacks a scope", auth.Scopes)
	}
	return p, nil
}

// unauthorized returns the refusal of a request without a valid token.
func unauthorized(kind, message string, auth *Auth) *refusal {
	return &refusal{
		status:  http.StatusUnauthorized,
		kind:    kind,
		message: message,
		scopes:  auth.Scopes,
	}
}

// forbidden returns the refusal of a valid token without the required scopes.
func forbidden(message string, scopes []string) *refusal {
	return &refusal{
		status:  http.StatusForbidden,
		kind:    kindScope,
		message: message,
		scopes:  scopes,
	}
}

// unverified returns the refusal of a token whose validity cannot be determined at the
// moment.
func (d *admission) unverified(err error) *refusal {
	r := &refusal{
		status:  http.StatusServiceUnavailable,
		message: "tokens cannot be verified now",
		after:   5,
	}
	var throttled *throttledError
	if errors.As(err, &throttled) {
		r.message = throttled.reason
		r.after = int((throttled.after + time.Second - 1) / time.Second)
		return r
	}
	d.logUnverifiable(err)
	return r
}

// logUnverifiable logs why tokens cannot be verified, at most once a second.
func (d *admission) logUnverifiable(err error) {
	now := time.Now().UnixNano()
	last := d.lastLogged.Load()
	if now-last > int64(time.Second) && d.lastLogged.CompareAndSwap(last, now) {
		d.log.Error("tokens cannot be verified", "error", err)
	}
}

// charge counts a request of the client with that key.
func (d *admission) charge(c *caller, key clientKey) *refusal {
	if d.limiter == nil {
		return nil
	}
	c.client = d.limiter.client(key)
	return d.limiter.take(c.client)
}

// chargeFailure counts a request without a valid token. It is charged to the address, which
// slows down clients that guess tokens without affecting others.
func (d *admission) chargeFailure(c *caller, r *refusal) *refusal {
	if limited := d.charge(c, addressKey(c.remote)); limited != nil {
		return limited
	}
	return r
}

// protect returns next with admission checks, for paths other than the endpoint.
func (d *admission) protect(next http.Handler) http.Handler {
	if d.open() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx := d.authenticate(w, r); ctx != nil {
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// refuse answers a request that is not admitted.
func (d *admission) refuse(w http.ResponseWriter, c *caller, why *refusal) {
	if d.refused != nil {
		d.refused(why.status)
	}
	if audit := d.policy.Load().audit; audit != nil {
		audit.refused(c, why)
	}
	d.log.Info("refused", "status", why.status, "reason", why.logged(), "remote", c.remote)
	server.WriteError(w, d.wire(c, why))
}

// wire converts a refusal to an error for the client.
func (d *admission) wire(c *caller, why *refusal) *mcp.Error {
	header := http.Header{}
	code := mcp.CodeInvalidRequest
	switch why.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		code = mcp.CodeToolBusy
		after := max(1, why.after)
		header.Set("Retry-After", strconv.Itoa(after))
		if why.burst > 0 {
			describeLimit(header, "rate", why.burst, why.window, 0, after)
		}
	default:
		metadata := ""
		if p := d.policy.Load(); p.auth != nil && len(p.auth.AuthorizationServers) > 0 {
			metadata = baseURL(p.public, c.host, c.secure) + metadataPath + d.path
		}
		header.Set("WWW-Authenticate", why.challenge(metadata))
	}
	return &mcp.Error{
		Code:    code,
		Message: why.message,
		Status:  why.status,
		Header:  header,
	}
}

// baseURL returns the address at which a client reaches the server: the public one,
// otherwise the one in the client's request.
func baseURL(public, host string, secure bool) string {
	switch {
	case public != "":
		return public
	case secure:
		return "https://" + host
	}
	return "http://" + host
}

// recheckAfter is how long the token of a connection is trusted before it is verified
// again: it may have expired or been revoked.
const recheckAfter = 10 * time.Second

// recheckTime bounds the check of a stream's token.
const recheckTime = 3 * time.Second

// Enter implements [server.Gate].
func (d *admission) Enter(ctx context.Context, op server.Operation) error {
	return d.enterOf(ctx, callerOf(ctx), &op)
}

// enterOf is Enter for a request of a caller, which may be nil.
func (d *admission) enterOf(ctx context.Context, c *caller, op *server.Operation) error {
	if c == nil || op.Follows { // not over a network, or the call itself was admitted
		return nil
	}
	if refused := d.enter(ctx, c, op); refused != nil {
		e := d.wire(c, refused)
		if refused.kind == kindScope && op.Method == methodCall {
			e.Code = mcp.CodeToolDenied
		}
		return e
	}
	return nil
}

// enter admits a request of a caller: its token may have expired since the connection
// was opened, and it counts against the limits.
func (d *admission) enter(ctx context.Context, c *caller, op *server.Operation) *refusal {
	if c.connection {
		if refused := d.recheckIfDue(ctx, c); refused != nil {
			return refused
		}
	}
	// An HTTP request was counted on arrival, but not the requests in it.
	if d.limiter != nil && (op.Batched || c.connection && !c.posted) {
		if refused := d.limiter.take(c.client); refused != nil {
			return refused
		}
	}
	if d.limiter != nil && counts(op) {
		return d.limiter.enter(c.client)
	}
	return nil
}

// deniedForScopes returns the denial of a request to a token that lacks scopes, as the error
// for the client: over HTTP a challenge to get a token that has them. reason is for people.
func deniedForScopes(ctx context.Context, op server.Operation, reason string, scopes []string) error {
	c := callerOf(ctx)
	if c == nil || c.admission == nil {
		return mcp.Errorf(mcp.CodeToolDenied, "%s", reason)
	}
	d := c.admission
	var required []string
	if auth := d.policy.Load().auth; auth != nil {
		required = auth.Scopes
	}
	e := d.wire(c, forbidden(missingScope, union(required, scopes)))
	e.Message = reason
	if op.Method == methodCall {
		e.Code = mcp.CodeToolDenied
	}
	return e
}

// missingScope describes a denial in a challenge, which other texts could break.
const missingScope = "the token lacks a scope that the tool needs"

// union returns the scopes in either list, without changing them.
func union(scopes, more []string) []string {
	scopes = slices.Clip(scopes)
	for _, s := range more {
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// recheckIfDue verifies the token of a connection again if the last check was long ago.
func (d *admission) recheckIfDue(ctx context.Context, c *caller) *refusal {
	current := d.policy.Load()
	now := time.Now().UnixNano()
	if current.auth == nil || c.policy.Load() == current && now-c.checked.Load() < int64(recheckAfter) {
		return nil
	}
	return d.recheck(ctx, c)
}

// recheck verifies the token of a connection or a stream again.
func (d *admission) recheck(ctx context.Context, c *caller) *refusal {
	current := d.policy.Load()
	if current.auth == nil {
		return nil
	}
	if c.token == "" { // opened when none was required
		return unauthorized("", "a bearer token is required", current.auth)
	}
	p, refused := d.verify(ctx, current.auth, c.token)
	if refused != nil {
		return refused
	}
	if was := c.principal.Load(); was == nil || was.Name != p.Name {
		return unauthorized(kindToken, "the token belongs to another principal now", current.auth)
	}
	c.principal.Store(p)
	c.policy.Store(current)
	c.checked.Store(time.Now().UnixNano())
	return nil
}

// stillValid is [server.HTTPOptions.Revalidate]: a stream ends once its token expires, is
// revoked, or cannot be verified.
func (d *admission) stillValid(ctx context.Context) bool {
	c := callerOf(ctx)
	if c == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recheckTime)
	defer cancel()
	refused := d.recheck(ctx, c)
	if refused == nil {
		if p := c.principal.Load(); p == nil || p.Expires.IsZero() || time.Now().Before(p.Expires) {
			return true
		}
		refused = &refusal{
			status:  http.StatusUnauthorized,
			message: "the token has expired",
		}
	}
	if audit := d.policy.Load().audit; audit != nil {
		audit.refused(c, refused)
	}
	d.log.Info("stream closed", "reason", refused.message, "remote", c.remote)
	return false
}

// Leave implements [server.Gate].
func (d *admission) Leave(ctx context.Context, op server.Operation) {
	if d.limiter == nil || !counts(&op) {
		return
	}
	if c := callerOf(ctx); c != nil {
		d.limiter.leave(c.client)
	}
}

// counts reports whether a request counts as in flight. A subscription does not: it stays
// open for as long as the client wants.
func counts(op *server.Operation) bool {
	return op.Method != "subscriptions/listen" && !op.Follows
}

// gateList combines several gates. A request refused by one does not count as entered for
// any.
type gateList []server.Gate

// admittedRules are the gate of most servers with rules: the admission, then the rules. Unlike a
// gateList, Enter finds the caller once, and copies no Operation.
type admittedRules struct {
	admission *admission
	rules     *serverRules
}

// Enter implements [server.Gate].
func (g *admittedRules) Enter(ctx context.Context, op server.Operation) error {
	c := callerOf(ctx)
	if err := g.admission.enterOf(ctx, c, &op); err != nil {
		return err
	}
	entered := false
	defer func() {
		if !entered { // refused, or a panic
			g.admission.Leave(ctx, op)
		}
	}()
	err := g.rules.enterOf(ctx, c, &op)
	entered = err == nil
	return err
}

// Leave implements [server.Gate]. Rules have nothing to do.
func (g *admittedRules) Leave(ctx context.Context, op server.Operation) { g.admission.Leave(ctx, op) }

// joinGates returns one gate for those that are not nil.
func joinGates(all ...server.Gate) server.Gate {
	var some gateList
	for _, g := range all {
		if g != nil {
			some = append(some, g)
		}
	}
	if len(some) == 1 {
		return some[0]
	}
	if len(some) == 2 {
		d, admits := some[0].(*admission)
		rules, decides := some[1].(*serverRules)
		if admits && decides {
			return &admittedRules{d, rules}
		}
	}
	return some
}

// Enter implements [server.Gate].
func (all gateList) Enter(ctx context.Context, op server.Operation) error {
	entered := 0
	defer func() {
		if entered < len(all) { // refused, or a panic
			all[:entered].Leave(ctx, op)
		}
	}()
	for _, g := range all {
		if err := g.Enter(ctx, op); err != nil {
			return err
		}
		entered++
	}
	return nil
}

// Leave implements [server.Gate].
func (all gateList) Leave(ctx context.Context, op server.Operation) {
	for _, g := range all {
		g.Leave(ctx, op)
	}
}
