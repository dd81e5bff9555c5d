package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/netguard"
)

// Endpoint is a server at a URL ("Transports", Streamable HTTP). It is asked for
// 2026-07-28 first, then begun with initialize; a server that knows only HTTP+SSE
// of 2024-11-05 is recognized. It must not be changed after [Open].
type Endpoint struct {
	URL string
	// Header is added to every request, such as Authorization. Its values are
	// never printed, and do not follow a redirect to another host.
	Header http.Header
	// Renew, if not nil, returns the Header as it is now. It is asked when the
	// server answers 401, at most once a second: a token may have been replaced. If
	// it differs, the request is made again, and the header is used from then on.
	Renew func(ctx context.Context) (http.Header, error)

	// PublicOnly refuses addresses that are not on the public internet, as they
	// are after the name is resolved: this machine, private and link-local
	// networks, those of providers, metadata services. It is for URLs that come
	// out of files that the user did not write. Behind a proxy of the environment
	// only addresses that stand in a URL are judged: it is the proxy that resolves
	// names. The error is a [*BlockedError]. Without it the same applies to redirects
	// to other hosts only: the host of URL may be anywhere. From a URL on this machine,
	// as AllowLoopback defines it, they may lead to this machine.
	PublicOnly bool
	// Allow are addresses that are not refused.
	Allow []netip.Prefix
	// AllowLoopback has PublicOnly accept this machine where a URL names it: its host is
	// localhost, 127.0.0.1 or [::1], and nothing else. Redirects are judged by their own URL.
	AllowLoopback bool

	// Transport makes the requests, and decides where redirects may lead; nil stands
	// for one of its own, which keeps connections open. PublicOnly needs nil.
	Transport http.RoundTripper
	// MaxMessage is the largest message in bytes; 0 stands for 64 MiB.
	MaxMessage int
	// NoListen says not to hold a connection open to hear of changes.
	NoListen bool

	once    sync.Once
	client  *http.Client
	target  *url.URL
	renewal renewal
}

var _ Transport = (*Endpoint)(nil)

// String returns the URL without what may be secret in it.
func (e *Endpoint) String() string { return withoutSecrets(e.URL) }

// withoutSecrets hides the password and the query of a URL.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the URL"
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	u.Fragment = ""
	return u.String()
}

// redact replaces the values of headers: some servers quote what they were sent
// when they refuse it.
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
	return redact(text, values)
}

func (e *Endpoint) connect(_ context.Context, in inbox) (link, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, permanent{fmt.Errorf("%s is not an http or https URL with a host", e)}
	}
	e.once.Do(func() { e.prepare(u) })
	return newHTTPLink(e, in), nil
}

func (e *Endpoint) prepare(target *url.URL) {
	e.target = target
	rt := e.Transport
	if rt == nil || e.PublicOnly {
		rt = e.transport(target)
	}
	e.client = &http.Client{Transport: rt, CheckRedirect: e.redirect}
}

// transport keeps as many connections as there are requests at a time: with the
// two that net/http keeps, most requests would open one.
func (e *Endpoint) transport(target *url.URL) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		MaxIdleConnsPerHost: 128,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	guard := &netguard.Guard{Allow: e.Allow, Loopback: e.AllowLoopback}
	if !e.PublicOnly {
		guard.Host, guard.Loopback = target.Hostname(), netguard.NamesLoopback(e.URL)
	}
	return guard.Transport(t)
}

// request returns a request to the endpoint. body is the caller's no more.
func (e *Endpoint) request(ctx context.Context, method string, header http.Header, body []byte) *http.Request {
	r := &http.Request{Method: method, URL: e.target, Host: e.target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return r.WithContext(ctx)
}

// do makes a request, and makes it again with another token if it wants one.
func (e *Endpoint) do(r *http.Request) (*http.Response, error) {
	resp, err := e.send(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	return e.renewed(r, resp)
}

// send makes a request. What http.Client adds to its transport is needed only for
// redirects and for a user in the URL; it costs a tenth of a request.
func (e *Endpoint) send(r *http.Request) (*http.Response, error) {
	if e.target.User != nil {
		return e.client.Do(r)
	}
	resp, err := e.client.Transport.RoundTrip(r)
	if err != nil || resp.StatusCode < 300 || resp.StatusCode > 399 || resp.Header.Get("Location") == "" {
		return resp, err
	}
	finishBody(resp.Body)
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return e.client.Do(r)
}

// release closes the connections that are kept.
func (e *Endpoint) release() {
	if e.client != nil && e.Transport == nil {
		e.client.CloseIdleConnections()
	}
}

// redirect follows within limits, and keeps secrets from other hosts.
func (e *Endpoint) redirect(to *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > 5:
		return fmt.Errorf("more than 5 redirects")
	case to.Method != first.Method:
		return fmt.Errorf("the server redirects to %s, which would lose the message: use that URL", withoutSecrets(to.URL.String()))
	case sameHost(to.URL, first.URL):
		return nil
	}
	for name := range e.header() {
		to.Header.Del(name)
	}
	for _, name := range []string{"Authorization", "Cookie", headerSession} {
		to.Header.Del(name)
	}
	return nil
}

// sameHost reports whether what was meant for one URL may go to the other:
// the same host and port, or from http to https.
func sameHost(to, from *url.URL) bool {
	if to.Scheme == from.Scheme {
		return strings.EqualFold(to.Host, from.Host)
	}
	return to.Scheme == "https" && strings.EqualFold(to.Hostname(), from.Hostname()) && to.Port() == "" && from.Port() == ""
}

func (e *Endpoint) maxMessage() int { return cmp.Or(max(e.MaxMessage, 0), 64<<20) }
