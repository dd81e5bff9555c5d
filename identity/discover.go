package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Discovery is what a server and its metadata say about logins, see [Discover].
type Discovery struct {
	// Requests are those that were made, in order.
	Requests []DiscoveryRequest
	// Issuer is the authorization server, or empty if none was found.
	Issuer string
	// Scopes are those that the server asks for, or else those that it has.
	Scopes []string
	// Registers reports whether the authorization server registers new clients. Otherwise a
	// login needs the ID of a client that is registered by other means.
	Registers bool
	// Err is why no authorization server was found, or nil.
	Err error
}

// DiscoveryRequest is a request for a metadata document.
type DiscoveryRequest struct {
	// Document is what the document is called, with its specification.
	Document string
	// URL is the address without secrets.
	URL string
	// Status is the status of the answer, or 0.
	Status int
	// Began is when the request was sent, and Took how long the answer has taken.
	Began time.Time
	Took  time.Duration
	// Err is why there is no answer, or nil.
	Err error
}

// DiscoverOptions configure [Discover]. Nil means the defaults.
type DiscoverOptions struct {
	// Challenge is the WWW-Authenticate of the server's response, or empty.
	Challenge string
	// AllowNetwork lists networks that metadata may lead to, as in [Options].
	AllowNetwork []netip.Prefix
	// Observe, if not nil, is called after each request, on the goroutine of Discover.
	Observe func(DiscoveryRequest)
}

// Discover asks for the metadata that a login to a server needs: that of the protected
// resource (RFC 9728), and that of its authorization server (RFC 8414, or OpenID Connect
// Discovery). It sends no token and no credentials, and registers nothing. Addresses that
// metadata names must be on the public internet, or on this machine if the server is.
func Discover(ctx context.Context, server string, o *DiscoverOptions) *Discovery {
	if o == nil {
		o = &DiscoverOptions{}
	}
	w := newWeb(o.AllowNetwork, server)
	seen := &observed{next: w.client.Transport, observe: o.Observe}
	w.client.Transport = seen
	d := demandOf(http.Header{"Www-Authenticate": {wholeParameters(o.Challenge)}})
	found, err := w.discover(ctx, server, "", d)
	result := &Discovery{
		Requests: seen.requests,
		Scopes:   d.scopes,
		Err:      err,
	}
	switch {
	case err != nil:
		return result
	case found.assumed:
		result.Err = errors.New("neither the server nor its host has metadata about logins")
		return result
	}
	result.Issuer = found.server.Issuer
	result.Registers = found.server.RegistrationEndpoint != ""
	if len(result.Scopes) == 0 {
		result.Scopes = found.scopes
	}
	return result
}

// wholeParameters removes a truncated parameter from the end of a challenge.
func wholeParameters(challenge string) string {
	if !strings.HasSuffix(challenge, "…") {
		return challenge
	}
	return challenge[:max(strings.LastIndexByte(challenge, ','), 0)]
}

// observed records the requests of a transport.
type observed struct {
	// next sends the requests. observe is called after each of them.
	next    http.RoundTripper
	observe func(DiscoveryRequest)

	mu       sync.Mutex
	requests []DiscoveryRequest
}

// RoundTrip implements http.RoundTripper.
func (o *observed) RoundTrip(r *http.Request) (*http.Response, error) {
	request := DiscoveryRequest{
		Document: documentAt(r.URL.Path),
		URL:      secrets.URL(r.URL.String()),
		Began:    time.Now(),
	}
	resp, err := o.next.RoundTrip(r)
	request.Took = time.Since(request.Began)
	if err == nil {
		request.Status = resp.StatusCode
	} else {
		request.Err = failureOf(err)
	}
	o.mu.Lock()
	o.requests = append(o.requests, request)
	o.mu.Unlock()
	if o.observe != nil {
		o.observe(request)
	}
	return resp, err
}

// documentAt returns what the metadata at a path is called.
func documentAt(path string) string {
	switch {
	case strings.Contains(path, "/oauth-authorization-server"):
		return "authorization server (RFC 8414)"
	case strings.Contains(path, "/openid-configuration"):
		return "authorization server (OpenID)"
	}
	return "protected resource (RFC 9728)"
}

// Answer describes the outcome of a request.
func (r *DiscoveryRequest) Answer() string {
	if r.Err != nil {
		return fmt.Sprintf("GET %s: %v", r.URL, r.Err)
	}
	return fmt.Sprintf("GET %s → %d %s", r.URL, r.Status, http.StatusText(r.Status))
}
