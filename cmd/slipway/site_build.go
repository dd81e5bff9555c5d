package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/frugal"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/pagecache"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/sitebuild"
)

func newSiteBuild() *cobra.Command {
	var o writing
	var in sitebuild.InputOptions
	var watch bool
	var layout string
	var noPictures, crawl bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "build INPUT -o DIR|FILE|-",
		Short: "Build a site from documents, tables or an API",
		Long: `Build a StaticMCP site from INPUT: a folder of Markdown or of
rendered HTML pages, an llms.txt, a CSV, JSON, JSON Lines or SQLite file, an
OpenAPI 3 document, a folder of Go packages, or a slipway.site.yaml, which
combines several of these and can set the output. With --crawl, INPUT is the URL
of a website. In a folder, only changed files are written, and only files from
an earlier build that were not edited since are deleted.

Answers of tools are packed into a few files, which Slipway and the endpoints of
--host read. --layout standard writes one file for each answer, for other
readers of the StaticMCP standard.

Parsed pages are kept in slipway/pages in your cache folder, or in the folder
named by ` + pageCacheVariable + `; off disables that.

--check writes nothing: it prints the files that are out of date, and the exit
code is 1 if there are any. --watch rebuilds the site when INPUT changes.`,
		Example: `  slipway site build examples/handbook -o public/mcp --base-url \
      https://example.com/docs/
  slipway site build --crawl https://example.com/docs/ -o public/mcp
  slipway site build countries.csv -o public/mcp --host github-pages
  slipway site build countries.csv -o public/mcp --host github-pages --check
  slipway site build countries.csv -o - --format tar | tar t`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if noPictures {
				in.Documents.MaxImageBytes = -1
			}
			switch words := cmd.Flags().Changed("word-files"); {
			case layout != "standard" && words:
				return usage("add --layout standard",
					"build: --word-files is for readers of the standard layout, and the layout is packed")
			case layout != "standard":
				in.Documents.TermFiles = -1 // readers of packs search the index
			}
			in.Documents.TermFiles = cmp.Or(in.Documents.TermFiles, -1)
			if crawl {
				if in.As != "" && in.As != "crawl" {
					return usage("leave one of them out", "build: --crawl and --as %s contradict each other", in.As)
				}
				in.As = "crawl"
			}
			var err error
			if in.Documents.CacheDir, err = pageCache(); err != nil {
				return err
			}
			source, err := open.NewInput(args[0], &in)
			if err != nil {
				return err
			}
			if err := applySettings(cmd, source); err != nil {
				return err
			}
			if err := o.complete(cmd); err != nil {
				return err
			}
			if writesOver(args[0], o.output) {
				return usage("name a folder in it, such as -o "+filepath.Join(o.output, "mcp"),
					"build: the output is the folder with the documents")
			}
			if layout != "standard" {
				o.Layout = sitebuild.Packed
			}
			if watch && (o.output == "-" || o.check || o.dryRun || o.json) {
				return usage("name a folder with -o", "build: --watch requires a folder or a file to write")
			}
			defer interruptible(cmd)()
			if !watch {
				return buildOnce(cmd, source, &o)
			}
			return buildAndWatch(cmd, source, &o, every)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.Var(oneOf(&layout, "packed", "standard"), "layout",
		"where answers of tools are stored: packed, for few files, or standard, one file each")
	f.BoolVar(&o.check, "check", false, "fail if the output is out of date, without writing")
	f.BoolVar(&watch, "watch", false, "rebuild when the input changes")
	every = time.Second
	f.Var(longerThanZero(&every), "watch-interval", "`time` between checks for changes")
	f.StringVar(&in.As, "as", "", "`type` of INPUT: "+strings.Join(sitebuild.Kinds(), ", ")+" (default: detected)")
	f.BoolVar(&crawl, "crawl", false,
		"INPUT is the URL of a website: fetch its pages, as far as robots.txt permits, within its folder")
	f.Var(atLeast(&in.Documents.MaxPages, 1), "max-pages",
		"maximum `number` of documents (default 100000 of a folder, 1000 of a website or an llms.txt)")
	f.StringVar(&in.Documents.Language, "language", "",
		"`language` of documents, such as en or pt-BR (default: detected)")
	f.Var(baseURL(&in.Documents.BaseURL), "base-url",
		"`URL` where the documents are published for people, for links to pages (default: from the project)")
	f.StringVar(&in.Documents.MkDocsConfig, "mkdocs-config", "",
		"`name` of the configuration file of MkDocs in the project's folder (default mkdocs.yml)")
	f.BoolVar(&in.Documents.Drafts, "drafts", false, "include documents marked as draft, hidden or unlisted")
	in.Documents.TermFiles = 2000
	f.Var(atLeast(&in.Documents.TermFiles, 0), "word-files",
		"maximum `number` of words with precomputed search results, for readers without the index; 0 means none")
	f.BoolVar(&noPictures, "no-pictures", false, "exclude pictures of documents")
	f.BoolVar(&in.Documents.NoSections, "no-sections", false,
		"exclude get_section, whose answers are most of a site of documents")
	f.StringSliceVar((*[]string)(&in.Table.Table.Key), "key", nil,
		"`COLUMN` that identifies the rows of a table (repeatable; default: detected)")
	f.StringVar(&in.Name, "name", "", "`name` of the site")
	f.StringVar(&in.Title, "title", "", "human-readable `title` of the site")
	f.StringVar(&in.Version, "site-version", "", "`version` of the site")
	f.StringVar(&in.Instructions, "instructions", "", "`text` about the site for models")
	return handlesSignals(cmd)
}

// writesOver reports whether a folder is the input and the output, so that the second build
// would find a site in place of documents. The paths of a slipway.site.yaml are its own.
func writesOver(input, output string) bool {
	in, inErr := os.Stat(input)
	out, err := os.Stat(output)
	_, mapped := sitebuild.FindMapping(input)
	return inErr == nil && err == nil && !mapped && in.IsDir() && os.SameFile(in, out)
}

// pageCacheVariable names the folder in which parsed pages are kept.
const pageCacheVariable = "SLIPWAY_PAGE_CACHE"

// pageCache returns the folder in which parsed pages are kept between builds, or "" for none:
// without a home folder there is none either.
func pageCache() (string, error) {
	switch dir := os.Getenv(pageCacheVariable); dir {
	case "":
	case "off":
		return "", nil
	default:
		if err := pagecache.Prepare(dir); err != nil {
			return "", usage("name a new or empty folder, or off", "%s: %v", pageCacheVariable, err)
		}
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", nil
	}
	return filepath.Join(base, "slipway", "pages"), nil
}

// interruptible lets a write be completed, or rolled back, when the command is stopped.
func interruptible(cmd *cobra.Command) (stop func()) {
	ctx, stop := serve.Signals(cmd.Context(), func(os.Signal) {})
	cmd.SetContext(ctx)
	return stop
}

// buildGrowth is by how much the heap grows during a build before garbage is collected.
const buildGrowth = 48 << 20

// buildOnce builds a site and writes it, or with --check compares it with the output.
func buildOnce(cmd *cobra.Command, source sitebuild.Input, o *writing) error {
	var r *sitebuild.Result
	err := frugal.Run(buildGrowth, func() (err error) {
		r, err = sitebuild.Refresh(cmd.Context(), source, o.target(cmd.OutOrStdout()), &o.Options)
		return err
	})
	if r == nil {
		return o.failed(cmd, err)
	}
	return o.finish(cmd, r, err)
}

// baseURL binds the address of published pages.
func baseURL(field *string) pflag.Value {
	return &binding{
		kind: "string",
		get:  func() string { return *field },
		set: func(text string) error {
			if text != "" {
				if err := sitebuild.CheckBaseURL(text); err != nil {
					return usage("want a URL such as https://example.com/docs/", "%v", err)
				}
			}
			*field = text
			return nil
		},
	}
}

// buildAndWatch builds until it is interrupted. A failure or panic is reported and
// retried after the next change.
func buildAndWatch(cmd *cobra.Command, source sitebuild.Input, o *writing, every time.Duration) error {
	stderr := cmd.ErrOrStderr()
	build := func() error {
		return barrier.Run("build "+o.output, func() error {
			return buildOnce(cmd, source, o)
		})
	}
	seen := fsutil.Snapshot(pathsOf(source)...)
	if err := build(); err != nil {
		report(stderr, err)
	}
	fmt.Fprintf(stderr, "watching %s; Ctrl-C stops it\n", strings.Join(existing(pathsOf(source)), ", "))
	return watchInput(cmd.Context(), stderr, source, seen, every, build)
}

// pathsOf returns the files that source is built from. An input that panics has none
// until it changes: building it reports why.
func pathsOf(source sitebuild.Input) (paths []string) {
	_ = barrier.Run("list inputs", func() error {
		paths = source.Paths()
		return nil
	})
	return paths
}

// existing returns the paths that exist. An input also watches for files that may be
// added, which need not be reported.
func existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// watchInput calls again each time the files of source change, until ctx is done. seen is
// their state at the last call.
func watchInput(ctx context.Context, stderr io.Writer, source sitebuild.Input, seen fsutil.Snap, every time.Duration,
	again func() error) error {
	ticker := time.NewTicker(max(every, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := fsutil.Snapshot(pathsOf(source)...)
		if now == seen {
			continue
		}
		seen = now
		if err := again(); err != nil && ctx.Err() == nil {
			report(stderr, err)
		}
	}
}
