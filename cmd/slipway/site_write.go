package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// writing is the flags of commands that write a site.
type writing struct {
	output, format   string
	collisions, host string
	siteRoot         string
	precompress      []string
	compact          bool
	noAliases        bool
	noIndex          bool
	force            bool
	dryRun, check    bool
	lenient          bool
	json, quiet      bool
}

func (o *writing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "folder, .zip or .tar `FILE` to write, or - for stdout")
	f.StringVar(&o.format, "format", "", "output `format`: dir, zip or tar (default: from the name; tar on stdout)")
	f.StringVar(&o.collisions, "collisions", "disambiguate", "`action` for answers that share a file name: disambiguate or error")
	f.StringVar(&o.host, "host", "", "add files that a web `host` needs and check its limits: "+strings.Join(staticmcp.HostNames(), ", "))
	f.StringVar(&o.siteRoot, "site-root", "", "published `DIR` that contains the output, for files that hosts read at its root (default: the output)")
	f.StringSliceVar(&o.precompress, "precompress", nil, "also write compressed files in this `format`: gzip")
	f.BoolVar(&o.compact, "compact", false, "write JSON on one line")
	f.BoolVar(&o.noAliases, "no-aliases", false, "omit the second file of long names, for bridges with a 32-bit hash")
	f.BoolVar(&o.noIndex, "no-index", false, "omit .staticmcp/index.json; the output cannot be updated then")
	f.BoolVar(&o.force, "force", false, "overwrite a site or files that Slipway did not write")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the changes without writing")
	f.BoolVar(&o.lenient, "lenient", false, "skip answers that cannot be written")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress, changes or summary")
	jsonFlag(cmd, &o.json, "what was done")
}

func (o *writing) options(cmd *cobra.Command) *sitebuild.Options {
	policy := sitebuild.Collisions(o.collisions)
	if o.collisions == "disambiguate" {
		policy = sitebuild.Disambiguate
	}
	return &sitebuild.Options{
		Collisions: policy, NoAliases: o.noAliases, NoIndex: o.noIndex, Compact: o.compact,
		Precompress: o.precompress, Host: sitebuild.Host(o.host), SiteRoot: o.siteRoot,
		Adopt: o.force, DryRun: o.dryRun || o.check, Lenient: o.lenient,
		Progress: o.progress(cmd),
	}
}

// validate checks the flags before any work is done.
func (o *writing) validate(cmd *cobra.Command) error {
	name := cmd.Name()
	switch {
	case o.output == "":
		return usage("where to: -o DIR, -o FILE.zip or -o -", "%s: no output", name)
	case !slices.Contains([]string{"", "dir", "zip", "tar"}, o.format):
		return usage("formats are dir, zip and tar", "%s: unknown format %q", name, o.format)
	case o.output == "-" && o.format == "dir":
		return usage("use --format tar or zip", "%s: a folder cannot be written to stdout", name)
	case o.format == "" && compressedArchive(o.output):
		return usage("a tar file can be compressed on its way: -o - | gzip", "%s: %s: archives are written as .zip and .tar", name, o.output)
	case !slices.Contains([]string{"disambiguate", "error"}, o.collisions):
		return usage("use disambiguate or error", "%s: unknown policy %q", name, o.collisions)
	case o.host != "" && !slices.Contains(staticmcp.HostNames(), o.host):
		return usage("hosts are "+strings.Join(staticmcp.HostNames(), ", "), "%s: unknown host %q", name, o.host)
	case o.siteRoot != "" && !o.belowRoot():
		return usage("name the published folder, of which -o is a part", "%s: --site-root %s: %s is not a folder below it",
			name, o.siteRoot, o.output)
	case slices.ContainsFunc(o.precompress, func(form string) bool { return form != "gzip" }):
		return usage("gzip is known", "%s: unknown compression %q", name, strings.Join(o.precompress, ","))
	case o.output == "-" && (o.check || o.json):
		return usage("name a folder or a file with -o", "%s: --check and --json do not go with stdout", name)
	}
	return nil
}

// belowRoot reports whether the output is --site-root or a folder in it.
func (o *writing) belowRoot() bool {
	root, rootErr := filepath.Abs(o.siteRoot)
	output, err := filepath.Abs(o.output)
	if err != nil || rootErr != nil || o.archived() {
		return false
	}
	below, err := filepath.Rel(root, output)
	return err == nil && filepath.IsLocal(below)
}

// archived reports whether the output is not a folder.
func (o *writing) archived() bool {
	ext := strings.ToLower(filepath.Ext(o.output))
	return o.output == "-" || o.format == "zip" || o.format == "tar" || o.format == "" && (ext == ".zip" || ext == ".tar")
}

// compressedArchive reports whether a name is that of an unsupported archive format,
// which would become a folder.
func compressedArchive(name string) bool {
	return slices.Contains([]string{".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z"}, strings.ToLower(filepath.Ext(name)))
}

// target returns the destination of the site.
func (o *writing) target(stdout io.Writer) sitebuild.Output {
	format := o.format
	if ext := strings.ToLower(filepath.Ext(o.output)); format == "" && (ext == ".zip" || ext == ".tar") {
		format = ext[1:]
	}
	switch {
	case o.output == "-" && format == "zip":
		return sitebuild.Zip(stdout)
	case o.output == "-":
		return sitebuild.Tar(stdout)
	case format == "zip":
		return sitebuild.ZipFile(o.output)
	case format == "tar":
		return sitebuild.TarFile(o.output)
	}
	return sitebuild.Dir(o.output)
}

// written is the output of --json. Fields may be added.
type written struct {
	Answers   int                `json:"answers"`
	Files     int                `json:"files"`
	Bytes     int64              `json:"bytes"`
	Created   int                `json:"created"`
	Changed   int                `json:"changed"`
	Unchanged int                `json:"unchanged"`
	Deleted   int                `json:"deleted"`
	Changes   []sitebuild.Change `json:"changes"`
	Kept      []string           `json:"kept"`
	// Findings are in the same form as in checks.
	Findings []check.Finding `json:"findings"`
}

// finish reports the result of a write and returns the error of the command.
func (o *writing) finish(cmd *cobra.Command, r *sitebuild.Result, err error) error {
	stderr := cmd.ErrOrStderr()
	if o.json && (err == nil || len(r.Report.Findings()) > 0) {
		j := written{r.Answers, r.Files, r.Bytes, r.Created, r.Changed, r.Unchanged, r.Deleted, r.Changes, r.Kept, r.Report.Findings()}
		if j.Changes == nil {
			j.Changes = []sitebuild.Change{}
		}
		if j.Kept == nil {
			j.Kept = []string{}
		}
		if j.Findings == nil {
			j.Findings = []check.Finding{}
		}
		if err := printJSON(cmd.OutOrStdout(), j); err != nil {
			return err
		}
	} else if !o.quiet || err != nil || r.Report.Count(check.Error) > 0 {
		if err := r.Report.WriteText(stderr, colored(stderr)); err != nil {
			return err
		}
	}
	if err != nil {
		return o.failed(cmd, err)
	}
	for _, name := range r.Kept {
		fmt.Fprintf(stderr, "kept %s: it is no longer part of the site, but was changed manually\n", name)
	}
	if (o.check || o.dryRun) && !o.json && !o.quiet {
		out := cmd.OutOrStdout()
		if o.output == "-" {
			out = stderr
		}
		for _, c := range r.Changes {
			fmt.Fprintf(out, "%s %s\n", c.Action, c.Path)
		}
	}
	if o.check && r.Stale() {
		return no("build it again without --check", "%s: %s is stale: %d to create, %d to update, %d to delete", cmd.Name(), o.output, r.Created, r.Changed, r.Deleted)
	}
	if !o.quiet {
		o.summary(stderr, r)
	}
	return nil
}

func (o *writing) summary(w io.Writer, r *sitebuild.Result) {
	did := "written"
	if o.dryRun {
		did = "would be written"
	}
	if o.check {
		did = "is current"
	}
	fmt.Fprintf(w, "%s: %s, %s in %s (%s): %d created, %d updated, %d unchanged, %d deleted\n",
		o.output, did, count(r.Answers, "answer"), count(r.Files, "file"), byteCount(r.Bytes), r.Created, r.Changed, r.Unchanged, r.Deleted)
}

// failed returns the error of a write.
func (o *writing) failed(cmd *cobra.Command, err error) error {
	var invalid *sitebuild.InvalidError
	var foreign *sitebuild.ForeignError
	switch {
	case errors.As(err, &invalid):
		return &failure{code: exitNo, text: cmd.Name() + ": " + err.Error(), hint: "--lenient leaves out what is wrong"}
	case errors.As(err, &foreign):
		return &failure{code: exitPolicy, text: cmd.Name() + ": " + err.Error(), hint: "name another folder with -o, or use --force to take it over"}
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

// progress returns a function that shows a progress bar on a terminal, or nil.
func (o *writing) progress(cmd *cobra.Command) func(sitebuild.Progress) {
	stderr := cmd.ErrOrStderr()
	if o.quiet || !isTerminal(stderr) {
		return nil
	}
	stderr = unescaped(stderr)
	var last time.Time
	return func(p sitebuild.Progress) {
		if p.Stage == "done" {
			fmt.Fprint(stderr, "\r\x1b[K")
			return
		}
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprint(stderr, "\r\x1b[K"+bar(p.Stage, p.Done, p.Total))
		}
	}
}

// bar returns a progress bar in one line.
func bar(stage string, done, total int) string {
	if total == 0 {
		return fmt.Sprintf("%s %d", stage, done)
	}
	const width = 30
	full := min(width, done*width/total)
	return fmt.Sprintf("%-9s [%s%s] %d/%d", stage, strings.Repeat("=", full), strings.Repeat(" ", width-full), done, total)
}
