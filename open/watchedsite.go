package open

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/process"
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
	b, err := newBuilder(arg, opts)
	if err != nil {
		return nil, err
	}
	if opts.BuildBehind {
		return openBuildingSite(ctx, b)
	}
	b.seen = fsutil.Snapshot(b.input.Paths()...)
	return b.open(ctx, nil)
}

// newBuilder returns what builds a site from arg in memory.
func newBuilder(arg string, opts *Options) (*builder, error) {
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
		Documents: sitebuild.DocumentOptions{TermFiles: -1, CacheDir: opts.PageCache},
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
		input:   input.Input,
		memory:  sitebuild.NewMemory(),
		opts:    &o,
		log:     o.Logger,
		rebuilt: roster.Rebuilt,
	}
	b.memory.MaxBytes = opts.MaxSiteBytes
	b.spool = opts.PageCache
	return b, nil
}

// open builds the site for the first time, and opens it. read is the site if it was read
// already, otherwise nil. The state of the input from before it was read must be in seen.
func (b *builder) open(ctx context.Context, read *sitebuild.Site) (*watchedSite, error) {
	if err := b.build(ctx, read); err != nil {
		return nil, b.failed(err)
	}
	site, err := staticmcp.Open(ctx, b.memory, b.opts)
	if err != nil {
		return nil, unreadable(b.arg, err)
	}
	every := b.opts.Poll
	if every == 0 {
		every = time.Second
	}
	watching, stop := context.WithCancel(context.Background())
	s := &watchedSite{
		Site: site,
		stop: stop,
	}
	if every > 0 && len(b.input.Paths()) > 0 {
		s.done.Go(func() { b.watch(watching, every) })
	}
	return s, nil
}

// failed returns the error for an input that cannot be built.
func (b *builder) failed(err error) *Error {
	return &Error{
		Arg:  b.arg,
		Why:  reasonOf(err),
		Err:  err,
		Hint: onDisk(b.arg, err),
	}
}

// onDisk returns the hint for inputs that are too large for memory.
func onDisk(arg string, err error) string {
	if errors.As(err, new(*sitebuild.MemoryError)) ||
		errors.As(err, new(*sitebuild.SizeError)) {
		return "slipway site build " + process.PathWord(arg) + " -o site.zip, and serve that"
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
	// spool is the folder for the contents of a large site, if it exists: unlike the system's
	// temporary folder, that of the page cache is not in memory. Or it is "".
	spool string
	opts  *staticmcp.Options // of the site
	log   *slog.Logger
	// seen is the state of the input at the last build.
	seen fsutil.Snap
	// rebuilt is called with the outcome of each rebuild.
	rebuilt func(arg string, err error)
	// progress, if not nil, is called with the progress of a build, possibly concurrently.
	progress func(sitebuild.Progress)
}

// build builds the site into memory: read, or if that is nil, what the input is now. A panic
// is returned as an error. If the build fails, memory keeps its contents.
func (b *builder) build(ctx context.Context, read *sitebuild.Site) error {
	return frugally(func() error {
		return barrier.Run("build "+b.arg, func() error { return b.write(ctx, read) })
	})
}

// write is build without a barrier. Findings of the build are logged as one line.
func (b *builder) write(ctx context.Context, site *sitebuild.Site) error {
	if b.progress != nil {
		ctx = sitebuild.WithProgress(ctx, b.progress)
	}
	var result *sitebuild.Result
	var err error
	if site != nil {
		result, err = sitebuild.Write(ctx, site, b.memory, b.writing())
	} else {
		result, err = sitebuild.Refresh(ctx, b.input, b.memory, b.writing())
	}
	if err != nil {
		return err
	}
	r := &result.Report
	if r.Count(check.Error)+r.Count(check.Warning) > 0 {
		b.log.Warn("site built despite errors or warnings",
			"source", b.arg,
			"found", r.Summary(),
			"hint", "slipway site build "+process.PathWord(b.arg)+" -o DIR --dry-run lists them")
	}
	return nil
}

// writing returns how a site is written to memory.
func (b *builder) writing() *sitebuild.Options {
	o := &sitebuild.Options{
		NoIndex:   true,
		NoAliases: true,
		Compact:   true,
		Lenient:   true,
		Progress:  b.progress,
	}
	if info, err := os.Stat(b.spool); err == nil && info.IsDir() {
		o.TempDir = b.spool
	}
	return o
}

const (
	// settleTime is how long no change may be announced before a rebuild: programs write a
	// file in several steps, and many files one after the other.
	settleTime = 100 * time.Millisecond
	// rarely is how much less often the input is checked while changes are announced.
	rarely = 10
)

// watch rebuilds the site when the input changes, until ctx ends. A failed build is
// reported, and the previous site stays in place.
//
// The system announces changes where it can. As it cannot for network file systems, and may
// lose announcements, the input is also checked at intervals: after every, or after 10
// times that while changes are announced. One that was not announced ends that.
func (b *builder) watch(ctx context.Context, every time.Duration) {
	pause := every
	var announced <-chan struct{} // nil without a notifier
	n, err := newNotifier(b.input.Paths())
	if err == nil {
		defer n.close()
		announced = n.changed
		pause = rarely * every
	}
	poll := func(reason error) {
		announced = nil
		pause = every
		b.log.Info("changes are not announced, polling",
			"source", b.arg,
			"interval", every,
			"reason", reason,
		)
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		poll(err)
	}
	timer := time.NewTimer(0) // something may have changed before the notifier was there
	defer timer.Stop()
	for first := true; ; first = false {
		hinted := first
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-announced:
			hinted = true
			settle(ctx, announced, min(every, settleTime))
			if err := n.watchAll(); err != nil {
				poll(err)
			}
		}
		now := fsutil.Snapshot(b.input.Paths()...)
		if now != b.seen {
			if announced != nil && !hinted && !settle(ctx, announced, settleTime) {
				poll(errors.New("a change was not announced"))
			}
			b.seen = now
			err := b.build(ctx, nil)
			if ctx.Err() != nil {
				return
			}
			b.report(err)
			if announced != nil {
				n.roots = b.input.Paths() // which can name others now
				if err := n.watchAll(); err != nil {
					poll(err)
				}
			}
		}
		timer.Reset(pause)
	}
}

// settle waits until no change has been announced for a time, at most for 10 times as long.
// It reports whether any was.
func settle(ctx context.Context, announced <-chan struct{}, quiet time.Duration) (any bool) {
	for range rarely {
		timer := time.NewTimer(quiet)
		select {
		case <-ctx.Done():
			timer.Stop()
			return any
		case <-timer.C:
			return any
		case <-announced:
			timer.Stop()
			any = true
		}
	}
	return any
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
