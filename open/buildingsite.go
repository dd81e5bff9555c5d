package open

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// buildingSite is a [watchedSite] that is served while it is built for the first time. Until
// then it has the catalog of a survey, and requests for anything else wait.
type buildingSite struct {
	builder *builder
	// early is the catalog of the survey. Its tools, templates and prompts are offered until
	// the site is built; its resources only show that there will be some.
	early *mcp.Catalog

	site atomic.Pointer[watchedSite] // nil until it is built
	// built is closed when the build has ended; failure is then the reason why site is nil.
	built   chan struct{}
	failure error

	// state is the progress of the build.
	state    buildState
	watchers mcp.Watchers
	stop     context.CancelFunc
	work     sync.WaitGroup // the build
	// closing closes the site once; closed is the outcome.
	closing sync.Once
	closed  error
}

var (
	_ mcp.Source  = (*buildingSite)(nil)
	_ mcp.Watcher = (*buildingSite)(nil)
	_ io.Closer   = (*buildingSite)(nil)
)

// openBuildingSite surveys the input of b and starts to build it. An input that no site can
// be built of is an error.
func openBuildingSite(ctx context.Context, b *builder) (mcp.Source, error) {
	began := time.Now()
	var found *sitebuild.Site
	var early *mcp.Catalog
	err := barrier.Run("survey "+b.arg, func() (err error) {
		if found, err = sitebuild.Survey(ctx, b.input); err != nil {
			return err
		}
		early, err = b.catalogOf(ctx, found)
		return err
	})
	if err != nil {
		return nil, b.failed(err)
	}
	s := &buildingSite{
		builder: b,
		early:   early,
		built:   make(chan struct{}),
	}
	s.state.began = began
	b.progress = s.state.set
	building, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() { s.build(building, found) })
	return s, nil
}

// catalogOf returns the catalog of the site that found describes, with at most one resource.
// It is unknown, as in [mcp.Catalog.Unknown]. It is read from a site without answers, so that
// it has the form of the site's own catalog.
func (b *builder) catalogOf(ctx context.Context, found *sitebuild.Site) (*mcp.Catalog, error) {
	bare := *found
	bare.Answers = nil
	bare.Findings = nil
	if all := found.Resources; all != nil {
		bare.Resources = func(yield func(*mcp.Resource, error) bool) {
			for r, err := range all {
				yield(r, err)
				return
			}
		}
	}
	memory := sitebuild.NewMemory()
	if _, err := sitebuild.Write(ctx, &bare, memory, b.writing()); err != nil {
		return nil, err
	}
	opts := *b.opts
	opts.Poll = -1
	opts.Logger = slog.New(slog.DiscardHandler)
	site, err := staticmcp.Open(ctx, memory, &opts)
	if err != nil {
		return nil, err
	}
	defer site.Close()
	catalog, err := site.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	early := catalog.Copy()
	early.Sources = []mcp.JoinedSource{{
		Name:    catalog.Server.Name,
		Unknown: true,
	}}
	return early, nil
}

// justModified is the age of a file that may have changed while it was read. It covers the
// resolution of the clocks of file systems.
const justModified = 2 * time.Second

// build builds the site: found, if that is a whole site that is still up to date, and
// otherwise what the input is now.
func (s *buildingSite) build(ctx context.Context, found *sitebuild.Site) {
	defer close(s.built)
	b := s.builder
	reporting, stop := context.WithCancel(ctx)
	var reports sync.WaitGroup
	reports.Go(func() { s.logProgress(reporting) })
	paths := b.input.Paths()
	b.seen = fsutil.Snapshot(paths...)
	if found.Answers == nil || fsutil.Newest(paths...).After(s.state.began.Add(-justModified)) {
		found = nil
	}
	site, err := b.open(ctx, found)
	stop()
	reports.Wait()
	if err != nil {
		s.failure = err
		return
	}
	b.log.Info("site built",
		"source", b.arg,
		"duration", time.Since(s.state.began).Round(time.Millisecond),
	)
	s.finish(ctx, site)
}

// finish replaces the survey by the site, and notifies clients of the lists that differ.
func (s *buildingSite) finish(ctx context.Context, site *watchedSite) {
	catalog, err := site.Catalog(ctx)
	site.Watch(s.watchers.Tell)
	s.site.Store(site)
	if err == nil {
		change := staticmcp.Difference(s.early, catalog)
		change.Resources = false // no client has received any
		s.watchers.Tell(change)
	}
}

const (
	progressLogged = 2 * time.Second        // between two lines of the log
	progressSent   = 500 * time.Millisecond // between two notifications to a client
)

// logProgress logs the progress until ctx ends.
func (s *buildingSite) logProgress(ctx context.Context) {
	ticker := time.NewTicker(progressLogged)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p := s.state.get()
			s.builder.log.Info("building the site", "source", s.builder.arg, "stage", p.Stage, "done", p.Done,
				"total", p.Total, "per_second", int(p.perSecond))
		}
	}
}

// await returns the site once it is built. A client that requested progress receives it
// meanwhile.
func (s *buildingSite) await(ctx context.Context) (*watchedSite, error) {
	if site := s.site.Load(); site != nil {
		return site, nil
	}
	ticker := time.NewTicker(progressSent)
	defer ticker.Stop()
	request := mcp.RequestFrom(ctx)
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.built:
			waiting = false
		case <-ticker.C:
			p := s.state.get()
			request.Progress(p.steps(), 0, p.String())
		}
	}
	if site := s.site.Load(); site != nil {
		return site, nil
	}
	return nil, mcp.Errorf(mcp.CodeToolUnavailable, "the site cannot be built; the output of the server says why")
}

// Opened waits until the site is built, and returns it or the [*Error] that prevents it. If
// ctx ends first, it returns the error of ctx. The site is closed with s.
func (s *buildingSite) Opened(ctx context.Context) (mcp.Source, error) {
	select {
	case <-s.built:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.failure != nil {
		return nil, s.failure
	}
	return s.site.Load(), nil
}

// surveyedMethods lists the methods that are answered from the survey: those that do not
// depend on a catalog, and the lists that a survey has in full.
var surveyedMethods = []string{
	"", "initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen",
	"tools/list", "prompts/list", "resources/templates/list",
}

// Catalog implements [mcp.Source].
func (s *buildingSite) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	site := s.site.Load()
	if site == nil {
		if slices.Contains(surveyedMethods, mcp.RequestFrom(ctx).Method()) {
			return s.early, nil
		}
		var err error
		if site, err = s.await(ctx); err != nil {
			return nil, err
		}
	}
	return site.Catalog(ctx)
}

// CallTool implements [mcp.Source].
func (s *buildingSite) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	site, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	return site.CallTool(ctx, params)
}

// ReadResource implements [mcp.Source].
func (s *buildingSite) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (
	*mcp.ReadResourceResult, error,
) {
	site, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	return site.ReadResource(ctx, params)
}

// GetPrompt implements [mcp.Source].
func (s *buildingSite) GetPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	site, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	return site.GetPrompt(ctx, params)
}

// Complete implements [mcp.Source].
func (s *buildingSite) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	site, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	return site.Complete(ctx, params)
}

// Watch implements [mcp.Watcher].
func (s *buildingSite) Watch(changed func(mcp.Change)) (stop func()) {
	return s.watchers.Watch(changed)
}

// Close ends the building, or closes the site.
func (s *buildingSite) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.work.Wait()
		if site := s.site.Load(); site != nil {
			s.closed = site.Close()
		}
	})
	return s.closed
}

// buildState is the progress of a build. It is safe for concurrent use.
type buildState struct {
	began time.Time // of the build

	mu   sync.Mutex // guards what follows
	last progress
	// stageBegan is when the stage of last began, and before counts the items of earlier stages.
	stageBegan time.Time
	before     int
}

// progress is the progress of a build at one moment.
type progress struct {
	sitebuild.Progress
	before    int     // the items of earlier stages
	perSecond float64 // in this stage
}

// set records the progress.
func (s *buildState) set(p sitebuild.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Stage != s.last.Stage {
		s.before += s.last.Done
		s.stageBegan = time.Now()
		s.last.Done = 0
	}
	p.Done = max(p.Done, s.last.Done) // reports of several goroutines can overtake each other
	s.last = progress{
		Progress: p,
		before:   s.before,
	}
}

// get returns the progress.
func (s *buildState) get() progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.last
	passed := time.Since(s.stageBegan).Seconds()
	if passed > 0 && p.Stage != "" {
		p.perSecond = float64(p.Done) / passed
	}
	return p
}

// steps returns a number that grows during the whole build.
func (p progress) steps() float64 { return float64(p.before + p.Done) }

// String describes the progress to a person, with the rate.
func (p progress) String() string {
	var text string
	switch {
	case p.Stage == "":
		return "looking for documents"
	case p.Stage == "documents":
		text = fmt.Sprintf("reading documents: %d of %d", p.Done, p.Total)
	case p.Total > 0:
		text = fmt.Sprintf("%s files: %d of %d", p.Stage, p.Done, p.Total)
	default:
		text = fmt.Sprintf("preparing answers: %d", p.Done)
	}
	return fmt.Sprintf("%s, %.0f per second", text, p.perSecond)
}
