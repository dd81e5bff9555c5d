package open

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax"
)

// Options configure [Open]. The zero value and nil are the defaults.
type Options struct {
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
}

func (o *Options) live() *LiveOptions {
	if o.Live == nil {
		return &LiveOptions{}
	}
	return o.Live
}

// report notifies the observer of opts.Live.
func (o *Options) report(e client.Event) {
	if live := o.live().Source; live != nil && live.Observe != nil {
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
//   - a command that is a server over stdin and stdout, in the form of [Command].
//
// If Bundle has a signer, only packed bundles are opened. An error is an [*Error]. If the
// Source implements io.Closer, the caller must close it. ctx bounds only the opening.
func Open(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	if opts == nil {
		opts = &Options{}
	}
	arg = normalize(arg)
	if opts.Bundle != nil && opts.Bundle.Signer != nil && !isPackedBundle(arg) {
		return nil, &Error{Arg: arg, Why: "only a packed bundle has a signer", Err: &mcpb.SignerError{}}
	}
	rest, forced := strings.CutPrefix(arg, "site:")
	switch {
	case arg == "":
		return nil, &Error{
			Arg:  `""`,
			Why:  "the name is empty",
			Hint: "name a folder, a .zip file or a URL, or a command after --",
		}
	case strings.HasPrefix(arg, commandPrefix):
		return openCommand(ctx, arg, opts.live())
	case strings.HasPrefix(arg, "live:"):
		return openServer(ctx, arg, strings.TrimPrefix(arg, "live:"), opts.live())
	case forced:
		return openURL(ctx, arg, rest, opts)
	case NamesBundleURL(arg):
		return nil, bundleURL(arg)
	case isWeb(arg) && sitebuild.KindOf(arg) != "":
		return openBuilt(ctx, arg, opts)
	case isWeb(arg):
		return siteOrServer(ctx, arg, opts)
	case strings.Contains(arg, "://"):
		return openServer(ctx, arg, arg, opts.live())
	}
	return openPath(ctx, arg, opts)
}

// reads ends every error about an unsupported format.
const reads = "this build reads StaticMCP sites, as a folder with mcp.json, a .zip or a URL, bundles (.mcpb), what sites are built of, and MCP servers, at a URL or as a command after --"

func unsupported(arg, what string) *Error {
	return &Error{Arg: arg, Why: what + " cannot be opened", Hint: reads}
}

func isWeb(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

func openURL(ctx context.Context, arg, base string, opts *Options) (mcp.Source, error) {
	if !isWeb(base) {
		return nil, &Error{Arg: arg, Why: "what follows site: is not an http or https URL",
			Hint: "a folder or a .zip file needs no prefix"}
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		return nil, &Error{Arg: arg, Why: "not a URL with a host", Err: err}
	}
	site, err := staticmcp.OpenURL(ctx, base, opts.Site)
	if err != nil {
		return nil, unreachable(arg, err, reads)
	}
	return site, nil
}

func openPath(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(arg, err)
	case err != nil:
		return nil, unreadable(arg, err)
	case isBundle(arg, info):
		return openBundle(ctx, arg, opts)
	}
	if err := sitebuild.CheckAmbiguous(arg); err != nil {
		e := noInput(arg, err)
		e.Hint = "name the folder of one of them, or choose with slipway site build " + arg + " -o DIR --as docs or --as go"
		return nil, e
	}
	switch {
	case isBuilt(arg):
		return openBuilt(ctx, arg, opts)
	case info.IsDir():
		return openFolder(ctx, arg, opts)
	}
	switch ext := strings.ToLower(filepath.Ext(arg)); {
	case ext == ".zip":
		site, err := staticmcp.OpenZip(ctx, arg, opts.Site)
		if err != nil {
			return nil, unreadable(arg, err)
		}
		return site, nil
	case filepath.Base(arg) == manifest && isSiteManifest(arg):
		return nil, &Error{Arg: arg, Why: "a site is a folder, and this is a file in it",
			Hint: "name the folder: " + filepath.Dir(arg)}
	case stax.FormatOf(arg) != 0:
		return openDefinitions(ctx, arg, opts)
	}
	return nil, unsupported(arg, "a file of this kind")
}
