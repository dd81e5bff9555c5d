package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// BlockedError is why an [Endpoint] refused an address, see [Endpoint.PublicOnly].
type BlockedError = netguard.BlockedError

// Endpoint is a server at a URL ("Transports", Streamable HTTP). 2026-07-28 is tried
// first, then initialize; a server that supports only HTTP+SSE of 2024-11-05 is detected.
// It must not be changed after [Open].
type Endpoint struct {
	// URL is the http or https URL of the server's endpoint.
	URL string
	// Header is added to every request, such as Authorization. Its values are never
	// printed, and are not sent to another host after a redirect.
	Header http.Header
	// Renew, if not nil, returns the current Header. It is called when the server answers
	// 401, at most once a second, because a token may have been replaced. If the header
	// differs, the request is retried with it, and later requests use it.
	Renew func(ctx context.Context) (http.Header, error)
	// Credentials, if not nil, authorize each request, unless Header contains
	// Authorization. Nothing that they add is sent to another host.
	Credentials Credentials
	// Describe, if not nil, adds headers that describe the caller of each request, which is in
	// the context of the request. Requests of the connection itself have no caller. A request
	// for which it fails is not sent. Nothing that it adds is sent to another host.
	Describe func(r *http.Request) error

	// PublicOnly refuses addresses that are not on the public internet, after name
	// resolution: this machine, private, link-local and provider networks, and metadata
	// services. It is for URLs from files that the user did not write. With a proxy from
	// the environment, only addresses in URLs are checked, because the proxy resolves
	// names. The error is a [*BlockedError].
	//
	// Without PublicOnly, the same applies only to redirects to other hosts: the host of
	// URL may be anywhere. From a URL on this machine, as defined for AllowLoopback,
	// redirects may lead to this machine.
	PublicOnly bool
	// Allow lists addresses that are not refused.
	Allow []netip.Prefix
	// AllowLoopback makes PublicOnly accept this machine if a URL names it: its host must
	// be localhost, 127.0.0.1 or [::1]. Redirects are checked by their own URL.
	AllowLoopback bool

	// Transport makes the requests, and decides where redirects may lead; nil means a
	// separate one with persistent connections. PublicOnly requires nil.
	Transport http.RoundTripper
	// MaxMessage is the maximum message size in bytes; 0 means 64 MiB.
	MaxMessage int
	// NoListen disables the standing connection for change notifications.
	NoListen bool

	// once prepares the following fields at the first connection: an Endpoint is
	// configured as a struct, without a constructor.
	once    sync.Once
	client  *http.Client
	target  *url.URL
	renewal renewal
	token   atomic.Pointer[string] // last one of Credentials, to be redacted
}

var _ Transport = (*Endpoint)(nil)

// String returns the URL without its secrets.
func (e *Endpoint) String() string { return secrets.URL(e.URL) }

// redact replaces the values of headers: some servers quote them in errors.
func (e *Endpoint) redact(text string) string {
	var values []string
	for _, list := range e.header() {
		for _, v := range list {
			if _, behind, ok := strings.Cut(v, " "); ok { // a scheme
				v = behind
			}
			values = append(values, v)
		}
	}
	if token := e.token.Load(); token != nil {
		values = append(values, *token)
	}
	return redact(text, values)
}

// connect makes no request: the first message does.
func (e *Endpoint) connect(_ context.Context, ses *session) (link, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, permanent{fmt.Errorf("%s is not an http or https URL with a host", e)}
	}
	e.once.Do(func() { e.prepare(u) })
	ses.http = newHTTPLink(e, ses)
	return ses.http, nil
}

// prepare builds the HTTP client. Its redirects obey the rules for addresses.
func (e *Endpoint) prepare(target *url.URL) {
	e.target = target
	rt := e.Transport
	if rt == nil || e.PublicOnly {
		rt = e.transport(target)
	}
	e.client = &http.Client{
		Transport:     rt,
		CheckRedirect: e.redirect,
	}
}

// transport keeps as many idle connections as there are concurrent requests: with
// net/http's default of two, most requests would open a new one.
func (e *Endpoint) transport(target *url.URL) http.RoundTripper {
	dialer := &net.Dialer{
		Timeout:   15 * time.Second,
		KeepAlive: 30 * time.Second,
	}
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		MaxIdleConnsPerHost: 128,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,

		MaxResponseHeaderBytes: 64 << 10,
	}
	guard := &netguard.Guard{
		Allow:    e.Allow,
		Loopback: e.AllowLoopback,
	}
	if !e.PublicOnly {
		guard.Host, guard.Loopback = target.Hostname(), netguard.NamesLoopback(e.URL)
	}
	return guard.Transport(t)
}

// request returns a request to the endpoint, without a body.
func (e *Endpoint) request(ctx context.Context, method string, header http.Header) *http.Request {
	r := &http.Request{
		Method:     method,
		URL:        e.target,
		Host:       e.target.Host,
		Header:     header,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}
	return r.WithContext(ctx)
}

// post sends a message. It takes ownership of header and body: the HTTP transport may read
// the body after it has returned.
func (e *Endpoint) post(
	ctx context.Context, to *url.URL, header http.Header, body []byte, t *tap.Tapper,
) (*http.Response, error) {
	header["Content-Type"] = []string{"application/json"}
	header["Accept"] = []string{"application/json, " + mediatype.EventStream}
	r := e.request(ctx, http.MethodPost, header)
	r.URL = to
	r.Host = to.Host
	r.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(body)), nil
	}
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(body))
	return e.do(r, t)
}

// do makes a request, and retries it with another token if necessary. t may be nil. After a redirect, a server of
// 2024-11-05 may name an address for messages on another host, which gets no secrets.
func (e *Endpoint) do(r *http.Request, t *tap.Tapper) (*http.Response, error) {
	if !sameHost(r.URL, e.target) {
		e.removeSecrets(r.Header)
		return e.send(r, t)
	}
	if e.Describe != nil {
		if err := e.Describe(r); err != nil {
			return nil, &AuthorizeError{err}
		}
	}
	if e.authorizes() {
		return e.doAuthorized(r, t)
	}
	resp, err := e.send(r, t)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	return e.renewed(r, resp, t)
}

// send makes a request, tapped unless t is nil.
func (e *Endpoint) send(r *http.Request, t *tap.Tapper) (*http.Response, error) {
	if t != nil {
		return e.tappedRoundTrip(r, t)
	}
	return e.roundTrip(r)
}

// roundTrip makes a request. http.Client is only needed for redirects and for a user in
// the URL; it costs a tenth of a request.
func (e *Endpoint) roundTrip(r *http.Request) (*http.Response, error) {
	if e.target.User != nil {
		return e.client.Do(r)
	}
	resp, err := e.client.Transport.RoundTrip(r)
	if err != nil || resp.StatusCode < 300 || resp.StatusCode > 399 ||
		resp.Header.Get("Location") == "" {
		return resp, err
	}
	drainAndClose(resp.Body)
	if r.Method == http.MethodPost && !keepsMessage(resp.StatusCode) {
		to, err := resp.Location()
		if err != nil {
			return nil, err
		}
		return nil, lostMessage(to, resp.StatusCode)
	}
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return e.client.Do(r)
}

// release closes the idle connections.
func (e *Endpoint) release() {
	if e.client != nil && e.Transport == nil {
		e.client.CloseIdleConnections()
	}
}

// redirect restricts redirects, and does not send secrets to other hosts.
func (e *Endpoint) redirect(to *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > 5:
		return &redirectError{
			to:  secrets.URL(to.URL.String()),
			why: "the request was redirected 5 times before",
		}
	case to.Method != first.Method:
		return lostMessage(to.URL, to.Response.StatusCode)
	case sameHost(to.URL, first.URL):
		return nil
	}
	e.removeSecrets(to.Header)
	return nil
}

// removeSecrets removes from a header what only the host of URL may see.
func (e *Endpoint) removeSecrets(h http.Header) {
	for name := range e.header() {
		h.Del(name)
	}
	for name := range h {
		if !isProtocolHeader(name) {
			delete(h, name)
		}
	}
}

// keepsMessage reports whether a redirect with this status repeats a POST, rather than fetching another page.
func keepsMessage(status int) bool {
	return status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
}

// lostMessage returns the error for a redirect of a POST that would lose the message.
func lostMessage(to *url.URL, status int) *redirectError {
	return &redirectError{
		to:     secrets.URL(to.String()),
		why:    "use that URL, as a redirect of this kind loses the message",
		served: status == http.StatusSeeOther,
	}
}

// redirectError is a redirect that is not followed.
type redirectError struct {
	to  string // without secrets
	why string
	// served means that the server may have served the request: 303 names the page with its result.
	served bool
}

// notServed reports whether an error is a redirect by a server that did not serve the request.
func notServed(err error) bool {
	var redirect *redirectError
	return errors.As(err, &redirect) && !redirect.served
}

func (e *redirectError) Error() string { return e.by("the server") }

// by returns the text of the error for a server.
func (e *redirectError) by(server string) string {
	return fmt.Sprintf("%s redirects to %s, which is not followed: %s", server, e.to, e.why)
}

// isProtocolHeader reports whether a header is part of every request of the protocol, so that
// another host may see it. Sessions, credentials and what describes the caller are not. This lists what to
// keep, unlike the lists of packages hophttp and stax, since an unknown header may be a credential; none of
// theirs about connections is in it.
func isProtocolHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return slices.Contains(keptHeaders[:], name) || strings.HasPrefix(name, "Mcp-") && name != headerSession
}

// keptHeaders are the protocol headers without the prefix of the protocol, in canonical form.
var keptHeaders = [...]string{"Accept", "Content-Type", "Last-Event-Id", "User-Agent"}

// sameHost reports whether data for one URL may be sent to the other: the host and port
// are the same, or http changes to https.
func sameHost(to, from *url.URL) bool {
	if to.Scheme == from.Scheme {
		return strings.EqualFold(to.Host, from.Host)
	}
	return to.Scheme == "https" &&
		strings.EqualFold(to.Hostname(), from.Hostname()) &&
		to.Port() == "" &&
		from.Port() == ""
}

func (e *Endpoint) maxMessage() int {
	return cmp.Or(max(e.MaxMessage, 0), 64<<20)
}
