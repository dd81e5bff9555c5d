package stax

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/mcp"
)

// This file uses a server for each caller of a gateway: with the token of the caller, if the
// server is its audience, and with headers that describe the caller.

// ErrCallerToken reports that a server gets the token or the claims of each caller, and that
// the callers of this process have no tokens of an issuer.
var ErrCallerToken = errors.New("it gets the token or the claims of each caller, and callers have none here")

// Limits of callerHeaders.
const (
	maxCallerHeaders     = 16
	maxCallerHeaderBytes = 8 << 10 // of one header; most servers accept that much
)

// CallerValues returns the names of what callerHeaders can contain besides mapped claims.
func CallerValues() []string {
	return []string{"issuer", "subject", "name", "client", "tenant", "groups", "roles", "scopes"}
}

// callerValue returns the values that a caller has under a name. list is set if each is one
// element of a list.
func callerValue(p *mcp.Principal, name string) (values []string, list bool) {
	switch name {
	case "issuer":
		return nonEmpty(p.Issuer), false
	case "subject":
		return nonEmpty(p.Subject), false
	case "name":
		return nonEmpty(p.Name), false
	case "client":
		return nonEmpty(p.Client), false
	case "tenant":
		return nonEmpty(p.Tenant), false
	case "groups":
		return p.Groups, true
	case "roles":
		return p.Roles, true
	case "scopes":
		return p.Scopes, true
	}
	return p.Claims[name], true
}

// nonEmpty returns a list of value, or nil if it is empty.
func nonEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// callerHeader returns the value of a header about a caller, or "" if the caller has none. A
// value that the server could read as another one is an error: control characters, blanks at
// its ends, and commas in a list.
func callerHeader(p *mcp.Principal, name string) (string, error) {
	values, list := callerValue(p, name)
	size := 0
	for _, v := range values {
		size += len(v) + len(", ")
		switch {
		case v == "" || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl):
			return "", fmt.Errorf("%s of the caller has a character that a header cannot contain", name)
		case strings.TrimSpace(v) != v:
			return "", fmt.Errorf("%s of the caller starts or ends with a blank, which a header would lose", name)
		case list && strings.Contains(v, ","):
			return "", fmt.Errorf("%s of the caller has a value with a comma, which a header would split", name)
		case size > maxCallerHeaderBytes:
			return "", fmt.Errorf("%s of the caller is longer than %d bytes", name, maxCallerHeaderBytes)
		}
	}
	return strings.Join(values, ", "), nil
}

// reservedHeader reports whether a header belongs to HTTP, to the protocol, or to the login, or
// would make the server trust the sender in other ways than who the caller is.
func reservedHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	if framesMessages(name) || hophttp.OfHop(name) {
		return true
	}
	for _, prefix := range []string{"Proxy-", "Sec-", "Access-Control-", "Accept", "Content-", "If-", "Cookie",
		"Set-Cookie"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "Via", "Date", "Range", "Origin", "Referer", "User-Agent", "Cache-Control", "Pragma",
		"Authorization", "Dpop", "Www-Authenticate", "Signature", "Signature-Input", "Client-Cert", "Client-Cert-Chain",
		"X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Server", "X-Forwarded-Scheme", "X-Forwarded-Ssl",
		"X-Forwarded-Access-Token", "X-Forwarded-Client-Cert", "X-Real-Ip", "X-Http-Method", "X-Http-Method-Override",
		"X-Method-Override", "X-Original-Url", "X-Rewrite-Url":
		return true
	}
	return false
}

// isCallerHeader reports whether s is letters, digits and "-". Some servers do not distinguish
// other characters from "-", so that two headers would be one.
func isCallerHeader(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' &&
			(r < '0' || r > '9') &&
			(r|0x20 < 'a' || r|0x20 > 'z')
	})
}

// callerHeaders reports headers about callers that must not be sent.
func (d *decoder) callerHeaders(s *Server, at string) {
	if len(s.CallerHeaders) > maxCallerHeaders {
		d.Add(ruleCallerHeader, at+"/callerHeaders", "", "%d headers, want at most %d", len(s.CallerHeaders),
			maxCallerHeaders)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.CallerHeaders)) {
		value := s.CallerHeaders[name]
		why := ""
		switch {
		case !isCallerHeader(name):
			why = "its name needs letters, digits and -"
		case reservedHeader(name):
			why = "it is not about the caller"
		case s.Auth != nil && sameHeader(s.Auth.Header, name):
			why = "auth sets it"
		case strings.TrimSpace(value) == "":
			why = "it has no value: want one of " + strings.Join(CallerValues(), ", ") + ", or the name of a mapped claim"
		}
		for other := range s.Headers {
			if sameHeader(other, name) {
				why = "headers sets it for all callers"
			}
		}
		for other := range s.CallerHeaders {
			if other != name && sameHeader(other, name) {
				why = "it is there twice"
			}
		}
		if why != "" {
			d.Add(ruleCallerHeader, at+check.Pointer("callerHeaders", name), "", "header %s: %s", quote(name), why)
		}
	}
}

// checkForward returns what is wrong with auth of the kind forward, and how to fix it.
func (a *Auth) checkForward() (why, hint string) {
	alone := Auth{
		Kind:     a.Kind,
		Audience: a.Audience,
	}
	text, _ := marshal(a)
	only, _ := marshal(&alone)
	switch {
	case a.Audience == "":
		return "the kind forward needs the audience that a token must have to be forwarded",
			`write "audience": "https://crm.example.com/mcp", as the server's issuer writes it`
	case string(text) != string(only):
		return "the kind forward has one setting: audience", "remove the others"
	}
	return "", ""
}

// forwards reports a token that would be readable on its way, or sent next to another one.
func (d *decoder) forwards(s *Server, at string) {
	if s.Auth == nil || s.Auth.Kind != AuthForward {
		return
	}
	if readable(s.URL) {
		d.Add(ruleAuth, at+"/url", "use https", "server %q: a token is not forwarded over plain http", s.Name)
	}
	for name := range s.Headers {
		if sameHeader(name, "Authorization") {
			d.Add(ruleAuth, at+check.Pointer("headers", name), "remove it",
				"server %q: its auth forwards the token of the caller, and its headers have an Authorization for all", s.Name)
		}
	}
}

// readable reports whether others can read what is sent to a URL.
func readable(address string) bool {
	return !strings.HasPrefix(strings.ToLower(address), "https:") && !netguard.NamesLoopback(address)
}

// knowsCallers reports whether the server gets the token or the claims of each caller.
func (s *Server) knowsCallers() bool {
	return len(s.CallerHeaders) > 0 || s.Auth != nil && s.Auth.Kind == AuthForward
}

// describesCallers verifies that what a server gets about callers is available.
func (r *Resolver) describesCallers(t *Target, e *client.Endpoint, opts *OpenOptions) error {
	s := t.server
	if !s.knowsCallers() || !r.Shared || opts.Whole {
		return nil
	}
	if !r.Tokens {
		return ErrCallerToken
	}
	forwards := s.Auth != nil && s.Auth.Kind == AuthForward
	switch {
	case forwards && readable(s.URL):
		return errors.New("a token is not forwarded over plain http")
	case forwards && e.Header.Get("Authorization") != "":
		return errors.New("its auth forwards the token of the caller, and a secret sets Authorization for all: " +
			"remove one of them")
	}
	for name := range s.CallerHeaders {
		switch {
		case !isCallerHeader(name) || reservedHeader(name):
			return fmt.Errorf("header %s is not about the caller", name)
		case e.Header.Get(name) != "":
			return fmt.Errorf("a secret and callerHeaders both set the header %s: remove one of them", name)
		}
	}
	return nil
}

// callerOptions returns how the connections of callers to a server are separated.
func (r *Resolver) callerOptions(t *Target) *client.IsolateOptions {
	s := t.server
	o := &client.IsolateOptions{}
	if s.Isolate != nil {
		o = s.Isolate.options()
	} else {
		o.MaxTotal = maxJoined
	}
	settings := r.Login(t.merged, s)
	o.Transport = func(ctx context.Context) (client.Transport, error) {
		p := mcp.PrincipalFrom(ctx)
		endpoint := r.endpoint(t)
		own := newCallerRequests(s, ctx)
		if len(s.CallerHeaders) > 0 {
			endpoint.Describe = own.describe
		}
		switch a := s.Auth; {
		case a != nil && a.By == AuthByUser:
			caller, ok := identity.CallerOf(p)
			if !ok {
				return nil, mcp.Errorf(mcp.CodeToolDenied,
					"server %q is used with the login of each caller, and this caller has no token of an issuer", s.Name)
			}
			endpoint.Credentials = r.Vault.Credentials(caller, t.Endpoint.URL, settings)
		case a != nil && a.Kind == AuthForward:
			if err := mayForward(s, p); err != nil {
				return nil, err
			}
			endpoint.Credentials = forwardToken{own}
		case r.Identity != nil:
			endpoint.Credentials = r.Identity.Credentials(t.Endpoint.URL, settings)
		}
		return endpoint, nil
	}
	return o
}

// mayForward returns why the token of a caller must not be sent to a server.
func mayForward(s *Server, p *mcp.Principal) error {
	if p == nil || !slices.Contains(p.Audience, s.Auth.Audience) {
		return mcp.Errorf(mcp.CodeToolDenied,
			"server %q gets the caller's own token, and this token is not for it: its aud has no %q",
			s.Name, s.Auth.Audience)
	}
	return nil
}

// callerRequests are the requests of one caller to a server. Requests of the connection itself
// are made as the caller of the latest one, until its token expires. [client.Isolated] refuses
// requests without a caller, so latest is not nil.
type callerRequests struct {
	server *Server

	mu sync.Mutex // guards the following fields
	// latest is who made the latest request, and token what they authenticated with. The token is
	// kept in memory only.
	latest *mcp.Principal
	token  string
}

// newCallerRequests returns the requests of the caller in ctx, who makes the first one.
func newCallerRequests(s *Server, ctx context.Context) *callerRequests {
	return &callerRequests{
		server: s,
		latest: mcp.PrincipalFrom(ctx),
		token:  identity.CallerToken(ctx),
	}
}

// caller returns the caller of a request, and its token.
func (c *callerRequests) caller(ctx context.Context) (*mcp.Principal, string, error) {
	p := mcp.PrincipalFrom(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == nil {
		if !c.latest.Expires.IsZero() && time.Now().After(c.latest.Expires) {
			return nil, "", mcp.Errorf(mcp.CodeToolDenied, "the token of the caller has expired")
		}
		return c.latest, c.token, nil
	}
	if p.Name != c.latest.Name ||
		p.Issuer != c.latest.Issuer ||
		p.Subject != c.latest.Subject {
		return nil, "", mcp.Errorf(mcp.CodeToolDenied, "the connection belongs to another caller")
	}
	c.latest = p
	c.token = identity.CallerToken(ctx)
	return p, c.token, nil
}

// describe is [client.Endpoint.Describe].
func (c *callerRequests) describe(r *http.Request) error {
	p, _, err := c.caller(r.Context())
	if err != nil {
		return err
	}
	for name, value := range c.server.CallerHeaders {
		text, err := callerHeader(p, value)
		if err != nil {
			return mcp.Errorf(mcp.CodeToolDenied, "server %q: header %s: %v", c.server.Name, name, err)
		}
		if r.Header.Del(name); text != "" {
			r.Header.Set(name, text)
		}
	}
	return nil
}

// forwardToken sends the token of the caller.
type forwardToken struct{ requests *callerRequests }

var _ client.Credentials = forwardToken{}

// Authorize implements [client.Credentials].
func (f forwardToken) Authorize(r *http.Request) error {
	p, token, err := f.requests.caller(r.Context())
	if err != nil {
		return err
	}
	if err := mayForward(f.requests.server, p); err != nil {
		return err
	}
	if token == "" {
		return mcp.Errorf(mcp.CodeToolDenied, "server %q gets the caller's own token, and this caller has none",
			f.requests.server.Name)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// Refused implements [client.Credentials]. There is no other token to try.
func (f forwardToken) Refused(resp *http.Response) (retry bool, err error) {
	return false, mcp.Errorf(mcp.CodeToolDenied, "server %q refused the caller's token with HTTP status %d",
		f.requests.server.Name, resp.StatusCode)
}
