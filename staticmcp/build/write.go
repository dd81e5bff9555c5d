package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
)

// manifestName is the file that makes a folder a site.
const manifestName = "mcp.json"

// InvalidError says that a site was not written because of what is wrong with
// it, which is in the report of the [Result] that comes with it.
type InvalidError struct{ Errors int }

// Error implements the error interface.
func (e *InvalidError) Error() string {
	if e.Errors == 1 {
		return "the site has an error; nothing was written"
	}
	return fmt.Sprintf("the site has %d errors; nothing was written", e.Errors)
}

// Write brings site to out.
//
// All answers are taken in and checked first: a site with errors, or one whose
// sequences end in an error, leaves out as it was. The error is then an
// [*InvalidError] or that of the sequence. The Result is never nil, and holds
// what was found even if there is an error. Write may be called again with the
// same Output, but not at the same time.
func Write(ctx context.Context, site *Site, out Output, opts *Options) (*Result, error) {
	w := &writer{site: site, opts: opts.withDefaults(), result: &Result{}, taken: make(map[string]bool)}
	if w.opts.OmitUnanswered {
		w.answered = make(map[[16]byte]bool)
	}
	if err := w.settings(); err != nil {
		return w.result, err
	}
	prefix := ""
	if w.opts.SiteRoot != "" {
		var err error
		if prefix, err = w.sitePrefix(out); err != nil {
			return w.result, err
		}
	}
	target, err := out.begin(w.opts)
	if err != nil {
		return w.result, err
	}
	defer target.close()
	w.spool = &spool{limit: w.opts.SpoolBytes, dir: w.tempDir(target)}
	defer w.spool.close()
	if err := w.prepare(ctx); err != nil {
		return w.result, err
	}
	err = target.commit(ctx, w)
	if err == nil && w.opts.SiteRoot != "" {
		err = w.rootFiles(prefix)
	}
	if err == nil {
		w.opts.Progress(Progress{Stage: "done", Done: w.result.Files, Total: w.result.Files, Bytes: w.result.Bytes})
	}
	return w.result, err
}

// writer is one write.
type writer struct {
	site   *Site
	opts   *Options
	result *Result

	tools   map[string]*toolPlan
	prompts map[string]*mcp.Prompt

	spool *spool
	files []file          // in the order of their paths once prepared
	inner []file          // those below .staticmcp, the index itself last
	taken map[string]bool // paths of files that are no answers
	// answered are the names and URIs that there are answers for, as hashes, if
	// they must be known.
	answered map[[16]byte]bool

	scratch bytes.Buffer
}

func (w *writer) settings() error {
	for _, form := range w.opts.Precompress {
		if form != "gzip" {
			return fmt.Errorf("unknown compression %q: gzip is known", form)
		}
	}
	if _, err := w.opts.Host.profile(); err != nil {
		return err
	}
	switch w.opts.Collisions {
	case Disambiguate, Refuse:
		return nil
	}
	return fmt.Errorf("unknown policy for collisions %q", w.opts.Collisions)
}

func (w *writer) tempDir(t target) string {
	if w.opts.TempDir != "" {
		return w.opts.TempDir
	}
	if dir := t.dir(); dir != "" && !w.opts.DryRun {
		return dir
	}
	return os.TempDir()
}

// prepare makes w.files all that the site is to be.
func (w *writer) prepare(ctx context.Context) error {
	w.result.Report.Add(w.site.Findings...)
	if err := w.collect(ctx); err != nil {
		return err
	}
	if err := w.resolve(); err != nil {
		return err
	}
	if err := w.manifest(ctx); err != nil {
		return err
	}
	if err := w.extras(); err != nil {
		return err
	}
	if err := w.precompress(ctx); err != nil {
		return err
	}
	w.sort()
	w.limits(w.files)
	if n := w.result.Report.Count(check.Error); n > 0 && !w.opts.Lenient {
		return &InvalidError{n}
	}
	if err := w.index(); err != nil {
		return err
	}
	for _, list := range [][]file{w.files, w.inner} {
		for i := range list {
			w.result.Files++
			w.result.Bytes += list[i].size
		}
	}
	return errors.Join(ctx.Err())
}
