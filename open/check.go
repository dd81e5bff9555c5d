package open

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/siteapps"
	"github.com/slipway-mcp/slipway/internal/sitelint"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax"
)

// CheckOptions configure [Check]. The zero value and nil are the defaults.
type CheckOptions struct {
	// Site configures the checks of StaticMCP sites.
	Site *sitelint.Options
	// Bundle configures the checks of bundles.
	Bundle *mcpb.CheckOptions
	// Open configures how sources other than files are opened.
	Open *Options
	// SiteOnly requires the argument to be a StaticMCP site: a folder, a zip file or a URL.
	// A missing manifest is then a finding.
	SiteOnly bool
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
	if opts.SiteOnly {
		return checkSite(ctx, arg, opts)
	}
	t, err := detect(arg)
	if err != nil {
		return nil, err
	}
	switch t.form {
	case siteURL, site, siteZip:
		return checkSite(ctx, t.arg, opts)
	case siteManifest:
		return checkSite(ctx, filepath.Dir(t.arg), opts)
	case webURL:
		return checkURL(ctx, t.arg, opts)
	case input, ambiguous:
		return checkInput(ctx, t.arg)
	case bundle:
		_, report, err := mcpb.CheckPath(t.arg, opts.Bundle)
		return reportOf(t.arg, report, err)
	case definitions:
		return checkDefinitions(t.arg)
	}
	return checkSource(ctx, t.arg, opts)
}

// reportOf returns a report, or the error for an argument that cannot be read.
func reportOf(arg string, report *check.Report, err error) (*check.Report, error) {
	if err != nil {
		return nil, unreadable(arg, err)
	}
	return report, nil
}

// checkSite checks a site in a folder, in a zip file or at a URL, with its user interfaces.
func checkSite(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	t := parse(arg)
	var report *check.Report
	if t.form == siteURL || t.form == webURL {
		if !isWeb(t.rest) || t.url == nil {
			return nil, &Error{
				Arg: arg,
				Why: "not an http or https URL with a host",
			}
		}
		var err error
		if report, err = sitelint.CheckURL(ctx, t.rest, opts.Site); err != nil {
			return nil, unreachable(arg, err)
		}
		return report, siteapps.Check(ctx, report, t.rest)
	}
	info, err := stat(t.arg)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		report, err = sitelint.CheckDir(ctx, t.arg, opts.Site)
	case filepath.Base(t.arg) == manifest:
		return nil, manifestError(t.arg)
	default:
		report, err = sitelint.CheckZip(ctx, t.arg, opts.Site)
	}
	if err != nil {
		return nil, unreadable(t.arg, err)
	}
	return report, siteapps.Check(ctx, report, t.arg)
}

// checkURL checks a URL, which may be a site or a live server.
func checkURL(ctx context.Context, arg string, opts *CheckOptions) (*check.Report, error) {
	src, openErr := Open(ctx, arg, opts.Open)
	if openErr == nil {
		defer closeSource(src)
		_, isSite := src.(*staticmcp.Site)
		if !isSite || sitebuild.KindOf(arg) != "" {
			return checkCatalog(ctx, arg, src)
		}
	}
	if refusesAccess(openErr) {
		return nil, openErr
	}
	report, err := checkSite(ctx, arg, opts)
	if err != nil || openErr == nil || !hasRule(report, "staticmcp/manifest-missing") {
		return report, err
	}
	return nil, openErr
}

func hasRule(r *check.Report, rule string) bool {
	return slices.ContainsFunc(r.Findings(), func(f check.Finding) bool {
		return f.Rule.ID == rule
	})
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

// checkInput checks an input that a site is built from: whether it can be read, and
// whether all of its contents can be written.
func checkInput(ctx context.Context, arg string) (*check.Report, error) {
	report := &check.Report{}
	if file, ok := sitebuild.FindMapping(arg); ok {
		findings, err := sitebuild.CheckMapping(file)
		if err != nil {
			return nil, unreadable(arg, err)
		}
		if report.Add(findings...); !report.OK(false) {
			return report, nil
		}
	}
	in, err := NewInput(arg, nil)
	if err != nil {
		return nil, err
	}
	site, err := in.Site(ctx)
	var invalid *sitebuild.MappingError
	if errors.As(err, &invalid) {
		report.Add(invalid.Findings...)
		return report, nil
	}
	if err != nil {
		return nil, unreadable(arg, err)
	}
	dry := &sitebuild.Options{
		DryRun:  true,
		Lenient: true,
		NoIndex: true,
	}
	result, err := sitebuild.Write(ctx, site, sitebuild.NewMemory(), dry)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	report.Add(result.Report.Findings()...)
	return report, nil
}

// checkSource opens any other source and checks its catalog.
func checkSource(
	ctx context.Context,
	arg string,
	opts *CheckOptions,
) (*check.Report, error) {
	src, err := Open(ctx, arg, opts.Open)
	if err != nil {
		return nil, err
	}
	defer closeSource(src)
	if strings.HasPrefix(arg, commandPrefix) {
		arg = Argument(arg).Name()
	}
	return checkCatalog(ctx, arg, src)
}

// closeSource closes a source that was only read, if it can be closed.
func closeSource(src mcp.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // nothing was written, so nothing can be lost
	}
}

// checkCatalog checks the definitions that a source offers. Findings refer to it as name.
func checkCatalog(ctx context.Context, name string, src mcp.Source) (*check.Report, error) {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, &Error{
			Arg:  name,
			Why:  err.Error(),
			Kind: Remote,
			Err:  err,
		}
	}
	report := &check.Report{}
	for _, f := range append(cataloglint.Catalog(cat), apps.Check(cat)...) {
		f.File = name
		report.Add(f)
	}
	return report, nil
}
