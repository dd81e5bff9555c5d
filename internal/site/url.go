package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/mediatype"
)

// Web is a store at an HTTP URL.
type Web struct {
	base   *url.URL // its path ends in a slash
	origin string   // for messages: scheme, host and port only
	client *http.Client
	// opts are the limits, and slots bound concurrent requests.
	opts  *Options
	slots chan struct{}
	// own reports whether the site created client and must clean it up.
	own bool
}

var _ Store = (*Web)(nil)

// maxRedirects is how many redirects one fetch follows within the site.
const maxRedirects = 3

// OpenWeb returns a store for a site on a web host. It makes no request.
func OpenWeb(baseURL string, o *Options) (*Web, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	w := &Web{
		base:   base,
		origin: base.Scheme + "://" + base.Host,
		opts:   o,
		slots:  make(chan struct{}, o.MaxFetches),
	}
	var client http.Client
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	} else {
		client.Transport, w.own = newTransport(o), true
	}
	client.CheckRedirect = w.checkRedirect
	w.client = &client
	return w, nil
}

// parseBase validates the address of a site and makes it end in a slash. Errors do not
// repeat it, since it may contain a password.
func parseBase(baseURL string) (*url.URL, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, errors.New("the site's URL cannot be parsed")
	}
	switch {
	case base.Scheme != "http" &&
		base.Scheme != "https", base.Host == "", base.Opaque != "":
		return nil, errors.New("the site's URL must begin with http:// or https:// and a host")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("the site's URL must not have a query or a fragment: file names are added to its path")
	}
	escaped := strings.TrimSuffix(strings.TrimSuffix(base.EscapedPath(), "/"+ManifestName+"/"), "/"+ManifestName)
	if !strings.HasSuffix(escaped, "/") {
		escaped += "/"
	}
	if base.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, errors.New("the site's URL cannot be parsed")
	}
	base.RawPath = escaped
	return base, nil
}

// newTransport returns a transport in which every phase of a request is limited.
func newTransport(o *Options) *http.Transport {
	dialer := &net.Dialer{
		Timeout:   o.Timeout,
		KeepAlive: 30 * time.Second,
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    o.MaxFetches,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    o.Timeout,
		ResponseHeaderTimeout:  o.Timeout,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func (w *Web) Traits() traits { return traits{Title: w.base.Hostname()} }

// Names implements store: a web host cannot be listed.
func (w *Web) Names(string, func(string, bool) bool) error {
	return errors.ErrUnsupported
}

func (w *Web) Modified(string) time.Time { return time.Time{} }

// Close implements io.Closer.
func (w *Web) Close() error {
	if w.own {
		w.client.CloseIdleConnections()
	}
	return nil
}

// address returns the URL of a file. Each part of the path is escaped separately, so that
// "?", "#" and "%2f" in a name stay in the name.
func (w *Web) address(path string) (*url.URL, error) {
	if !IsSafePath(path) {
		return nil, ErrMissing
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	u := *w.base
	u.Path = w.base.Path + path
	u.RawPath = w.base.RawPath + strings.Join(parts, "/")
	if !w.inside(&u) {
		return nil, ErrMissing
	}
	return &u, nil
}

// inside reports whether u is a file of the site: it has the same origin and is below the
// base, also after the host has cleaned the path.
func (w *Web) inside(u *url.URL) bool {
	folder := strings.TrimSuffix(path.Clean(w.base.Path), "/") + "/"
	return sameOrigin(u, w.base) &&
		strings.HasPrefix(u.EscapedPath(), w.base.EscapedPath()) &&
		strings.HasPrefix(path.Clean(u.Path)+"/", folder)
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme &&
		strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// port returns the port of a URL, explicit or by scheme.
func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// checkRedirect follows redirects only within the site. For any other, the response is
// the redirect itself.
func (w *Web) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || !w.inside(req.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// Load requests a file, with the validators of the version that is known.
func (w *Web) Load(ctx context.Context, path string, since *Stamp, limit int64) (*File, error) {
	address, err := w.address(path)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-bounded.Done():
		return nil, w.failure(ctx, bounded.Err())
	}
	req, err := http.NewRequestWithContext(bounded, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, ErrMissing // not a valid address
	}
	ask(req.Header, since)
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.failure(ctx, err)
	}
	defer resp.Body.Close()
	return w.receive(ctx, resp, path, limit)
}

// ask sets the headers of a request for a file, conditional if since is not nil.
func ask(h http.Header, since *Stamp) {
	h.Set("Accept", "application/json, */*;q=0.1")
	h.Set("User-Agent", "slipway")
	if since == nil {
		return
	}
	if since.etag != "" {
		h.Set("If-None-Match", since.etag)
	}
	if since.lastModified != "" {
		h.Set("If-Modified-Since", since.lastModified)
	}
}

// receive converts an HTTP response to a file.
func (w *Web) receive(ctx context.Context, resp *http.Response, path string, limit int64) (*File, error) {
	if err := w.status(resp.StatusCode, path == ManifestName); err != nil {
		return nil, err
	}
	loaded := freshness(resp.Header, w.opts, time.Now())
	if resp.StatusCode == http.StatusNotModified {
		loaded.Unchanged = true
		return loaded, nil
	}
	kind := resp.Header.Get("Content-Type")
	stream := mediatype.Of(kind) == mediatype.EventStream
	switch {
	case stream && path == ManifestName:
		return nil, &NotSite{Text: w.origin + " answers with an event stream"}
	case stream, mediatype.IsHTML(kind):
		return nil, ErrMissing // a web page, or a stream that may have no end, whatever the status
	}
	loaded.Stamp = Stamp{
		etag:         resp.Header.Get("ETag"),
		lastModified: resp.Header.Get("Last-Modified"),
	}
	var err error
	loaded.Data, err = ReadLimited(resp.Body, resp.ContentLength, limit)
	if err == nil && resp.ContentLength > int64(len(loaded.Data)) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !errors.As(err, new(TooLarge)) {
		err = w.failure(ctx, err)
	}
	return loaded, err
}

// status converts an HTTP status to an error. Only the manifest must exist.
func (w *Web) status(code int, manifest bool) error {
	switch {
	case code == http.StatusOK, code == http.StatusNotModified:
		return nil
	case code == http.StatusNotFound, code == http.StatusGone:
		return ErrMissing
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return &Unavailable{Text: fmt.Sprintf("%s answers with status %d", w.origin, code)}
	case code >= 300 && code < 400 && manifest:
		return SubjectError(w.origin + " redirects to an address outside of the site; open that one instead")
	case code == http.StatusMethodNotAllowed && manifest:
		return &NotSite{Text: fmt.Sprintf("%s answers with status %d", w.origin, code)}
	case code == http.StatusUnauthorized || manifest:
		return SubjectError(fmt.Sprintf("%s answers with status %d", w.origin, code))
	}
	// Some object stores send "forbidden" for a missing file to clients that may not list,
	// other hosts redirect to a page, and some reject a name they cannot store.
	return ErrMissing
}

// failure words the error of a fetch. It names only the origin: the rest of an address
// may be secret, and so may a resolver's message.
func (w *Web) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its text contains the whole address
	}
	text := w.origin + " cannot be reached"
	if errors.Is(err, context.DeadlineExceeded) {
		text = w.origin + " does not answer in time"
	}
	return &Unavailable{
		Text:  text,
		cause: errors.New(err.Error()),
	}
}

// Head returns the header of a file. It uses GET, because some hosts do not support HEAD.
func (w *Web) Head(ctx context.Context, path string) (*http.Response, error) {
	address, err := w.address(path)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	ask(req.Header, nil)
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.failure(ctx, err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4096)
	return resp, resp.Body.Close()
}
