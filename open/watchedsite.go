package open

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// watchedSite is a site in memory, built from an input that is watched. When the input changes,
// the site is rebuilt and clients are notified, as for any change of a site.
type watchedSite struct {
	*staticmcp.Site
	stop context.CancelFunc
	// done waits for the goroutine that watches the input.
	done sync.WaitGroup
}

var _ mcp.Source = (*watchedSite)(nil)

// memoryRows is the maximum number of table rows served from memory.
const memoryRows = 200_000

// openWatchedSite builds a site from arg in memory. Slipway's reader answers searches from the
// index; files for single words are for other readers, which have no access to it.
func openWatchedSite(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var o staticmcp.Options
	if opts.Site != nil {
		o = *opts.Site
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	input, err := NewInput(arg, &sitebuild.InputOptions{
		Name:      opts.Name,
		Title:     opts.Title,
		Documents: sitebuild.DocumentOptions{TermFiles: -1},
		Table:     sitebuild.TableOptions{MaxRows: memoryRows},
	})
	if err != nil {
		return nil, err
	}
	var roster *client.Roster // records nothing
	if live := opts.live().Source; live != nil {
		roster = live.Roster
	}
	b := &builder{
		arg:     arg,
		input:   input,
		memory:  sitebuild.NewMemory(),
		log:     o.Logger,
		rebuilt: roster.Rebuilt,
	}
	b.memory.MaxBytes = opts.MaxSiteBytes
	b.seen = fsutil.Snapshot(input.Paths()...)
	if err := b.build(ctx); err != nil {
		return nil, &Error{
			Arg:  arg,
			Why:  reasonOf(err),
			Err:  err,
			Hint: onDisk(arg, err),
		}
	}
	site, err := staticmcp.Open(ctx, b.memory, &o)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	every := o.Poll
	if every == 0 {
		every = time.Second
	}
	watching, stop := context.WithCancel(context.Background())
	s := &watchedSite{
		Site: site,
		stop: stop,
	}
	if every > 0 && len(input.Paths()) > 0 {
		s.done.Go(func() { b.watch(watching, every) })
	}
	return s, nil
}

// onDisk returns the hint for inputs that are too large for memory.
func onDisk(arg string, err error) string {
	if errors.As(err, new(*sitebuild.MemoryError)) ||
		errors.As(err, new(*sitebuild.SizeError)) {
		return "slipway site build " + arg + " -o site.zip, and serve that"
	}
	return ""
}

// Close stops watching and closes the site.
func (s *watchedSite) Close() error {
	s.stop()
	s.done.Wait()
	return s.Site.Close()
}

// builder builds an input repeatedly.
type builder struct {
	arg string
	// input is read again for each build; memory has the site that is being served.
	input  sitebuild.Input
	memory *sitebuild.Memory
	log    *slog.Logger
	// seen is the state of the input at the last build.
	seen fsutil.Snap
	// rebuilt is called with the outcome of each rebuild.
	rebuilt func(arg string, err error)
}

// build builds the input into memory. A panic is returned as an error. If the build
// fails, memory keeps its contents.
func (b *builder) build(ctx context.Context) error {
	return barrier.Run("build "+b.arg, func() error { return b.write(ctx) })
}

// write builds the site. Findings of the build are logged as one line.
func (b *builder) write(ctx context.Context) error {
	site, err := b.input.Site(ctx)
	if err != nil {
		return err
	}
	result, err := sitebuild.Write(ctx, site, b.memory, &sitebuild.Options{
		NoIndex:   true,
		NoAliases: true,
		Compact:   true,
		Lenient:   true,
	})
	if err != nil {
		return err
	}
	r := &result.Report
	if r.Count(check.Error)+r.Count(check.Warning) > 0 {
		b.log.Warn("the input has errors: slipway site build "+b.arg+" -o DIR --dry-run lists them", "found", r.Summary())
	}
	return nil
}

// watch rebuilds the site when the input changes, until ctx ends. A failed build is
// reported, and the previous site stays in place.
func (b *builder) watch(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := fsutil.Snapshot(b.input.Paths()...)
		if now == b.seen {
			continue
		}
		b.seen = now
		err := b.build(ctx)
		if ctx.Err() != nil {
			return
		}
		b.report(err)
	}
}

// report logs a failed rebuild and passes the outcome on.
func (b *builder) report(err error) {
	var panicked *barrier.PanicError
	switch {
	case errors.As(err, &panicked):
		b.log.Error("site rebuild failed, keeping the previous site", "source",
			b.arg, "error", err, "stack", panicked.Stack)
	case err != nil:
		b.log.Warn("site rebuild failed, keeping the previous site", "source",
			b.arg, "error", err)
	}
	b.rebuilt(b.arg, err)
}
