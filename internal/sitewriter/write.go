package sitewriter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/mcp"
)

// manifestName is the file that makes a folder a site.
const manifestName = "mcp.json"

// InvalidError reports that a site was not written because it has errors, which are in
// the report of the accompanying [Result].
type InvalidError struct{ Errors int }

// Error implements the error interface.
func (e *InvalidError) Error() string {
	if e.Errors == 1 {
		return "the site has an error; nothing was written"
	}
	return fmt.Sprintf("the site has %d errors; nothing was written", e.Errors)
}

// Write writes site to out.
//
// It collects and checks all answers first: a site with errors, or one whose sequences
// fail, leaves the output unchanged. The error is then an [*InvalidError] or that of the
// sequence. The Result is never nil, and contains the findings even if there is an error.
// Write may be called again with the same Output, but not concurrently.
func Write(ctx context.Context, site *Site, out Output, opts *Options) (*Result, error) {
	w, err := write(ctx, site, out, opts, nil)
	return w.result, err
}

// write is Write, and returns the writer, whose spool is closed. stamps is not nil if they are
// needed for a record.
func write(ctx context.Context, site *Site, out Output, opts *Options, stamps []fsutil.Stamp) (*writer, error) {
	w := &writer{
		site:   site,
		opts:   opts.withDefaults(),
		result: &Result{},
		taken:  make(map[string]bool),
		stamps: stamps,
	}
	if w.opts.OmitUnanswered {
		w.answered = make(map[[16]byte]bool)
	}
	if err := w.settings(); err != nil {
		return w, err
	}
	prefix := ""
	if w.opts.SiteRoot != "" {
		var err error
		if prefix, err = w.sitePrefix(out); err != nil {
			return w, err
		}
	}
	target, err := out.begin(w.opts)
	if err != nil {
		return w, err
	}
	defer target.close()
	w.spool = &spool{
		limit: w.opts.SpoolBytes,
		dir:   w.tempDir(target),
		most:  mostInMemory(out),
	}
	defer w.spool.close()
	if err := w.prepare(ctx); err != nil {
		return w, err
	}
	err = target.commit(ctx, w)
	if err == nil && w.opts.SiteRoot != "" {
		err = errors.Join(w.rootFiles(prefix), w.writeTwins())
	}
	if err == nil {
		w.opts.Progress(Progress{
			Stage: "done",
			Done:  w.result.Files,
			Total: w.result.Files,
			Bytes: w.result.Bytes,
		})
	}
	return w, err
}

// writer is the state of one write.
type writer struct {
	// site is what to write, and result what was done.
	site   *Site
	opts   *Options
	result *Result

	// tools and prompts are the definitions by name.
	tools   map[string]*toolPlan
	prompts map[string]*mcp.Prompt

	spool *spool
	files []file // sorted by path once prepared
	// packed are answers in packs, sorted by path, until they are listed, and table the starts of the
	// packs.
	packed []file
	table  packs.Table
	twins  []twin
	inner  []file          // files below .staticmcp, the index itself last
	taken  map[string]bool // paths of files that are not answers
	// answered holds hashes of the names and URIs that have answers, if they must be
	// known.
	answered map[[16]byte]bool

	// stamps are those of the files in a folder, then of the inner ones, when they were compared or
	// written, or nil.
	stamps []fsutil.Stamp

	// For a record: before are the findings that do not depend on the sizes of files, items the
	// answers in packs, and merges is true if several answers have the same path.
	before []check.Finding
	items  []packs.Item
	merges bool

	scratch bytes.Buffer
}

// settings verifies the options before anything is read.
func (w *writer) settings() error {
	for _, form := range w.opts.Precompress {
		if form != "gzip" {
			return fmt.Errorf("unknown compression %q, want gzip", form)
		}
	}
	if _, err := w.opts.Host.profile(); err != nil {
		return err
	}
	switch w.opts.Collisions {
	case Disambiguate, Refuse:
	default:
		return fmt.Errorf("unknown policy for collisions %q", w.opts.Collisions)
	}
	switch w.opts.Layout {
	case OneFile, Packed:
		return nil
	}
	return fmt.Errorf("unknown layout %q", w.opts.Layout)
}

// tempDir returns the folder for the spool: that of the output, which has the space that
// the site needs.
func (w *writer) tempDir(t target) string {
	if w.opts.TempDir != "" {
		return w.opts.TempDir
	}
	dir := t.dir()
	if dir != "" && !w.opts.DryRun {
		return dir
	}
	return os.TempDir()
}

// prepare completes w.files and w.inner.
func (w *writer) prepare(ctx context.Context) error {
	w.result.Report.Add(w.site.Findings...)
	if err := w.collect(ctx); err != nil {
		return err
	}
	if err := w.resolve(); err != nil {
		return err
	}
	if err := w.packAnswers(ctx); err != nil {
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
	w.before = slices.Clone(w.result.Report.Findings())
	w.limits(sizes(w.files))
	n := w.result.Report.Count(check.Error)
	if n > 0 && !w.opts.Lenient {
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
