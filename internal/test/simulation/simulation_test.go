package simulation_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/simulation"
)

var (
	seeds     = flag.Int("seeds", 0, "how many seeds to simulate; 0 means 10, or 2 with the race detector")
	firstSeed = flag.Uint64("first", 1, "the first seed")
	oneSeed   = flag.Uint64("seed", 0, "simulate this seed alone, and write its trace to a file")
	faulty    = flag.Duration("faulty", 20*time.Second, "how long faults occur in a run, in virtual time")
)

// TestMain runs one goroutine at a time, so that a seed is replayed exactly.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	if !race.Enabled { // it needs much more memory
		debug.SetGCPercent(-1) // between runs only: when pools are emptied depends on the machine
		debug.SetMemoryLimit(2 << 30)
	}
	m.Run()
}

// simulate runs one seed in a bubble.
func simulate(t *testing.T, seed uint64, opts *simulation.Options) (report *simulation.Report) {
	t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
		setRandom(seed)
		cryptotest.SetGlobalRandom(t, seed)
		synctest.Test(t, func(t *testing.T) {
			report = simulation.Run(seed, opts)
			if *oneSeed != 0 { // here, because a goroutine that is left ends the program
				writeTrace(t, seed, report)
			}
		})
		runtime.GC()
		for i, v := range report.Violations {
			if i == 10 {
				t.Errorf("and %d more", len(report.Violations)-i)
				break
			}
			t.Error(v)
		}
		if len(report.Violations) > 0 {
			t.Errorf("trace %s; to replay: scripts/simulate --seed %d --faulty %v",
				report.Hash, seed, *faulty)
		}
	})
	return report
}

// writeTrace writes a trace to a file, for a reader.
func writeTrace(t *testing.T, seed uint64, r *simulation.Report) {
	t.Helper()
	file := filepath.Join(os.TempDir(), fmt.Sprintf("simulation-%d.trace", seed))
	if err := os.WriteFile(file, []byte(r.Trace), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("trace %s in %s", r.Hash, file)
}

// hasCallers reports whether callers have a process each with a seed: one of three.
func hasCallers(seed uint64) bool { return seed%3 == 0 }

// TestSeeds simulates clusters with faults.
func TestSeeds(t *testing.T) {
	opts := &simulation.Options{Faulty: *faulty}
	if *oneSeed != 0 {
		opts.Callers = hasCallers(*oneSeed)
		logCounts(t, countsOf(simulate(t, *oneSeed, opts)))
		return
	}
	n := *seeds
	if n == 0 && race.Short() {
		n = 2
	} else if n == 0 {
		n = 10
	}
	sums := make(map[string]int)
	for i := range n {
		opts.Callers = hasCallers(*firstSeed + uint64(i))
		r := simulate(t, *firstSeed+uint64(i), opts)
		if r == nil {
			return
		}
		for name, n := range countsOf(r) {
			sums[name] += n
		}
	}
	logCounts(t, sums)
}

// countsOf returns what happened in a run, by name.
func countsOf(r *simulation.Report) map[string]int {
	all := make(map[string]int)
	for what, counts := range map[string]map[string]int{
		"calls": r.Calls, "faults": r.Faults, "calls during": r.Outcomes,
	} {
		for name, n := range counts {
			all[what+": "+name] += n
		}
	}
	all["virtual seconds"] = int(r.Virtual.Seconds())
	return all
}

// logCounts prints counts in a form that scripts/simulate sums up.
func logCounts(t *testing.T, counts map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("COUNT %d %s", counts[name], name)
	}
}

// TestWithoutFaults simulates the load alone: no call fails.
func TestWithoutFaults(t *testing.T) {
	for _, callers := range []bool{false, true} {
		r := simulate(t, 1, &simulation.Options{
			Callers:  callers,
			NoFaults: true,
		})
		if r == nil {
			return // another test was asked for
		}
		if r.Calls["answered"] < 50 || len(r.Calls) != 1 {
			t.Errorf("callers %v: %v, want only answered calls", callers, r.Calls)
		}
	}
}
