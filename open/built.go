package open

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/build"
	"github.com/slipway-mcp/slipway/staticmcp/build/docs"
)

// built is a site in memory, built of an input that is watched: when it changes,
// the site is built again, and clients hear of it as of any change of a site.
type built struct {
	*staticmcp.Site
	stop context.CancelFunc
	done sync.WaitGroup
}

var _ mcp.Source = (*built)(nil)

// openBuilt builds arg, which is documents, in memory.
func openBuilt(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var o staticmcp.Options
	if opts.Site != nil {
		o = *opts.Site
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	// Our reader answers searches from the index: files for single words are for
	// others, and nobody else reads this memory.
	input, err := documents(arg, &docs.Options{TermFiles: -1})
	if err != nil {
		return nil, unreadable(arg, err)
	}
	b := &builder{arg: arg, input: input, memory: build.NewMemory(), log: o.Logger}
	b.seen = build.Snapshot(input.Paths())
	if err := b.build(ctx); err != nil {
		return nil, &Error{Arg: arg, Why: plain(err), Err: err}
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
	s := &built{Site: site, stop: stop}
	if every > 0 && len(input.Paths()) > 0 {
		s.done.Go(func() { b.watch(watching, every) })
	}
	return s, nil
}

// Close ends the watching and the site.
func (s *built) Close() error {
	s.stop()
	s.done.Wait()
	return s.Site.Close()
}

// builder builds an input again and again.
type builder struct {
	arg    string
	input  build.Input
	memory *build.Memory
	log    *slog.Logger
	seen   build.Snap
}

func (b *builder) build(ctx context.Context) error {
	site, err := b.input.Site(ctx)
	if err != nil {
		return err
	}
	result, err := build.Write(ctx, site, b.memory, &build.Options{NoIndex: true, NoAliases: true, Compact: true, Lenient: true})
	if err != nil {
		return err
	}
	if r := &result.Report; r.Count(check.Error)+r.Count(check.Warning) > 0 {
		b.log.Warn("the documents have faults: slipway site build "+b.arg+" -o DIR --dry-run lists them", "found", r.Summary())
	}
	return nil
}

// watch builds the input again each time it changes, until ctx ends. What cannot
// be built is said, and what was built before is served on.
func (b *builder) watch(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := build.Snapshot(b.input.Paths())
		if now == b.seen {
			continue
		}
		b.seen = now
		if err := b.build(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("the documents cannot be built; what was built before is served on", "source", b.arg, "error", err)
		}
	}
}
