package open

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/registry"
)

// EntryOptions configure [Entry]. The zero value and nil are the defaults.
type EntryOptions struct {
	// Document selects what is used from a server.json, and names the entry.
	Document registry.EntryOptions
	// BundleDir is the folder for downloaded bundles, which are named after their
	// SHA-256. [Addition.Keep] creates it.
	BundleDir string
	// Signer is the required signer of a bundle, in the syntax of [mcpb.ParseSigner]. It
	// is verified now and whenever the definition starts the bundle. Empty accepts any.
	Signer string
	// Program is the program that starts bundles; empty means slipway.
	Program string
	// AllowNetwork lists networks that documents and redirects may lead to in addition to
	// the public internet.
	AllowNetwork []netip.Prefix
	// Live configures the connection that identifies a server at a URL.
	Live *LiveOptions
}

// Addition is a definition created from third-party metadata. None of its servers has
// been started.
type Addition struct {
	*registry.Entry
	download *download // or nil
}

// Keep moves a downloaded bundle to the path that the definition refers to.
func (a *Addition) Keep() error {
	if a.download == nil {
		return nil
	}
	return a.download.keep()
}

// Close removes a download that was not kept.
func (a *Addition) Close() error {
	if a.download == nil {
		return nil
	}
	return a.download.Close()
}

// Entry creates a definition from
//
//   - a server.json of the MCP registry, as a file or at a URL, also in the form of a
//     registry response,
//   - an .mcpb bundle, as a file or at a URL: the definition starts it with slipway
//     bundle run, pinned to its current SHA-256,
//   - the http or https URL of a running server.
//
// A typed URL may be on any network; its redirects and the URLs in documents must be on
// the public internet or in AllowNetwork. An error is an [*Error]; it wraps a
// [*client.BlockedError], a [*registry.UnfitError] or a [*mcpb.DigestError]. The caller
// must close the Addition.
func Entry(ctx context.Context, arg string, opts *EntryOptions) (*Addition, error) {
	e := &entries{arg: arg}
	if opts != nil {
		e.opts = *opts
	}
	e.opts.Program = cmp.Or(e.opts.Program, "slipway")
	if isWeb(arg) {
		return e.web(ctx)
	}
	info, err := stat(arg)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &Error{
			Arg:  arg,
			Why:  "a folder cannot be added",
			Hint: entryHint,
		}
	case isBundle(arg, info):
		return e.local(ctx)
	}
	f, err := os.Open(arg)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, registry.MaxBytes+1))
	if err != nil {
		return nil, unreadable(arg, err)
	}
	return e.document(ctx, text, "")
}

const entryHint = "name a server.json, an .mcpb, or the URL of one of them or of a server"

// officialHost is the host of the official registry.
const officialHost = "registry.modelcontextprotocol.io"

// entries creates one Addition.
type entries struct {
	arg  string
	opts EntryOptions
}

func (e *entries) fail(err error, hint string) *Error {
	return &Error{
		Arg:  e.arg,
		Why:  err.Error(),
		Hint: hint,
		Err:  err,
	}
}

// document creates a definition from a server.json; from is its URL, or empty.
func (e *entries) document(ctx context.Context, text []byte, from string) (*Addition, error) {
	doc, err := registry.Parse(text)
	if err != nil {
		return nil, e.fail(fmt.Errorf("no server.json: %w", err), entryHint)
	}
	o := e.opts.Document
	if u, err := url.Parse(from); err == nil && u.Host != "" {
		if o.Registry = u.Hostname(); o.Registry == officialHost {
			o.Registry = "official"
		}
	}
	entry, err := doc.Entry(&o)
	if err != nil {
		failure := e.fail(err, "")
		if unfit := (*registry.UnfitError)(nil); errors.As(err, &unfit) {
			failure.Hint = unfit.Hint
		}
		return nil, failure
	}
	if entry.Bundle == nil {
		return &Addition{Entry: entry}, nil
	}
	return e.bundleOf(ctx, entry, from)
}

// bundleOf downloads the bundle that a document refers to.
func (e *entries) bundleOf(ctx context.Context, entry *registry.Entry, from string) (*Addition, error) {
	address := entry.Bundle.URL
	if !isWeb(address) {
		return nil, e.fail(&registry.UnfitError{Why: "its bundle is at no http or https URL"}, "")
	}
	resp, err := e.get(ctx, address, from)
	if err != nil {
		return nil, remoteError(address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &Error{
			Arg:  address,
			Why:  "the host answers with " + resp.Status,
			Kind: Remote,
		}
	}
	d, err := fetchBundle(resp.Body, e.opts.BundleDir)
	if err != nil {
		return nil, remoteError(address, err)
	}
	a := &Addition{
		Entry:    entry,
		download: d,
	}
	if want := entry.Bundle.SHA256; want != "" && want != d.sum {
		return nil, errors.Join(&Error{
			Arg: address,
			Why: "refused",
			Err: &mcpb.DigestError{
				Got:  d.sum,
				Want: want,
			},
		},
			a.Close())
	}
	return e.describe(ctx, a, d.temporary, d.path(), d.sum, address)
}

// local creates a definition from a bundle on disk, which stays where it is.
func (e *entries) local(ctx context.Context) (*Addition, error) {
	path, err := filepath.Abs(e.arg)
	if err != nil {
		return nil, unreadable(e.arg, err)
	}
	sum, err := sumOfFile(path)
	if err != nil {
		return nil, unreadable(e.arg, err)
	}
	return e.describe(ctx, &Addition{}, path, path, sum, "")
}

// web detects what the typed URL leads to.
func (e *entries) web(ctx context.Context) (*Addition, error) {
	asking, leave := context.WithCancel(ctx)
	defer leave()
	resp, err := e.get(asking, e.arg, "")
	if err != nil {
		return nil, remoteError(e.arg, err)
	}
	defer resp.Body.Close()
	if isEventStream(resp) {
		// A stream of the current transport may stay silent indefinitely.
		defer time.AfterFunc(e.firstEventWait(), leave).Stop()
		return e.server(ctx, resp)
	}
	body := bufio.NewReader(resp.Body)
	begin, _ := body.Peek(4)
	if resp.StatusCode == http.StatusOK && bytes.Equal(begin, []byte("PK\x03\x04")) {
		d, err := fetchBundle(body, e.opts.BundleDir)
		if err != nil {
			return nil, remoteError(e.arg, err)
		}
		return e.describe(ctx, &Addition{download: d}, d.temporary, d.path(), d.sum, e.arg)
	}
	text, err := io.ReadAll(io.LimitReader(body, registry.MaxBytes+1))
	if err != nil {
		return nil, remoteError(e.arg, err)
	}
	if resp.StatusCode == http.StatusOK && registry.IsDocument(text) {
		return e.document(ctx, text, e.arg)
	}
	return e.server(ctx, resp)
}

// server creates a definition of a server at a URL. resp is its response to a GET.
func (e *entries) server(ctx context.Context, resp *http.Response) (*Addition, error) {
	name := cmp.Or(e.opts.Document.Name, Argument(e.arg).Name())
	s := stax.Server{
		Name:      name,
		URL:       e.arg,
		Transport: stax.HTTP,
	}
	if isEventStream(resp) && namesEndpoint(resp.Body) {
		s.Transport = stax.SSE
	}
	_ = resp.Body.Close() // frees the slot of a server that allows only one stream
	entry := &registry.Entry{Config: stax.Config{Servers: []stax.Server{s}}}
	o := e.opts.Live
	if o == nil {
		o = &LiveOptions{}
	}
	src, err := openServer(ctx, e.arg, e.arg, o)
	switch {
	case refusesAccess(err):
		key := registry.SecretKey(s.Name, "token")
		entry.Server().Secrets = []string{key}
		entry.Config.Secrets = []stax.Declaration{{Key: key, Kind: "token"}}
		entry.Todo = []string{"set " + key + " to a token: the server asks for one; slipway config secrets shows what is set"}
	case err != nil:
		why := reasonOf(err)
		var opening *Error
		if errors.As(err, &opening) {
			why = opening.Why
		}
		return nil, &Error{
			Arg:  e.arg,
			Why:  "there is no server.json, no bundle, and no server: " + why,
			Kind: Remote,
			Err:  err,
			Hint: entryHint,
		}
	default:
		defer closeSource(src)
		if cat, err := src.Catalog(ctx); err == nil {
			entry.Server().Description = cat.Server.Title
			if own := toName(cat.Server.Name); own != "" && len(own) <= 64 && e.opts.Document.Name == "" {
				entry.Server().Name = own
			}
		}
	}
	return &Addition{Entry: entry}, nil
}

// firstEventWait returns the time limit for the first event of a stream.
func (e *entries) firstEventWait() time.Duration {
	const usual = 3 * time.Second
	if l := e.opts.Live; l != nil && l.Source != nil && l.Source.Timeouts.Start > 0 {
		return min(usual, l.Source.Timeouts.Start)
	}
	return usual
}

// namesEndpoint reports whether a stream begins like one of protocol version 2024-11-05.
func namesEndpoint(body io.Reader) bool {
	lines := bufio.NewScanner(io.LimitReader(body, 4<<10))
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "event:") {
			return strings.TrimSpace(strings.TrimPrefix(line, "event:")) == "endpoint"
		}
	}
	return false
}
