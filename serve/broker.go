package serve

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/mcp"
)

// BrokerOptions configure [NewBroker]. PublicURL, Provider and Store are required.
type BrokerOptions struct {
	// PublicURL is that of the server, which becomes the issuer of its tokens.
	PublicURL string
	// Provider is where users sign in.
	Provider *identity.Provider
	// Store keeps the sessions of clients, and keys. It is best one of its own.
	Store *identity.Store
	// Allow are the values that claims of the provider must have, by path, as in
	// [ClaimOptions]: one of the values for each. An "email" must be verified, see
	// [identity.Provider.VerifiedEmail]. Nil allows everyone who can sign in.
	Allow map[string][]string
	// Redirects are those of clients that are not on the machine of the user, see
	// [broker.Options].
	Redirects []string
	// AllowNetwork lists networks in which documents of clients may be, in addition to the public
	// internet.
	AllowNetwork []netip.Prefix
	// Logger logs who signs in, and errors. Nil discards them. Tokens are never logged.
	Logger *slog.Logger
}

// Broker makes a server the authorization server of its clients, in front of an identity provider
// that does not register clients: see package broker. A caller is the user at the provider, with
// the claims that [Broker.Verifier] maps. It is safe for concurrent use.
type Broker struct {
	broker *broker.Broker
	// allow are the claims that a user must have: for each path, one of the values.
	allow  map[string][]string
	claims atomic.Pointer[claimPaths]
	// served is the handler of the server, once it runs.
	served atomic.Pointer[Handler]
}

// NewBroker returns a broker for [Live.Broker]. The error names the option.
func NewBroker(o *BrokerOptions) (*Broker, error) {
	public, err := parsePublicURL(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("public URL: %w", err)
	}
	b := &Broker{allow: o.Allow}
	b.claims.Store(&claimPaths{})
	if _, err := (&ClaimOptions{Other: o.Allow}).parse(); err != nil {
		return nil, err
	}
	b.broker, err = broker.New(&broker.Options{
		Issuer:       public.String(),
		Provider:     o.Provider,
		Store:        o.Store,
		Resources:    b.resources,
		User:         b.user,
		Redirects:    o.Redirects,
		Render:       renderSignIn,
		AllowNetwork: o.AllowNetwork,
		Record:       b.record,
		Logger:       o.Logger,
	})
	return b, err
}

// Close waits until the provider has revoked its tokens of sessions that have ended, which takes
// at most 10 seconds. Call it when the server has stopped.
func (b *Broker) Close() error { return b.broker.Close() }

// Issuer returns the issuer of the tokens, which is an entry for Auth.AuthorizationServers.
func (b *Broker) Issuer() string { return b.broker.Issuer() }

// providerOf returns where callers of an issuer sign in, or nil. b may be nil.
func (b *Broker) providerOf(issuer string) *identity.Provider {
	if b == nil || b.broker.Provider().Issuer() != issuer {
		return nil
	}
	return b.broker.Provider()
}

// Verifier returns the verifier of the tokens of the broker, and makes o the claims of the
// provider that callers have from the next sign-in or refresh on. Of o only the paths are used.
func (b *Broker) Verifier(o *ClaimOptions) (*JWT, error) {
	paths, err := o.parse()
	if err != nil {
		return nil, err
	}
	own := ClaimOptions{
		Groups: []string{"groups"},
		Roles:  []string{"roles"},
		Tenant: "tenant",
		Other:  make(map[string][]string),
	}
	for name := range o.Other {
		own.Other[name] = []string{"claims." + name}
	}
	v, err := NewJWT(&JWTOptions{
		Issuer:           b.Issuer(),
		Audience:         []string{b.Issuer() + EndpointPath},
		Keys:             b.broker.Keys,
		Algorithms:       []string{"ES256"},
		Claims:           own,
		AccessTokensOnly: true,
	})
	if err != nil {
		return nil, err
	}
	v.broker = b.broker
	b.claims.Store(paths)
	return v, nil
}

// user returns the caller that a user of the provider is.
func (b *Broker) user(u *identity.User) (*mcp.Principal, error) {
	for _, path := range slices.Sorted(maps.Keys(b.allow)) {
		found := claimReader{claims: u.Claims}
		values := found.values([]string{path})
		if found.err != nil {
			return nil, found.err
		}
		allowed := slices.ContainsFunc(values, func(value string) bool {
			return slices.Contains(b.allow[path], value)
		})
		if allowed && path == "email" && !b.broker.Provider().VerifiedEmail(u.Claims) {
			return nil, &broker.RefusedError{Text: "this account may not use the gateway: the provider does not say that its " +
				"email is verified, so that the gateway cannot trust it"}
		}
		if !allowed {
			return nil, &broker.RefusedError{Text: "this account may not use the gateway: its claim " + path +
				" has none of the values that are allowed"}
		}
	}
	p := &mcp.Principal{
		Issuer:  b.broker.Provider().Issuer(),
		Subject: u.Subject,
	}
	p.Name = p.Issuer + "#" + p.Subject
	if len(p.Name) >= maxName {
		return nil, errors.New("the name of the user is too long")
	}
	return p, b.claims.Load().apply(p, u.Claims)
}

// serveBroker makes the broker available, and returns it, or nil without one.
func (o *Options) serveBroker(h *Handler) *Broker {
	if o.Broker != nil {
		o.Broker.served.Store(h)
	}
	return o.Broker
}

// resources returns the endpoints that tokens can be for.
func (b *Broker) resources() (all []broker.Resource) {
	h := b.served.Load()
	if h == nil {
		return nil
	}
	add := func(path string, auth *Auth) {
		if auth == nil {
			return
		}
		all = append(all, broker.Resource{
			ID:        b.Issuer() + path,
			Required:  auth.Scopes,
			Supported: auth.supported(),
		})
	}
	add(EndpointPath, h.admission.policy.Load().auth)
	for _, path := range slices.Sorted(maps.Keys(h.endpoints)) {
		add(path, h.endpoints[path].admission.policy.Load().auth)
	}
	return all
}

// ServeHTTP implements [http.Handler]. Requests count against the limits of their address.
func (b *Broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := b.served.Load().admission
	c := d.newCaller(r)
	if refused := d.charge(c, addressKey(c.remote)); refused != nil {
		d.refuse(w, c, refused)
		return
	}
	if r.URL.Path != broker.KeysPath {
		b.broker.ServeHTTP(w, r)
		return
	}
	keys, err := b.broker.Keys(r.Context())
	if err != nil {
		d.log.Error("keys of the gateway", "error", err)
		http.Error(w, StatusUnavailable, http.StatusServiceUnavailable)
		return
	}
	publish(w, r, "application/jwk-set+json", keys)
}

// isServerMetadata reports whether a path is one at which clients look for the metadata of an
// authorization server without a path: RFC 8414, and OpenID Connect Discovery.
func isServerMetadata(path string) bool {
	return path == "/.well-known/oauth-authorization-server" || path == "/.well-known/openid-configuration"
}

// metadata serves the metadata of the authorization server.
func (b *Broker) metadata(w http.ResponseWriter, r *http.Request) {
	text, err := mcp.Marshal(b.broker.Metadata())
	if err != nil {
		http.Error(w, StatusUnavailable, http.StatusInternalServerError)
		return
	}
	publish(w, r, "application/json", text)
}

// record counts an event, and writes it to the audit log.
func (b *Broker) record(e *broker.Event) {
	h := b.served.Load()
	h.counters.signIn(e.What)
	if audit := h.admission.policy.Load().audit; audit != nil {
		audit.signIn(e)
	}
}

// signIn counts an event of a broker. m may be nil.
func (m *metrics) signIn(what string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signIns[what]++
}

// signIn records an event of a broker.
func (a *Audit) signIn(e *broker.Event) {
	l := auditLine{a: a, b: a.begin(nil, "sign_in")}
	l.text("what", e.What)
	if len(e.Principal) > maxAuditName {
		l.hash("principal_hash", []byte(e.Principal), 32)
	} else {
		l.text("principal", e.Principal)
	}
	l.text("client", e.Client)
	l.text("redirect", e.Redirect)
	l.text("reason", e.Reason)
	l.text("remote", e.Remote)
	a.add(append(l.b, '}'))
}

// renderSignIn writes a page of the broker.
func renderSignIn(w http.ResponseWriter, status int, p *broker.Page) {
	var b strings.Builder
	b.WriteString(pageStart(p.Heading, p.Problem))
	if c := p.Consent; c != nil {
		b.WriteString(consentText(c))
	}
	b.WriteString(pageEnd)
	writePage(w, status, b.String())
}

// consentText returns the question whether a client may use the server.
func consentText(c *broker.Consent) string {
	name := c.Client
	if name == "" {
		name = "A client without a name"
	}
	vouched := "This name is not verified. "
	if c.ClientHost != "" {
		vouched = ""
	}
	rows := [][2]string{{"Client", name}}
	if c.ClientHost != "" {
		rows = append(rows, [2]string{"Published by", c.ClientHost})
	}
	redirect := c.Redirect
	if c.Loopback {
		redirect += " (a program on this computer)"
	}
	scopes := strings.Join(c.Scopes, " ")
	if scopes == "" {
		scopes = "all that you may do"
	}
	rows = append(rows,
		[2]string{"Answers go to", redirect},
		[2]string{"Server", c.Resource},
		[2]string{"Permissions", scopes},
		[2]string{"You sign in at", c.Provider},
	)
	button := func(value, text string) string {
		return `<button name="` + broker.DecisionField + `" value="` + value + `">` + html.EscapeString(text) + "</button>\n"
	}
	return "<p>An MCP client asks to use this server in your name. " + html.EscapeString(vouched) +
		"Continue only if you have just started this login in your client.</p>\n" + definitionList(rows) +
		postForm(broker.FormField, c.Form, button(broker.Allow, "Continue to "+c.Provider)+button(broker.Deny, "Cancel"))
}

// serveSessions lists the sessions of clients to operators, and ends them:
//
//	GET    /sign-ins
//	DELETE /sign-ins?principal=NAME
func (b *Broker) serveSessions(mux *http.ServeMux) {
	if b == nil {
		return
	}
	reply := func(w http.ResponseWriter, document any, err error) {
		replyOperator(w, b.served.Load().admission.log, "sessions", document, err)
	}
	mux.HandleFunc("GET /sign-ins", func(w http.ResponseWriter, _ *http.Request) {
		all, err := b.broker.Sessions()
		if all == nil {
			all = []broker.Session{}
		}
		reply(w, map[string]any{"signIns": all}, err)
	})
	mux.HandleFunc("DELETE /sign-ins", func(w http.ResponseWriter, r *http.Request) {
		principal := r.URL.Query().Get("principal")
		if principal == "" {
			http.Error(w, "principal is missing: DELETE /sign-ins?principal=NAME", http.StatusBadRequest)
			return
		}
		ended, err := b.broker.End(context.WithoutCancel(r.Context()), principal)
		if err == nil && ended == 0 {
			http.Error(w, "no such caller", http.StatusNotFound)
			return
		}
		if err == nil {
			b.record(&broker.Event{
				What:      broker.Revoked,
				Principal: principal,
				Reason:    "by an operator",
				Remote:    r.RemoteAddr,
			})
		}
		reply(w, map[string]any{"ended": ended}, err)
	})
}
