package lock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
)

// Policy is the action for items that differ from the lock.
type Policy string

const (
	// Block hides and refuses them.
	Block Policy = ""
	// Warn offers and reports them.
	Warn Policy = "warn"
)

// GuardOptions configure a [Guard]. The zero value and nil are the defaults.
type GuardOptions struct {
	// Policy is the action for changed and new items.
	Policy Policy
	// Report is called once for each drift. It runs while a request waits, possibly from
	// several goroutines at once, and must not call the source. Nil ignores drifts.
	Report func(Drift)
	// Replaced announces calls to [Guard.Replace], so that even sources whose catalogs
	// never change are watchable.
	Replaced bool
}

// Guard verifies sources against a lock. It is safe for concurrent use.
type Guard struct {
	opts GuardOptions
	// lock is the lock in force. It is replaced as a whole when the file changes.
	lock atomic.Pointer[File]

	mu sync.Mutex // guards reported
	// reported has the drifts that were already logged, so that each is logged once.
	reported map[string]bool

	// watchers are notified when the lock changes.
	watchers mcp.Watchers
}

// NewGuard returns a guard that verifies sources against lock. opts may be nil.
func NewGuard(lock *File, opts *GuardOptions) *Guard {
	g := &Guard{reported: make(map[string]bool)}
	if opts != nil {
		g.opts = *opts
	}
	g.lock.Store(lock)
	return g
}

// File returns the lock in force.
func (g *Guard) File() *File { return g.lock.Load() }

// Replace puts another lock in force, starting with the next request. Clients are
// notified that lists have changed.
func (g *Guard) Replace(lock *File) {
	g.lock.Store(lock)
	g.watchers.Tell(mcp.Change{
		Tools:     true,
		Resources: true,
		Prompts:   true,
	})
}

// Admit returns an error if a source must not be offered at all, and so need not be
// started: the lock does not contain it, or the source is started or reached in a
// different way than the locked one. The caller is expected to report the error;
// [GuardOptions.Report] is not called for it. Under [Warn], Admit calls Report and returns
// nil.
func (g *Guard) Admit(source, origin string) error {
	d := g.originDrift(g.File(), source, origin)
	if d == nil {
		return nil
	}
	if g.opts.Policy == Warn {
		g.report(*d)
		return nil
	}
	g.markReported(*d)
	return &RefusedError{*d}
}

// originDrift returns how a source differs from the one in the lock, or nil if it is the
// same.
func (g *Guard) originDrift(lock *File, source, origin string) *Drift {
	locked := lock.Sources[source]
	if locked == nil {
		return &Drift{
			Source: source,
			Item:   Item{Kind: Whole},
			Is:     &Pin{Digest: origin},
		}
	}
	item := Item{Kind: Origin}
	d := &Drift{
		Source: source,
		Item:   item,
		Was:    locked.pin(item),
	}
	if origin != "" {
		d.Is = &Pin{Digest: origin}
	}
	if d.isUnchanged() {
		return nil
	}
	if d.Is == nil {
		d.Is = &Pin{} // no origin, which still differs from what was approved
	}
	return d
}

// report reports a drift unless it was reported before.
func (g *Guard) report(d Drift) {
	if g.markReported(d) && g.opts.Report != nil {
		g.opts.Report(d)
	}
}

// markReported records that a drift was reported, and reports whether it is new.
func (g *Guard) markReported(d Drift) bool {
	key := d.Source + "\n" + d.Item.String() + "\n"
	if d.Is != nil {
		key += d.Is.Digest + string(d.Is.Definition)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reported[key] || len(g.reported) >= maxReported {
		return false
	}
	g.reported[key] = true
	return true
}

// maxReported bounds the number of reported drifts, for servers that change all the time.
const maxReported = 10_000

// Follow rereads the guard's lock, which must come from [Open], whenever its file has
// changed, until stop is called. An invalid lock is ignored. reloaded is called after each
// attempt, with its error.
func (g *Guard) Follow(reloaded func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		path := g.File().path
		used := g.File().snap
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for last := used; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			now := fsutil.Snapshot(path)
			// Unchanged since the last tick: it is not being written.
			if now == last && now != used {
				used = now
				file, err := Open(path)
				if err == nil {
					g.Replace(file)
				}
				reloaded(err)
			}
			last = now
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// Watch calls replaced whenever another lock takes effect. stop waits for a running call,
// so replaced must not call it; after stop returns, replaced is not called again.
func (g *Guard) Watch(replaced func()) (stop func()) {
	return g.watchers.Watch(func(mcp.Change) { replaced() })
}

// RefusedError is the error for a source that is refused as a whole.
type RefusedError struct{ Drift Drift }

// Error implements the error interface.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused by %s: %s", FileName, e.Drift)
}
