package open

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp/lint"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax"
)

// CheckOptions configure [Check]. The zero value and nil are the defaults.
type CheckOptions struct {
	// Site configures the checks of StaticMCP sites.
	Site *lint.Options
	// Bundle configures the checks of bundles.
	Bundle *mcpb.CheckOptions
	// Open configures how sources other than files are opened.
	Open *Options
}

// Check checks arg against every rule that applies to it:
//
//   - a folder with mcp.json, a zip file, or an http or https URL with a manifest: a
//     StaticMCP site,
//   - an .mcpb file, or a folder or manifest.json of a bundle,
//   - a table, an OpenAPI document, documents, Go packages or a slipway.site.yaml: the
//     site built from it,
//   - any other .json, .jsonc, .yaml, .toml, .ts or .js file: server definitions,
//   - any other source that [Open] supports: its catalog.
//
// An error, always an [*Error], means that arg could not be checked at all.
func Check(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	if opts == nil {
		opts = &CheckOptions{}
	}
	rest, forced := strings.CutPrefix(arg, "site:")
	switch {
	case arg == "":
		return nil, &Error{Arg: `""`, Why: "the name is empty", Hint: "name a folder, a file or a URL, or a command after --"}
	case strings.HasPrefix(arg, commandPrefix) || strings.HasPrefix(arg, "live:"):
		return checkSource(ctx, arg, opts)
	case forced:
		return checkSiteURL(ctx, arg, rest, opts)
	case NamesBundleURL(arg):
		return nil, bundleURL(arg)
	case isWeb(arg):
		return checkURL(ctx, arg, opts)
	case strings.Contains(arg, "://"):
		return checkSource(ctx, arg, opts)
	}
	return checkPath(ctx, arg, opts)
}

// CheckSite is [Check] for an argument that must be a StaticMCP site: a folder, a zip
// file or a URL. A missing manifest is then a finding. User interfaces of the site are
// checked, too.
func CheckSite(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	if opts == nil {
		opts = &CheckOptions{}
	}
	if rest := strings.TrimPrefix(arg, "site:"); isWeb(rest) || rest != arg {
		return checkSiteURL(ctx, arg, rest, opts)
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(arg, err)
	case err != nil:
		return nil, unreadable(arg, err)
	case info.IsDir():
		report, err := lint.CheckDir(ctx, arg, opts.Site)
		if err != nil {
			return nil, unreadable(arg, err)
		}
		return report, AddApps(ctx, report, arg)
	case filepath.Base(arg) == manifest:
		return nil, &Error{
			Arg:  arg,
			Why:  "a site is a folder, and this is a file in it",
			Hint: "name the folder: " + filepath.Dir(arg),
		}
	}
	report, err := lint.CheckZip(ctx, arg, opts.Site)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	return report, AddApps(ctx, report, arg)
}

// checkSiteURL checks the site at the URL base.
func checkSiteURL(ctx context.Context, arg, base string, opts *CheckOptions) (*check.Report, error) {
	u, err := url.Parse(base)
	if err != nil || !isWeb(base) || u.Host == "" {
		return nil, &Error{Arg: arg, Why: "not an http or https URL with a host", Err: err}
	}
	report, err := lint.CheckURL(ctx, base, opts.Site)
	if err != nil {
		return nil, unreachable(arg, err, "")
	}
	return report, AddApps(ctx, report, arg)
}

// checkURL checks a URL, which may be a site or a live server.
func checkURL(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	src, openErr := Open(ctx, arg, opts.Open)
	if openErr == nil {
		defer closeSource(src)
		if _, isSite := src.(*staticmcp.Site); !isSite || sitebuild.KindOf(arg) != "" {
			return CheckSource(ctx, arg, src)
		}
	}
	if refusesAccess(openErr) {
		return nil, openErr
	}
	report, err := checkSiteURL(ctx, arg, arg, opts)
	if err != nil || openErr == nil || !hasRule(report, "staticmcp/manifest-missing") {
		return report, err
	}
	return nil, openErr
}

func hasRule(r *check.Report, rule string) bool {
	return slices.ContainsFunc(r.Findings(), func(f check.Finding) bool { return f.Rule.ID == rule })
}

func checkPath(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(arg, err)
	case err != nil:
		return nil, unreadable(arg, err)
	case info.IsDir():
		return checkFolder(ctx, arg, opts)
	case !isBundleManifest(arg) && isBuilt(arg):
		return checkInput(ctx, arg)
	}
	switch ext := strings.ToLower(filepath.Ext(arg)); {
	case ext == ".zip":
		return CheckSite(ctx, arg, opts)
	case ext == ".mcpb" || ext == ".dxt" || isBundleManifest(arg):
		return checkBundle(arg, opts)
	case filepath.Base(arg) == manifest && isSiteManifest(arg):
		return CheckSite(ctx, filepath.Dir(arg), opts)
	case stax.FormatOf(arg) != 0:
		return checkDefinitions(arg)
	}
	return checkSource(ctx, arg, opts)
}

// checkFolder detects the contents of a folder and checks them.
func checkFolder(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	if _, err := os.Stat(filepath.Join(arg, manifest)); err == nil {
		return CheckSite(ctx, arg, opts)
	}
	if isBundleManifest(filepath.Join(arg, mcpb.ManifestName)) {
		return checkBundle(arg, opts)
	}
	if isBuilt(arg) {
		return checkInput(ctx, arg)
	}
	return checkSource(ctx, arg, opts)
}

// checkBundle checks an .mcpb file, a bundle folder, or its manifest.
func checkBundle(arg string, opts *CheckOptions) (*check.Report, error) {
	_, report, err := mcpb.CheckPath(arg, opts.Bundle)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	return report, nil
}

// checkDefinitions checks a file of server definitions, first by itself and then merged,
// as the only file.
func checkDefinitions(arg string) (*check.Report, error) {
	doc, report, err := stax.ReadFile(arg)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	if report.OK(false) {
		report.Add(stax.Merge(doc).Check().Findings()...)
	}
	return report, nil
}

// checkSource opens any other source and checks its catalog.
func checkSource(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	src, err := Open(ctx, arg, opts.Open)
	if err != nil {
		return nil, err
	}
	defer closeSource(src)
	if strings.HasPrefix(arg, commandPrefix) {
		arg = Name(arg)
	}
	return CheckSource(ctx, arg, src)
}

func closeSource(src mcp.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // nothing was written, so nothing can be lost
	}
}

// CheckSource checks the definitions that a source offers. Findings refer to it as name.
func CheckSource(ctx context.Context, name string, src mcp.Source) (*check.Report, error) {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, &Error{Arg: name, Why: err.Error(), Kind: Remote, Err: err}
	}
	report := &check.Report{}
	for _, f := range append(cataloglint.Catalog(cat), apps.Check(cat)...) {
		f.File = name
		report.Add(f)
	}
	return report, nil
}

// isBundleManifest reports whether the file at name is a bundle manifest, judging by its
// contents.
func isBundleManifest(name string) bool {
	return filepath.Base(name) == mcpb.ManifestName && hasMember(name, "manifest_version", "dxt_version")
}

// isSiteManifest reports whether the file at name is a site manifest, rather than server
// definitions, which some programs also call mcp.json.
func isSiteManifest(name string) bool { return hasMember(name, "serverInfo", "capabilities") }

// maxPeek is the maximum size of a file that is read to detect its type.
const maxPeek = 64 << 20

// hasMember reports whether the file at name is a JSON object with one of the members.
func hasMember(name string, members ...string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPeek {
		return false
	}
	text, err := os.ReadFile(name)
	var object map[string]json.RawMessage
	if err != nil || json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &object) != nil {
		return false
	}
	return slices.ContainsFunc(members, func(m string) bool { return object[m] != nil })
}
