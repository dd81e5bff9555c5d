package simulation

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// world is everything in a run.
type world struct {
	seed     uint64
	opts     Options
	began    time.Time
	network  *network
	engine   *cluster.Memory
	trace    *trace
	journal  *journal
	machines []*machine
	balancer *balancer
	history  history

	mu         sync.Mutex
	faults     []*fault
	processes  []*process
	violations []string
}

// Report is the outcome of a run.
type Report struct {
	// Violations are the invariants that did not hold.
	Violations []string
	// Trace is what happened, and Hash identifies it.
	Trace, Hash string
	// Calls counts the calls by outcome, Faults the faults by kind, and Outcomes the calls during
	// each kind of fault by outcome, as "kind: outcome".
	Calls, Faults, Outcomes map[string]int
	// Moved is how often another replica continued a session.
	Moved int
	// Virtual is how long the run took inside.
	Virtual time.Duration
}

// The phases of a run.
const (
	warmUp = 2 * time.Second
	// settle is how long after the last fault calls may still fail: leases of 4 seconds end, and
	// others begin.
	settle = 9 * time.Second
	// rest is how long nothing may fail after that.
	rest = 2 * time.Second
)

// Run simulates a cluster. It must be called in a bubble of testing/synctest.
func Run(seed uint64, opts *Options) *Report {
	w := newWorld(seed, opts)
	for _, m := range w.machines {
		if err := m.start(); err != nil {
			w.violate("start of %s: %v", m.name, err)
			return w.report()
		}
		time.Sleep(37 * time.Millisecond) // so that their timers differ
	}
	ctx, stop := context.WithCancel(context.Background())
	var load sync.WaitGroup
	changing, unchanged := context.WithCancel(ctx)
	users := w.startLoad(ctx, &load)
	load.Go(func() { w.reportChanges(changing, "changes") })
	time.Sleep(warmUp)
	if !w.opts.NoFaults {
		w.runFaults()
	}
	unchanged() // what is lost now is not hidden by a later change
	time.Sleep(settle)
	calm := time.Since(w.began)
	changing, unchanged = context.WithCancel(ctx)
	load.Go(func() { w.reportChanges(changing, "changes afterwards") })
	time.Sleep(rest / 2)
	unchanged()
	time.Sleep(rest / 2) // clients are notified of the last change
	stop()
	load.Wait()
	w.checkAtRest(users, calm)
	w.shutDown()
	w.check(calm)
	return w.report()
}

// newWorld returns a world of machines that are not started yet.
func newWorld(seed uint64, opts *Options) *world {
	w := &world{
		seed:    seed,
		network: newNetwork(seed),
		engine:  cluster.NewMemory(),
		began:   time.Now(),
	}
	if opts != nil {
		w.opts = *opts
	}
	if w.opts.Replicas == 0 {
		w.opts.Replicas = 3
	}
	if w.opts.Faulty == 0 {
		w.opts.Faulty = 20 * time.Second
	}
	w.trace = &trace{began: w.began}
	w.journal = &journal{
		trace: w.trace,
		ran:   make(map[string][]string),
	}
	for i := range w.opts.Replicas {
		w.machines = append(w.machines, &machine{
			world: w,
			name:  string(rune('a' + i)),
			addr:  netip.AddrFrom4([4]byte{127, 0, 0, byte(11 + i)}),
		})
	}
	w.balancer = newBalancer(w)
	return w
}

// shutDown stops everything that runs.
func (w *world) shutDown() {
	var stopping sync.WaitGroup
	for _, m := range w.machines {
		stopping.Go(m.shutDown)
	}
	stopping.Wait()
	w.network.stop()
	w.mu.Lock()
	all := w.processes
	w.mu.Unlock()
	for _, p := range all {
		<-p.ended
	}
}

// violate records that an invariant did not hold.
func (w *world) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.trace.add("VIOLATION %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, text)
}

// report returns what happened, with the hash that a replay must reproduce.
func (w *world) report() *Report {
	r := &Report{
		Violations: w.violations,
		Trace:      w.trace.String(),
		Hash:       w.trace.hash(),
		Calls:      make(map[string]int),
		Faults:     make(map[string]int),
		Outcomes:   make(map[string]int),
		Virtual:    time.Since(w.began),
	}
	for _, f := range w.faults {
		r.Faults[f.kind]++
	}
	for _, c := range w.history.all() {
		r.Calls[c.outcome()]++
		for _, f := range w.faults {
			if f.during(c.began, c.ended) {
				r.Outcomes[f.kind+": "+c.outcome()]++
			}
		}
	}
	return r
}
