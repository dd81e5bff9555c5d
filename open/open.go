package open

import (
	"context"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Options configure [Open]. The zero value and nil are the defaults.
type Options struct {
	// Name and Title replace those of the server. Empty keeps the source's.
	Name, Title string
	// Site configures how StaticMCP sites are read.
	Site *staticmcp.Options
	// Bundle configures the servers of bundles; nil means the defaults.
	Bundle *mcpb.OpenOptions
	// Definitions configures how server definitions are opened; nil means the defaults.
	// Its Client and Stderr are those of Live.
	Definitions *fleet.Options
	// Live configures how servers are started and connected to; nil means the defaults.
	Live *LiveOptions
	// ListOnly declares that only the catalog of the Source is needed, preferably from
	// the running server instead of a manifest. A bundle whose manifest contains the
	// catalog is then opened even without its required options: the observer of Live
	// receives [client.EventUnstarted], and calls return an error. By default, the options
	// are required.
	ListOnly bool
	// MaxSiteBytes limits the total size of all files of a site built in memory. A larger
	// site is an error; at a rebuild, the previous site stays. Default: 1 GiB.
	MaxSiteBytes int64
	// PageCache is the folder in which parsed pages of documents are kept between builds, see
	// sitebuild.DocumentOptions.CacheDir. If it exists, the temporary file with the answers of
	// a large site is there, too. Default: none.
	PageCache string
	// BuildBehind returns the Source of an input before its site is built, as soon as its
	// name, instructions and tools are known. Requests that need more wait for the site, and
	// fail if it cannot be built. The Source then has the method
	//
	//	Opened(ctx context.Context) (mcp.Source, error)
	//
	// which waits for the site, or returns an [*Error]. Until then its catalog is unknown
	// ([mcp.Catalog.Unknown]), as its resources are provisional. Close ends the building.
	BuildBehind bool
	// Settle, if positive, declares that the Source is one of several that are served
	// together. If it does not open within Startup.Wait of Definitions, Open returns a
	// Source that offers nothing until it does, so that the others can be served; requests
	// for lists wait for it until Settle has passed. A failure within Startup.Wait is
	// returned; a later one is retried, with pauses that grow to 30 seconds, and reported
	// to the observer of Live each time. ctx and Close end the opening.
	Settle time.Duration
}

// live returns the options for servers, which are never nil.
func (o *Options) live() *LiveOptions {
	if o.Live == nil {
		return &LiveOptions{}
	}
	return o.Live
}

// report notifies the observer of opts.Live.
func (o *Options) report(e client.Event) {
	live := o.live().Source
	if live != nil && live.Observe != nil {
		live.Observe(e)
	}
}

// Open returns the Source that arg names:
//
//   - a folder that contains a StaticMCP site,
//   - a .zip file of such a site,
//   - an input for a site: a folder with Markdown or an llms.txt, a table, an OpenAPI
//     document, a folder with Go packages, or a slipway.site.yaml. The site is built in
//     memory, and rebuilt when the input changes,
//   - a bundle: an .mcpb file, or a folder with its manifest.json,
//   - a Markdown file,
//   - any of these paths as a file: URL,
//   - an http or https URL of a hosted site; the prefix "site:" is optional, and rules
//     out other interpretations,
//   - a file of server definitions (.json, .yaml, .toml, .ts and similar), whose servers
//     are joined into one source,
//   - an http or https URL of a live server, if there is no site; the prefix "live:"
//     rules out other interpretations. A local port, as in localhost:8080/mcp, needs no
//     http://,
//   - a ws or wss URL of a live server,
//   - a recorded conversation (.mcplog, also .gz): a server that answers as recorded,
//   - a command that is a server over stdin and stdout, in the form of [Command].
//
// If Bundle has a signer, only packed bundles are opened. An error is an [*Error]. If the
// Source implements io.Closer, the caller must close it. ctx bounds only the opening.
func Open(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Settle > 0 {
		return openJoined(ctx, arg, opts)
	}
	t, err := detect(arg)
	if err != nil {
		return nil, err
	}
	if opts.Bundle != nil && opts.Bundle.Signer != nil &&
		!(t.form == bundle && isPacked(t.arg) && !t.info.IsDir()) {
		return nil, &Error{
			Arg: t.arg,
			Why: "only a packed bundle has a signer",
			Err: &mcpb.SignerError{},
		}
	}
	src, err := openTarget(ctx, t, opts)
	if err != nil || t.form == input { // which is built with these names
		return src, err
	}
	return compose.Edit(src, &compose.Edits{
		Name:  opts.Name,
		Title: opts.Title,
	})
}

// openTarget opens what was detected.
func openTarget(ctx context.Context, t *target, opts *Options) (mcp.Source, error) {
	switch t.form {
	case command:
		return openCommand(ctx, t, opts.live())
	case serverURL:
		return openServer(ctx, t.arg, t.rest, opts.live())
	case siteURL:
		return openURL(ctx, t, opts)
	case webURL:
		if sitebuild.KindOf(t.arg) != "" { // an llms.txt
			return openWatchedSite(ctx, t.arg, opts)
		}
		return openSiteOrServer(ctx, t, opts)
	case bundle:
		return openBundle(ctx, t.arg, opts)
	case ambiguous:
		e := inputError(t.arg, sitebuild.CheckAmbiguous(t.arg))
		e.Hint = "name the folder of one of them, or choose with slipway site build " + process.PathWord(t.arg) +
			" -o DIR --as docs or --as go"
		return nil, e
	case input:
		return openWatchedSite(ctx, t.arg, opts)
	case site, folder:
		// It can read some that lost their manifest.
		site, err := staticmcp.OpenDir(ctx, t.arg, opts.Site)
		if err != nil && t.form == folder {
			return nil, folderError(t.arg, err)
		}
		return orUnreadable(t.arg)(site, err)
	case siteZip:
		return orUnreadable(t.arg)(staticmcp.OpenZip(ctx, t.arg, opts.Site))
	case siteManifest:
		return nil, manifestError(t.arg)
	case definitions:
		return openDefinitions(ctx, t.arg, opts)
	case recording:
		return openRecording(ctx, t.arg, opts)
	}
	return nil, unsupportedFile(t)
}

// openJoined is Open for one of several sources.
func openJoined(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var servers fleet.Options
	if opts.Definitions != nil {
		servers = *opts.Definitions
	}
	own := *opts
	own.Settle = 0
	own.Definitions = &servers
	if !Argument(arg).MayTakeLong() {
		servers.Startup.Joined = true
		return Open(ctx, arg, &own)
	}
	return fleet.Await(ctx, Argument(arg).Name(),
		func(ctx context.Context) (mcp.Source, error) {
			return Open(ctx, arg, &own)
		},
		&fleet.AwaitOptions{
			Wait:    servers.Startup.Wait,
			Joined:  true,
			Settle:  opts.Settle,
			Observe: opts.report,
		})
}

// orUnreadable returns a function that converts the results of opening a site in a file or
// folder.
func orUnreadable(arg string) func(*staticmcp.Site, error) (mcp.Source, error) {
	return func(site *staticmcp.Site, err error) (mcp.Source, error) {
		if err != nil {
			return nil, unreadable(arg, err)
		}
		return site, nil
	}
}

// openURL opens the site at a URL.
func openURL(ctx context.Context, t *target, opts *Options) (mcp.Source, error) {
	if err := t.wantSiteURL(); err != nil {
		return nil, err
	}
	site, err := staticmcp.OpenURL(ctx, t.rest, opts.Site)
	if err != nil {
		return nil, unreachable(t.arg, err)
	}
	return site, nil
}

// wantSiteURL returns an error for a target that is not an http or https URL.
func (t *target) wantSiteURL() error {
	switch {
	case !isWeb(t.rest):
		return &Error{
			Arg:  t.arg,
			Why:  "the text after site: is not an http or https URL",
			Hint: "a folder or a .zip file needs no prefix",
		}
	case t.url == nil:
		return &Error{
			Arg: t.arg,
			Why: "not a URL with a host",
		}
	}
	return nil
}
