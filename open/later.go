package open

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// The pause before a source that could not be opened is opened again, at first and
// at most.
const (
	firstReopen = time.Second
	maxReopen   = 30 * time.Second
)

// Later is [Open] for one of several sources that are served together: a source that
// is not open after a moment offers nothing until it is, so that it does not keep
// the others from being served. Until patience has passed requests for lists wait for
// it. What fails within the moment is an error as of Open; what fails later is opened
// again, with pauses that grow to 30 seconds, and trouble, if not nil, is called each
// time. Close it in any case; ctx ends the opening as well. opts and opts.Definitions
// must not be nil.
func Later(
	ctx context.Context, arg string, opts *Options, patience time.Duration, trouble func(error),
) (mcp.Source, error) {
	if !mayTakeLong(arg) {
		joined, definitions := *opts, *opts.Definitions
		definitions.joined, joined.Definitions = true, &definitions
		return Open(ctx, arg, &joined)
	}
	l := &later{arg: arg, opts: opts, trouble: trouble, name: Name(arg)}
	ctx, l.stop = context.WithCancel(ctx)
	l.Swap = compose.NewSwap(&nobody{catalog: mcp.Catalog{Server: mcp.Implementation{Name: l.name, Version: "0"}}})
	l.starting.joined = true
	l.starting.begin(patience)
	first := make(chan outcome, 1)
	l.work.Go(func() { l.run(ctx, first) })
	grace := time.NewTimer(startGrace)
	defer grace.Stop()
	select {
	case o := <-first:
		l.stop()
		l.work.Wait()
		return o.source, o.err
	case <-grace.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.background = true
	select {
	case o := <-first: // just now
		l.stop()
		return o.source, o.err
	default:
	}
	return l, nil
}

// mayTakeLong reports whether opening a source means to wait for something else than
// the files of this machine: a server that starts, or one that answers. Definitions
// wait by themselves.
func mayTakeLong(arg string) bool {
	if strings.HasPrefix(arg, commandPrefix) || strings.Contains(arg, "://") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && isBundle(arg, info)
}

// later is a source that is being opened.
type later struct {
	*compose.Swap
	arg, name string
	opts      *Options
	trouble   func(error)
	starting  startup

	stop context.CancelFunc
	work sync.WaitGroup

	mu         sync.Mutex // guards what follows
	background bool       // Later has returned it
	opened     mcp.Source // or nil
}

// outcome is what opening a source came to.
type outcome struct {
	source mcp.Source
	err    error
}

var (
	_ mcp.Source = (*later)(nil)
	_ io.Closer  = (*later)(nil)
)

// run opens the source, again and again if need be. The outcome of the first attempt
// goes to first if Later still waits for it.
func (l *later) run(ctx context.Context, first chan<- outcome) {
	for pause := firstReopen; ; pause = min(2*pause, maxReopen) {
		src, err := Open(ctx, l.arg, l.opts)
		l.mu.Lock()
		if !l.background {
			first <- outcome{src, err}
			l.mu.Unlock()
			return
		}
		if err == nil {
			l.opened = src
		}
		l.mu.Unlock()
		l.starting.end()
		if err == nil {
			l.Set(ctx, src)
			return
		}
		if ctx.Err() != nil {
			return
		}
		if l.trouble != nil {
			l.trouble(err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Catalog implements [mcp.Source].
func (l *later) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	return l.starting.catalog(ctx, nil, l.Swap.Catalog)
}

// Close ends the opening, or closes what was opened.
func (l *later) Close() error {
	l.stop()
	l.starting.end()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.opened.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
