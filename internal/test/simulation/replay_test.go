//go:build replay

package simulation_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname
)

// setRandom sets the random numbers of the runtime, which scripts/simulate replaces by ones that
// depend on the seed: the order of maps, of channels that are ready, and of timers that fire together.
//
//go:linkname setRandom runtime.setSimulationRandom
func setRandom(seed uint64)

// TestReplay guards that a seed is replayed: two processes have the same trace. Pools and addresses
// depend on what a process did before, so each seed has a process of its own. Addresses, and so the order
// of some maps, also depend on how many threads a process had at its start, which is one more in some
// processes: two of four must agree.
func TestReplay(t *testing.T) {
	n := *seeds
	if n == 0 {
		n = 10
	}
	deviating := 0
	for i := range n {
		seed := *firstSeed + uint64(i)
		traces := map[string]int{}
		for processes := 0; !replayed(traces); processes++ {
			if processes == 4 {
				t.Errorf("seed %d: four processes, and no two with the same trace", seed)
				break
			}
			traces[traceOf(t, seed)]++
		}
		deviating += len(traces) - 1
	}
	t.Logf("%d processes deviated from the trace of their seed, of %d seeds", deviating, n)
}

// replayed reports whether two processes had the same trace.
func replayed(traces map[string]int) bool {
	return slices.Contains(slices.Collect(maps.Values(traces)), 2)
}

// traceOf runs a seed in another process, and returns the hash of its trace. The output is in a file, because this
// process cannot read a pipe while it waits: scripts/simulate lets system calls keep the only processor.
func traceOf(t *testing.T, seed uint64) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), "timeout", "--signal", "QUIT", "--kill-after", "10", "120",
		os.Args[0], "-test.run", "^TestSeeds$", "-test.v", "-seed", fmt.Sprint(seed), "-faulty", faulty.String())
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdout = out
	cmd.Stderr = out
	_ = cmd.Run() // a seed that fails is replayed too
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`trace ([0-9a-f]{16}) in`).FindSubmatch(printed)
	if match == nil {
		t.Fatalf("seed %d: %s", seed, printed)
	}
	return string(match[1])
}
