package broker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
)

// The paths of the endpoints.
const (
	Prefix        = "/oauth/"
	AuthorizePath = Prefix + "authorize"
	TokenPath     = Prefix + "token"
	RegisterPath  = Prefix + "register"
	RevokePath    = Prefix + "revoke"
	KeysPath      = Prefix + "keys"
	// CallbackPath is the address to which browsers return from the provider. It is registered
	// there.
	CallbackPath = Prefix + "callback"
)

// Defaults and limits of [Options].
const (
	DefaultTokenLife   = 15 * time.Minute
	DefaultSessionLife = 30 * 24 * time.Hour
)

// Options configure [New]. Issuer, Provider, Store, Resources, User and Render are required.
type Options struct {
	// Issuer is the URL of the gateway, only scheme and host: https, or http on this machine.
	Issuer string
	// Provider is where users sign in.
	Provider *identity.Provider
	// Store keeps sessions and keys.
	Store *identity.Store
	// Resources returns the endpoints that tokens can be for. It is called for each login.
	Resources func() []Resource
	// User returns the caller that a user of the provider is, with Issuer, Subject, Groups, Roles,
	// Tenant and Claims. A [*RefusedError] refuses the user.
	User func(u *identity.User) (*mcp.Principal, error)
	// Redirects are those of clients that are not on the user's machine: https origins such as
	// https://claude.ai, https addresses, and private-use schemes such as "cursor:".
	Redirects []string
	// Render writes a page.
	Render func(w http.ResponseWriter, status int, p *Page)

	// TokenLife is how long an access token is valid, unless that of the provider expires earlier;
	// 0 means 15 minutes. SessionLife is how long a session lasts without use; 0 means 30 days.
	TokenLife, SessionLife time.Duration
	// AllowNetwork lists networks in which documents of clients may be, in addition to the public
	// internet.
	AllowNetwork []netip.Prefix
	// Record, if not nil, is called for each event.
	Record func(*Event)
	// Logger logs errors for operators, never a token or a code. Nil discards them.
	Logger *slog.Logger
}

// Resource is an endpoint that tokens can be for.
type Resource struct {
	// ID is its URL, which is the audience of its tokens.
	ID string
	// Required are the scopes that a client gets that asks for none, and Supported all scopes.
	Required, Supported []string
}

// RefusedError says why a user may not use the gateway. Its text is for the user.
type RefusedError struct{ Text string }

// Error implements the error interface.
func (e *RefusedError) Error() string { return e.Text }

// The events of [Event.What].
const (
	SignedIn  = "signed_in"
	Declined  = "declined"        // by the user
	Refused   = "sign_in_refused" // by the provider or the gateway
	Refreshed = "refreshed"
	Reused    = "refresh_token_reused" // so the session has ended
	CodeUsed  = "code_reused"          // so the session has ended
	Ended     = "ended_by_provider"
	Revoked   = "revoked" // by the client, or an operator

	// The tokens of the provider are revoked there when a session has ended.
	ProviderRevoked    = "provider_tokens_revoked"
	ProviderNotRevoked = "provider_tokens_not_revoked" // and remain valid until they expire
)

// Event is something that happened to a login or a session.
type Event struct {
	// What is one of the constants above.
	What string
	// Principal is the name of the caller, or empty if it is unknown.
	Principal string
	// Client is the name of the client, as it calls itself, and Redirect the host of its redirect.
	Client, Redirect string
	// Remote is the address that the request came from.
	Remote string
	// Reason says why, or is empty.
	Reason string
}

// Broker is the authorization server. It is safe for concurrent use.
type Broker struct {
	opts   Options
	issuer *url.URL
	log    *slog.Logger
	now    func() time.Time // for tests
	// origins refuses requests that pages of other sites make with the browser of a user.
	origins   *http.CrossOriginProtection
	documents *documents

	// pending are the logins at the provider by state, and codes the unused codes by digest.
	pending *shelf[*pendingLogin]
	codes   *shelf[*grantedCode]
	// forms are the consent pages that were answered, and spent the sessions of codes that were
	// used.
	forms *shelf[struct{}]
	spent *shelf[string]

	// revoking limits the revocations at the provider, and revocations waits for them.
	revoking    chan struct{}
	revocations sync.WaitGroup
}

// Limits of what is kept in memory.
const (
	formLife    = 10 * time.Minute
	codeLife    = time.Minute
	spentLife   = 10 * time.Minute
	maxPending  = 2000
	maxCodes    = 1000
	maxForms    = 10_000
	maxPerOwner = 200
)

// New returns a broker. Nothing is read or fetched yet. The error names the option.
func New(o *Options) (*Broker, error) {
	b := &Broker{
		opts:    *o,
		log:     cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		now:     time.Now,
		origins: http.NewCrossOriginProtection(),
	}
	b.opts.TokenLife = cmp.Or(max(o.TokenLife, 0), DefaultTokenLife)
	b.opts.SessionLife = cmp.Or(max(o.SessionLife, 0), DefaultSessionLife)
	var err error
	if b.issuer, err = url.Parse(o.Issuer); err != nil || b.issuer.Host == "" || b.issuer.Path != "" {
		return nil, fmt.Errorf("broker: issuer %q: want scheme and host alone, such as https://mcp.example.com", o.Issuer)
	}
	if o.Provider == nil ||
		o.Store == nil ||
		o.Resources == nil ||
		o.User == nil ||
		o.Render == nil {
		return nil, errors.New("broker: an option is missing")
	}
	for _, allowed := range o.Redirects {
		if err := checkAllowed(allowed); err != nil {
			return nil, err
		}
	}
	b.documents = newDocuments(o.AllowNetwork)
	// Tests replace b.now later, so the shelves must not keep its current value.
	now := func() time.Time { return b.now() }
	b.pending = newShelf[*pendingLogin](now, formLife, maxPending, maxPerOwner)
	b.codes = newShelf[*grantedCode](now, codeLife, maxCodes, maxPerOwner)
	b.forms = newShelf[struct{}](now, formLife, maxForms, maxForms)
	b.spent = newShelf[string](now, spentLife, maxForms, maxForms)
	b.revoking = make(chan struct{}, maxRevoking)
	return b, nil
}

// Issuer returns the issuer of the tokens.
func (b *Broker) Issuer() string { return b.opts.Issuer }

// Provider returns where users sign in.
func (b *Broker) Provider() *identity.Provider { return b.opts.Provider }

// secure reports whether browsers reach the broker by https.
func (b *Broker) secure() bool { return b.issuer.Scheme == "https" }

// ServeHTTP implements [http.Handler], for all paths below [Prefix].
func (b *Broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case AuthorizePath:
		b.protectPage(w)
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			b.ask(w, r)
		case http.MethodPost:
			b.decide(w, r)
		default:
			wrongMethod(w, "GET, POST")
		}
	case CallbackPath:
		b.protectPage(w)
		if r.Method != http.MethodGet {
			wrongMethod(w, "GET")
			return
		}
		b.answer(w, r)
	case TokenPath:
		b.post(w, r, b.token)
	case RegisterPath:
		b.post(w, r, b.register)
	case RevokePath:
		b.post(w, r, b.revoke)
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

// wrongMethod answers 405 with the only allowed method. RFC 9110, section 15.5.6, requires the
// field Allow.
func wrongMethod(w http.ResponseWriter, allowed string) {
	w.Header().Set("Allow", allowed)
	http.Error(w, "use "+allowed, http.StatusMethodNotAllowed)
}

// protectPage sets the headers of pages. Forms lead to the login pages of other hosts, so
// form-action cannot be restricted.
func (b *Broker) protectPage(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // the address is secret; a form must have an Origin
}

// post serves an endpoint of clients, which pages of other origins may use: it knows no cookies.
func (b *Broker) post(
	w http.ResponseWriter,
	r *http.Request,
	serve func(http.ResponseWriter, *http.Request),
) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "POST")
		h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, MCP-Protocol-Version")
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		serve(w, r)
	default:
		wrongMethod(w, "POST, OPTIONS")
	}
}

// Metadata is the document of RFC 8414, which is also that of OpenID Connect Discovery.
type Metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	KeysURL               string   `json:"jwks_uri"`
	Scopes                []string `json:"scopes_supported,omitempty"`
	// The lists name what this server supports. It has public clients only, which authenticate by
	// PKCE.
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	IssuerInResponse      bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
	SubjectTypes          []string `json:"subject_types_supported"`
	ProtectedResources    []string `json:"protected_resources,omitempty"`
}

// Metadata returns the metadata of the authorization server.
func (b *Broker) Metadata() *Metadata {
	m := &Metadata{
		Issuer:                b.opts.Issuer,
		AuthorizationEndpoint: b.opts.Issuer + AuthorizePath,
		TokenEndpoint:         b.opts.Issuer + TokenPath,
		RegistrationEndpoint:  b.opts.Issuer + RegisterPath,
		RevocationEndpoint:    b.opts.Issuer + RevokePath,
		KeysURL:               b.opts.Issuer + KeysPath,
		ResponseTypes:         []string{"code"},
		ResponseModes:         []string{"query"},
		GrantTypes:            []string{"authorization_code", "refresh_token"},
		AuthMethods:           []string{"none"},
		RevocationAuthMethods: []string{"none"},
		ChallengeMethods:      []string{"S256"},
		IssuerInResponse:      true,
		ClientDocuments:       true,
		SubjectTypes:          []string{"public"},
	}
	for _, resource := range b.opts.Resources() {
		m.Scopes = append(m.Scopes, resource.Supported...)
		m.ProtectedResources = append(m.ProtectedResources, resource.ID)
	}
	slices.Sort(m.Scopes)
	m.Scopes = slices.Compact(m.Scopes)
	return m
}

// record reports an event.
func (b *Broker) record(r *http.Request, e *Event) {
	e.Remote = r.RemoteAddr
	b.note(e)
}

// note records an event that is complete.
func (b *Broker) note(e *Event) {
	b.log.Info("sign-in",
		"what", e.What,
		"principal", e.Principal,
		"client", e.Client,
		"reason", e.Reason,
	)
	if b.opts.Record != nil {
		b.opts.Record(e)
	}
}

// oauthError is an error of RFC 6749, sections 4.1.2.1 and 5.2.
type oauthError struct {
	Status int    `json:"-"`
	Code   string `json:"error"`
	Text   string `json:"error_description,omitempty"`
}

func (e *oauthError) Error() string { return e.Code + ": " + e.Text }

// badRequest returns an error with status 400. code is an error code of OAuth. Clients receive the
// text as error_description, so it must not contain secrets.
func badRequest(code, format string, args ...any) *oauthError {
	return &oauthError{
		Status: http.StatusBadRequest,
		Code:   code,
		Text:   fmt.Sprintf(format, args...),
	}
}

// Errors of RFC 6749, RFC 7591 and RFC 8707.
const (
	invalidRequest  = "invalid_request"
	invalidClient   = "invalid_client"
	invalidGrant    = "invalid_grant"
	invalidTarget   = "invalid_target"
	invalidRedirect = "invalid_redirect_uri"
	invalidMetadata = "invalid_client_metadata"
	accessDenied    = "access_denied"
	serverFailure   = "server_error"
	unavailable     = "temporarily_unavailable"
)

// write answers a client.
func write(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // the client may be gone
}

// fail answers a client with an error. Others than an oauthError are logged, not shown.
func (b *Broker) fail(w http.ResponseWriter, err error) {
	var known *oauthError
	if !errors.As(err, &known) {
		b.log.Error("sign-in", "error", err)
		known = &oauthError{
			Status: http.StatusServiceUnavailable,
			Code:   unavailable,
			Text:   "try again later",
		}
		w.Header().Set("Retry-After", "5")
	}
	write(w, known.Status, known)
}
