package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/edge"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// writing is the flags of commands that write a site.
type writing struct {
	sitebuild.Options
	output, format string
	dryRun, check  bool
	json, quiet    bool

	// endpoint is the path of the endpoint and project the folder for its configuration.
	endpoint, project string
	noEndpoint        bool

	// siteURL is the public address of the output, and noWeb omits the files for browsers.
	siteURL string
	noWeb   bool
}

// flags defines the flags that site build and site freeze share.
func (o *writing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	hosts := staticmcp.HostNames()
	f.StringVarP(&o.output, "output", "o", "", "folder, .zip or .tar `FILE` to write, or - for stdout")
	f.Var(optional(&o.format, "dir", "zip", "tar"), "format",
		"output `format`: dir, zip or tar (default: from the name; tar on stdout)")
	f.Var(oneOf(&o.Collisions, "disambiguate", "error"), "collisions",
		"`action` for answers that share a file name: disambiguate or error")
	f.Var(optional(&o.Host, hosts...), "host",
		"add files that a web `host` needs and check its limits: "+strings.Join(hosts, ", "))
	f.StringVar(&o.SiteRoot, "site-root", "",
		"published `DIR` that contains the output, for files that hosts read at its root (default: the output)")
	endpointFlags(f, &o.endpoint, &o.project)
	f.StringVar(&o.siteURL, "site-url", "",
		"public `URL` of the output, for the page that adds it to clients (default: from the pages next to it)")
	f.BoolVar(&o.noWeb, "no-web-files", false,
		"omit the files for browsers: search widget, page for clients, server card, Markdown of pages")
	f.BoolVar(&o.noEndpoint, "no-endpoint", false, "omit the MCP endpoint for hosts that run code")
	f.Var(someOf(&o.Precompress, "gzip"), "precompress", "also write compressed files in this `format`: gzip")
	f.BoolVar(&o.Compact, "compact", false, "write JSON on one line")
	f.BoolVar(&o.NoAliases, "no-aliases", false, "omit the second file of long names, for bridges with a 32-bit hash")
	f.BoolVar(&o.NoIndex, "no-index", false, "omit .staticmcp/index.json; the output cannot be updated then")
	f.BoolVar(&o.Adopt, "force", false, "overwrite a site or files that Slipway did not write")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the changes without writing")
	f.BoolVar(&o.Lenient, "lenient", false, "skip answers that cannot be written")
	jsonFlag(cmd, "what was done")
}

// complete sets the options without a flag, and checks the flags before any work is done.
func (o *writing) complete(cmd *cobra.Command) error {
	o.json = wantsJSON(cmd)
	o.quiet = isQuiet(cmd)
	o.DryRun = o.dryRun || o.check
	o.NoTwins = o.noWeb
	o.Progress = o.progress(cmd)
	name := cmd.Name()
	switch {
	case o.output == "":
		return usage("add -o DIR, -o FILE.zip or -o - for stdout", "%s: no output", name)
	case o.output == "-" && o.format == "dir":
		return usage("use --format tar or zip", "%s: a folder cannot be written to stdout", name)
	case o.format == "" && slices.Contains(compressed, filepath.Ext(strings.ToLower(o.output))):
		return usage("compress a tar file with -o - | gzip", "%s: %s: archives are written as .zip and .tar", name, o.output)
	case o.SiteRoot != "" && !o.belowRoot():
		return usage("name the published folder that contains -o",
			"%s: --site-root %s: %s is not a folder below it", name, o.SiteRoot, o.output)
	case o.output == "-" && (o.check || o.json):
		return usage("name a folder or a file with -o", "%s: --check and --json cannot be used with stdout", name)
	case o.endpoint != "" && !edge.ValidPath(o.endpoint):
		return usage("want a path such as /mcp", "%s: --endpoint %s is not a path of an endpoint", name, o.endpoint)
	case o.siteURL != "" && !isWebURL(o.siteURL):
		return usage("want a URL such as https://example.com/mcp/", "%s: --site-url %s is not a web address", name, o.siteURL)
	}
	return nil
}

// lacksPages reports whether --site-root has none of the pages that a generator writes next to the site, as
// before the generator has run.
func (o *writing) lacksPages() bool {
	_, below, err := o.published()
	entries, readErr := os.ReadDir(o.SiteRoot)
	if o.SiteRoot == "" || err != nil || readErr != nil {
		return false
	}
	ours, _, _ := strings.Cut(below, "/")
	return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name := e.Name()
		hidden := strings.HasPrefix(name, ".")
		return e.IsDir() && !hidden && name != ours || filepath.Ext(name) == ".html"
	})
}

// compressed are the extensions of unsupported archives. Without a check, such an output
// would become a folder.
var compressed = []string{".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z"}

// belowRoot reports whether the output is --site-root or a folder in it.
func (o *writing) belowRoot() bool {
	root, rootErr := filepath.Abs(o.SiteRoot)
	output, err := filepath.Abs(o.output)
	if err != nil || rootErr != nil || o.kind() != "dir" {
		return false
	}
	below, err := filepath.Rel(root, output)
	return err == nil && filepath.IsLocal(below)
}

// kind returns the format of the output.
func (o *writing) kind() string {
	ext := strings.ToLower(filepath.Ext(o.output))
	switch {
	case o.format != "":
		return o.format
	case o.output == "-" || ext == ".tar":
		return "tar"
	case ext == ".zip":
		return "zip"
	}
	return "dir"
}

// target returns the destination of the site.
func (o *writing) target(stdout io.Writer) sitebuild.Output {
	kind := o.kind()
	switch {
	case o.output == "-" && kind == "zip":
		return sitebuild.Zip(stdout)
	case o.output == "-":
		return sitebuild.Tar(stdout)
	case kind == "zip":
		return sitebuild.ZipFile(o.output)
	case kind == "tar":
		return sitebuild.TarFile(o.output)
	}
	return sitebuild.Dir(o.output)
}

// finish reports the result of a write and returns the error of the command.
func (o *writing) finish(cmd *cobra.Command, r *sitebuild.Result, err error) error {
	stderr := cmd.ErrOrStderr()
	findings := r.Report.Findings()
	var endpoint *edge.Result
	if err == nil {
		endpoint, err = o.writeEndpoint(cmd)
	}
	var web *edge.Result
	if err == nil {
		web, err = o.writeWeb(r.Public)
	}
	switch {
	case o.json && (err == nil || len(findings) > 0):
		r.Changes = append([]sitebuild.Change{}, r.Changes...)
		r.Kept = append([]string{}, r.Kept...)
		output := struct {
			*sitebuild.Result
			Endpoint *edge.Result    `json:"endpoint,omitempty"`
			Web      *edge.Result    `json:"web,omitempty"`
			Findings []check.Finding `json:"findings"`
		}{r, endpoint, web, append([]check.Finding{}, findings...)}
		if err := printJSON(cmd.OutOrStdout(), output); err != nil {
			return err
		}
	case !o.quiet || err != nil || r.Report.Count(check.Error) > 0:
		printBriefly(cmd, &r.Report)
	}
	if err != nil {
		return o.failed(cmd, err)
	}
	for _, name := range r.Kept {
		fmt.Fprintf(stderr, "kept %s: it is no longer part of the site, but was changed manually\n", name)
	}
	if o.DryRun && !o.json && !o.quiet {
		out := cmd.OutOrStdout()
		if o.output == "-" {
			out = stderr
		}
		for _, c := range r.Changes {
			fmt.Fprintf(out, "%s %s\n", c.Action, c.Path)
		}
	}
	if o.check && r.Stale() {
		return no("build it again without --check", "%s: %s is stale: %d to create, %d to update, %d to delete",
			cmd.Name(), o.output, r.Created, r.Changed, r.Deleted)
	}
	if o.check && endpoint != nil && endpoint.Stale() {
		return no("build it again without --check", "%s: the endpoint is stale", cmd.Name())
	}
	if o.check && web != nil && web.Stale() {
		return no("build it again without --check", "%s: the files for browsers are stale", cmd.Name())
	}
	if !o.quiet {
		o.summary(stderr, r)
		fmt.Fprintln(stderr, fitsHosts(o.output, r))
	}
	if !o.quiet && !o.DryRun && o.lacksPages() {
		say(stderr, "%s has no pages: run the generator first, and this command again", o.SiteRoot)
	}
	if web != nil && !o.json {
		printWeb(stderr, web, o.quiet)
	}
	if endpoint != nil && !o.json {
		printEndpoint(stderr, endpoint, string(o.Host), o.endpoint, o.quiet)
	}
	return nil
}

// summary prints what was written, would be written, or is current, in one line.
func (o *writing) summary(w io.Writer, r *sitebuild.Result) {
	did := "written"
	if o.dryRun {
		did = "would be written"
	}
	if o.check {
		did = "is current"
	}
	fmt.Fprintf(w, "%s: %s, %s in %s (%s): %d created, %d updated, %d unchanged, %d deleted\n",
		o.output, did, count(r.Answers, "answer"), count(r.Files, "file"), byteCount(r.Bytes),
		r.Created, r.Changed, r.Unchanged, r.Deleted)
}

// failed returns the error of a write.
func (o *writing) failed(cmd *cobra.Command, err error) error {
	var invalid *sitebuild.InvalidError
	var foreign *sitebuild.ForeignError
	var busy *sitebuild.BusyError
	switch {
	case errors.As(err, &busy):
		return no("run it again when that build has finished, or name another folder with -o", "%s: %v", cmd.Name(), err)
	case errors.As(err, &invalid):
		return no("--lenient skips invalid answers", "%s: %v", cmd.Name(), err)
	case errors.As(err, &foreign):
		return denied("name another folder with -o, or use --force to take it over", "%s: %v", cmd.Name(), err)
	case errors.Is(err, context.Canceled):
		return interrupted(cmd, "run it again to complete the output")
	}
	return err
}

// byteCount formats a number of bytes.
func byteCount(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// progress returns a function that shows progress, or nil.
func (o *writing) progress(cmd *cobra.Command) func(sitebuild.Progress) {
	t := newTracker(cmd, countOnly)
	if t == nil {
		return nil
	}
	return func(p sitebuild.Progress) {
		if p.Stage == "done" {
			t.finish()
			return
		}
		t.update(p.Stage, int64(p.Done), int64(p.Total))
	}
}
