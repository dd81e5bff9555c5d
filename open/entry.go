package open

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/stax"
)

// EntryOptions configure [Entry]. The zero value and nil are the defaults.
type EntryOptions struct {
	// Document selects what is used from a server.json, and names the entry.
	Document registry.EntryOptions
	// Title is what a source that Slipway serves is called for people, and the description
	// of any other server.
	Title string
	// Args are arguments for the program in a package.
	Args []string
	// Env sets variables of a local server. Its values are written to the definition.
	Env map[string]string
	// Secrets are the keys of secrets that the server needs: variables of a local server,
	// the bearer token of a remote one.
	Secrets []string
	// Dir is the folder of the project that the definition is for: paths in it become
	// relative. Empty means paths are absolute.
	Dir string
	// BundleDir is the folder for downloaded bundles, which are named after their
	// SHA-256. [Addition.Keep] creates it.
	BundleDir string
	// Signer is the required signer of a bundle, in the syntax of [mcpb.ParseSigner]. It
	// is verified now and whenever the definition starts the bundle. Empty accepts any.
	Signer string
	// Program is the command line that starts Slipway, for sources that it serves; nil
	// means slipway.
	Program []string
	// AllowNetwork lists networks that documents and redirects may lead to in addition to
	// the public internet.
	AllowNetwork []netip.Prefix
	// Registry is where names of servers are looked up. Nil means the official registry.
	Registry *registry.Client
	// Progress is called while a bundle is downloaded, with the bytes so far and of all, -1
	// if unknown, and at the end with the size twice.
	Progress func(done, all int64)
	// Live configures the connection that identifies a server at a URL.
	Live *LiveOptions
}

// Addition is the definition of a server, or several for a definitions file. None of them
// has been started.
type Addition struct {
	*registry.Entry
	// Offers describes what a source that Slipway serves offers, as in "6 tools".
	Offers string
	// Login is set if the server at a URL requires a login, which its definition does not
	// contain.
	Login    *identity.LoginRequiredError
	download *download // or nil
}

// Keep moves a downloaded bundle to the path that the definition refers to, atomically.
// Without a download it does nothing. Call it before [Addition.Close].
func (a *Addition) Keep() error {
	if a.download == nil {
		return nil
	}
	return a.download.keep()
}

// Close removes the temporary files of a download. A bundle that [Addition.Keep] has moved
// stays. It may be called several times.
func (a *Addition) Close() error {
	if a.download == nil {
		return nil
	}
	return a.download.Close()
}

// Entry creates a definition from
//
//   - a source that Slipway serves: a folder of documents, a site, a table or another
//     source of [Open]. The definition starts slipway serve --stdio,
//   - a definitions file, or the config file of a client: all its servers,
//   - a command in the form of [Command],
//   - npm:NAME or pypi:NAME, optionally with a version, see [registry.ParsePackage],
//   - the name of a server in the registry, as in io.github.owner/server, optionally with
//     @ and a version, unless a file of that name exists,
//   - a server.json of the MCP registry, as a file or at a URL, also in the form of a
//     registry response,
//   - an .mcpb bundle, as a file or at a URL: the definition starts it with slipway
//     bundle run, pinned to its current SHA-256,
//   - the http or https URL of a running server.
//
// A typed URL may be on any network; its redirects and the URLs in documents must be on
// the public internet or in AllowNetwork. An error is an [*Error]; it wraps a
// [*client.BlockedError], a [*registry.UnfitError], a [*registry.APIError] or a
// [*mcpb.DigestError]. The caller must close the Addition.
func Entry(ctx context.Context, arg string, opts *EntryOptions) (*Addition, error) {
	e := &entries{arg: arg}
	if opts != nil {
		e.opts = *opts
	}
	if len(e.opts.Program) == 0 {
		e.opts.Program = []string{"slipway"}
	}
	a, err := e.detect(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.extend(a); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// detect creates a definition from whatever the argument names.
func (e *entries) detect(ctx context.Context) (*Addition, error) {
	if registry.IsPackage(e.arg) {
		return e.packaged()
	}
	if len(e.opts.Args) > 0 {
		return nil, e.fail(errors.New("arguments are for the program in a package, such as npm:NAME"),
			"a command goes after --, without a source before it")
	}
	t := parse(e.arg)
	switch t.form {
	case command:
		return e.command(t)
	case webURL:
		if sitebuild.KindOf(t.arg) != "" { // an llms.txt
			return e.served(ctx, t.arg)
		}
		e.arg = t.arg
		return e.web(ctx)
	case siteURL:
		return e.served(ctx, t.arg)
	case serverURL:
		if isWeb(t.rest) {
			e.arg = t.rest
			return e.web(ctx)
		}
		return e.served(ctx, t.arg)
	}
	info, err := stat(t.arg)
	switch name, version, _ := strings.Cut(t.arg, "@"); {
	case err == nil:
		return e.path(ctx, t.arg, info)
	case registry.IsName(name) && errors.Is(err, fs.ErrNotExist):
		return e.named(ctx, name, version)
	}
	return nil, err
}

// path creates a definition from a file or folder.
func (e *entries) path(
	ctx context.Context,
	path string,
	info fs.FileInfo,
) (*Addition, error) {
	e.arg = path
	if isBundle(path, info) {
		return e.local(ctx)
	}
	if formOfPath(path, info) != definitions {
		return e.served(ctx, path)
	}
	f, err := fsutil.OpenRegular(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, registry.MaxBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if registry.IsDocument(text) {
		return e.document(ctx, text, "")
	}
	return e.definitions(path)
}

// entryHint lists what can be added, for arguments that are none of it.
const entryHint = "name a folder, a file, a package such as npm:NAME, a name in a registry, the URL of a server or a " +
	"server.json, or a command after --"

// officialHost is the host of the official registry, which definitions call "official".
const officialHost = "registry.modelcontextprotocol.io"

// entries creates one Addition.
type entries struct {
	// arg is what the user typed, for errors.
	arg  string
	opts EntryOptions
}

// fail returns an error with the next step.
func (e *entries) fail(err error, hint string) *Error {
	return &Error{
		Arg:  e.arg,
		Why:  err.Error(),
		Hint: hint,
		Err:  err,
	}
}

// document creates a definition from a server.json; from is its URL, or empty.
func (e *entries) document(
	ctx context.Context,
	text []byte,
	from string,
) (*Addition, error) {
	doc, err := registry.Parse(text)
	if err != nil {
		return nil, e.fail(fmt.Errorf("no server.json: %w", err), entryHint)
	}
	return e.entryOf(ctx, doc, from)
}

// entryOf creates a definition from a server.json; from is its URL, or empty.
func (e *entries) entryOf(
	ctx context.Context,
	doc *registry.Document,
	from string,
) (*Addition, error) {
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
func (e *entries) bundleOf(
	ctx context.Context,
	entry *registry.Entry,
	from string,
) (*Addition, error) {
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
	d, err := fetchBundle(fsutil.ProgressReader(resp.Body, resp.ContentLength,
		e.opts.Progress), e.opts.BundleDir)
	if err != nil {
		return nil, remoteError(address, err)
	}
	a := &Addition{
		Entry:    entry,
		download: d,
	}
	want := entry.Bundle.SHA256
	if want != "" && want != d.sum {
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
		d, err := fetchBundle(fsutil.ProgressReader(body, resp.ContentLength,
			e.opts.Progress), e.opts.BundleDir)
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
	if err := e.refusePassword(); err != nil {
		return nil, err
	}
	if e.isSite(ctx) {
		return e.served(ctx, e.arg)
	}
	return e.server(ctx, resp)
}

// refusePassword refuses a URL with a password for a server or a site: the definition would contain it.
func (e *entries) refusePassword() error {
	u, err := url.Parse(e.arg)
	if err != nil || u.User == nil {
		return nil
	}
	return e.fail(&registry.UnfitError{Why: "the URL contains a password, and definitions must not contain secrets"},
		"add the URL without it; --secret KEY declares a token for the header Authorization")
}

// server creates a definition of a server at a URL. resp is its response to a GET.
func (e *entries) server(ctx context.Context, resp *http.Response) (*Addition, error) {
	if err := e.refusePassword(); err != nil {
		return nil, err
	}
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
	if why := stax.LooksSecret("url", e.arg); why != "" {
		entry.Findings = append(entry.Findings, check.Reporter{}.Finding(stax.RuleSecretLiteral.As(check.Warning), "",
			"if the server accepts it in a header, add the URL without it and declare it with --secret KEY",
			"the URL, which is written to the definitions, looks like it contains the value of a secret: %s", why))
	}
	o := e.opts.Live
	if o == nil {
		o = &LiveOptions{}
	}
	src, err := openServer(ctx, e.arg, e.arg, o)
	var login *identity.LoginRequiredError
	switch {
	case errors.As(err, &login) && login.Advertised:
		entry.Todo = []string{"log in: " + identity.CommandFor(e.arg) + ", or in clients that log in themselves"}
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
			Why:  "there is no server.json, no bundle, no site, and no server: " + why,
			Kind: Remote,
			Err:  err,
			Hint: entryHint,
		}
	default:
		defer closeSource(src)
		if cat, err := src.Catalog(ctx); err == nil {
			entry.Server().Description = cat.Server.Title
			own := toName(cat.Server.Name)
			if own != "" && len(own) <= 64 && e.opts.Document.Name == "" {
				entry.Server().Name = own
			}
		}
	}
	added := &Addition{Entry: entry}
	if login != nil && login.Advertised {
		added.Login = login
	}
	return added, nil
}

// firstEventWait returns the time limit for the first event of a stream.
func (e *entries) firstEventWait() time.Duration {
	const usual = 3 * time.Second
	l := e.opts.Live
	if l != nil && l.Source != nil && l.Source.Timeouts.Start > 0 {
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
