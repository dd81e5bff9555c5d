package compose

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Policy says what becomes of what is not as it was locked.
type Policy string

const (
	// Block hides and refuses it.
	Block Policy = ""
	// Warn offers it, and tells.
	Warn Policy = "warn"
)

// GuardOptions configure a [Guard]. The zero value and nil are the defaults.
type GuardOptions struct {
	// Policy says what becomes of what has changed or is new.
	Policy Policy
	// Tell is told of each drift, once. It is called while a request waits, by
	// several at once, and must not call the source. Nil is nobody.
	Tell func(Drift)
	// Replaced says that [Guard.Replace] will be called, so that sources which
	// never change by themselves do so, too.
	Replaced bool
}

// Guard holds sources to a lock. It is safe for concurrent use.
type Guard struct {
	opts GuardOptions
	lock atomic.Pointer[Lock]

	mu   sync.Mutex // guards told
	told map[string]bool

	watchers mcp.Watchers
}

// NewGuard returns a guard that holds sources to lock. opts may be nil.
func NewGuard(lock *Lock, opts *GuardOptions) *Guard {
	g := &Guard{told: make(map[string]bool)}
	if opts != nil {
		g.opts = *opts
	}
	g.lock.Store(lock)
	return g
}

// Lock returns the lock that counts now.
func (g *Guard) Lock() *Lock { return g.lock.Load() }

// Replace makes another lock count, from the next request on. Clients are told
// that lists have changed.
func (g *Guard) Replace(lock *Lock) {
	g.lock.Store(lock)
	g.watchers.Tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
}

// Admit returns why nothing of a source may be offered, whatever it says of itself:
// the lock does not know it, or knows another that is started or reached in another
// way. Then there is no need to start it. Whoever gets the error says so; it is not
// told. With the policy [Warn] it is, and the result is nil.
func (g *Guard) Admit(source, origin string) error {
	d := g.stranger(g.Lock(), source, origin)
	if d == nil {
		return nil
	}
	if g.opts.Policy == Warn {
		g.tell(*d)
		return nil
	}
	g.note(*d)
	return &StrangerError{*d}
}

// stranger returns in what a source is not the one that is locked.
func (g *Guard) stranger(lock *Lock, source, origin string) *Drift {
	locked := lock.Sources[source]
	if locked == nil {
		return &Drift{Source: source, Item: Item{Kind: Whole}, Is: &Pin{Digest: origin}}
	}
	d := &Drift{Source: source, Item: Item{Kind: Origin}}
	if was, ok := locked.Items[d.Item]; ok {
		d.Was = &was
	}
	if origin != "" {
		d.Is = &Pin{Digest: origin}
	}
	if d.Was == nil && d.Is == nil || d.Was != nil && d.Is != nil && d.Was.Digest == d.Is.Digest {
		return nil
	}
	if d.Is == nil {
		d.Is = &Pin{} // it has none, and is not what was approved all the same
	}
	return d
}

// tell tells of a drift, unless that was done.
func (g *Guard) tell(d Drift) {
	if g.note(d) && g.opts.Tell != nil {
		g.opts.Tell(d)
	}
}

// note remembers that somebody knows of a drift, and reports whether that is new.
func (g *Guard) note(d Drift) bool {
	key := d.Source + "\n" + d.Item.String() + "\n"
	if d.Is != nil {
		key += d.Is.Digest + string(d.Is.Definition)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told[key] || len(g.told) >= maxTold {
		return false
	}
	g.told[key] = true
	return true
}

// maxTold bounds what is told of servers that change all the time.
const maxTold = 10_000

// Watch calls replaced each time that another lock counts. stop waits for a call that
// is under way, so replaced must not call it; afterwards it is not called any more.
func (g *Guard) Watch(replaced func()) (stop func()) {
	return g.watchers.Watch(func(mcp.Change) { replaced() })
}

// StrangerError is why nothing of a source is offered.
type StrangerError struct{ Drift Drift }

// Error implements the error interface.
func (e *StrangerError) Error() string {
	return fmt.Sprintf("refused by %s: %s", LockFile, e.Drift)
}
