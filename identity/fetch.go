package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Limits of requests to authorization servers.
const (
	maxDocument  = 512 << 10
	maxRedirects = 3
	fetchTimeout = 20 * time.Second
)

// errNoDocument reports that an address has no metadata.
var errNoDocument = errors.New("no metadata")

// web makes the requests of a login: to the server, to its metadata, and to the
// authorization server that these name. It never sends a token to the server.
type web struct {
	client *http.Client
	// local reports that the user named an address of this machine, so that others on it
	// may be used, and http for these.
	local bool
}

// newWeb returns the requests for a server. typed are the URLs that the user named: their
// hosts may be anywhere; all others must be on the public internet or in allow.
func newWeb(allow []netip.Prefix, typed ...string) *web {
	w := &web{}
	for _, address := range typed {
		w.local = w.local || netguard.NamesLoopback(address)
	}
	by := &typedHosts{other: guarded(allow, "", w.local)}
	for _, address := range typed {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			continue
		}
		host := strings.ToLower(u.Hostname())
		if by.hosts == nil {
			by.hosts = map[string]http.RoundTripper{}
		}
		by.hosts[host] = guarded(allow, host, w.local)
	}
	w.client = &http.Client{
		Transport:     by,
		CheckRedirect: w.checkRedirect,
		Timeout:       fetchTimeout,
	}
	return w
}

// guarded returns a transport that reaches host, and otherwise only allowed addresses.
func guarded(allow []netip.Prefix, host string, local bool) http.RoundTripper {
	guard := &netguard.Guard{
		Allow:    allow,
		Host:     host,
		Loopback: local,
	}
	return guard.Transport(&http.Transport{
		// A login is a few requests: idle connections would have no owner.
		DisableKeepAlives:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  15 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	})
}

// typedHosts uses the transport of the host that the user named, if a request is to it.
type typedHosts struct {
	hosts map[string]http.RoundTripper
	other http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *typedHosts) RoundTrip(r *http.Request) (*http.Response, error) {
	if rt, ok := t.hosts[strings.ToLower(r.URL.Hostname())]; ok {
		return rt.RoundTrip(r)
	}
	return t.other.RoundTrip(r)
}

// checkRedirect limits redirects of documents. Requests with credentials follow none.
func (w *web) checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return http.ErrUseLastResponse
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return w.checkURL(to.URL.String())
}

// checkURL returns an error unless an address may be requested or opened: https, or http
// on this machine if the user named an address of this machine.
func (w *web) checkURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "":
		return fmt.Errorf("%q is not a URL", printable(address))
	case u.Scheme == "https" && u.Host != "":
	case u.Scheme == "http" && u.Host != "":
		if !w.local || !netguard.NamesLoopback(address) {
			return fmt.Errorf("%s is not https", secrets.URL(address))
		}
	default:
		return fmt.Errorf("%q is not an https URL", printable(address))
	}
	if u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%s has a user or a fragment", secrets.URL(address))
	}
	return nil
}

// getJSON fetches a JSON object. A server that is overloaded or broken (429, 5xx) is a
// [*ServerError]; any other status but 200, and anything but an object, is errNoDocument.
func (w *web) getJSON(ctx context.Context, address string, into any) error {
	if err := w.checkURL(address); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", secrets.URL(address), failureOf(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("fetch %s: %w", secrets.URL(address), &ServerError{
			Host:   hostOf(address),
			Status: resp.StatusCode,
		})
	case resp.StatusCode != http.StatusOK:
		return errNoDocument
	}
	text, err := readDocument(resp.Body)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", secrets.URL(address), err)
	}
	// Some servers send a byte order mark.
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if jsonscan.Valid(text) != nil || !jsonscan.IsObject(text) {
		return errNoDocument
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: invalid metadata: %w", secrets.URL(address), err)
	}
	return nil
}

// silentError reports that a server did not answer in the time that the caller has, which may be that of a login.
type silentError struct{}

// Error implements error.
func (silentError) Error() string { return "no answer in time" }

// Unwrap returns [context.DeadlineExceeded].
func (silentError) Unwrap() error { return context.DeadlineExceeded }

// post sends a form or a JSON document with credentials. The answer has at most
// maxDocument bytes.
func (w *web) post(
	ctx context.Context, address, contentType string, body []byte, header http.Header,
) (resp *http.Response, text []byte, err error) {
	if err := w.checkURL(address); err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	resp, err = w.client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("post to %s: %w", secrets.URL(address), failureOf(err))
	}
	defer resp.Body.Close()
	if text, err = readDocument(resp.Body); err != nil {
		return nil, nil, fmt.Errorf("post to %s: %w", secrets.URL(address), err)
	}
	return resp, text, nil
}

// readDocument reads a document of limited size.
func readDocument(r io.Reader) ([]byte, error) {
	text, err := fsutil.ReadLimited(r, maxDocument)
	if large := (*fsutil.TooLargeError)(nil); errors.As(err, &large) {
		return nil, fmt.Errorf("the answer has more than %d KiB", maxDocument>>10)
	}
	return text, failureOf(err)
}

// probe asks a server without a token, and returns what it demands. ok is false if the
// server did not refuse.
func (w *web) probe(ctx context.Context, server string) (d demand, ok bool, err error) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"slipway","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, bytes.NewReader(body))
	if err != nil {
		return demand{}, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/list")
	resp, err := w.client.Do(req)
	if err != nil {
		return demand{}, false, fmt.Errorf("%s: %w", secrets.URL(server), failureOf(err))
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // only the header matters
	_ = resp.Body.Close()
	refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	return demandOf(resp.Header), refused, nil
}

// failureOf returns an error of the HTTP client without the URL, which may contain secrets. The result is a silentError
// if the time ended while the server was asked: [ErrTimeout] is for users who do not complete a login.
func failureOf(err error) error {
	if errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return silentError{}
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
