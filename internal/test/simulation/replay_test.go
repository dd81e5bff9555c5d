//go:build replay

package simulation_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	_ "unsafe" // for go:linkname
)

// setRandom sets the random numbers of the runtime, which scripts/simulate replaces by ones that
// depend on the seed: the order of maps, of channels that are ready, and of timers that fire together.
//
//go:linkname setRandom runtime.setSimulationRandom
func setRandom(seed uint64)

// TestReplay guards that a seed is replayed: two processes have the same trace. Pools and addresses
// depend on what a process did before, so each seed has a process of its own.
func TestReplay(t *testing.T) {
	n := *seeds
	if n == 0 {
		n = 10
	}
	same := 0
	for i := range n {
		seed := *firstSeed + uint64(i)
		first, second := traceOf(t, seed), traceOf(t, seed)
		if first == second {
			same++
		} else {
			t.Logf("seed %d: traces %s and %s", seed, first, second)
		}
	}
	t.Logf("%d of %d seeds were replayed exactly", same, n)
	if same*10 < n*9 {
		t.Error("want nine of ten")
	}
}

// traceOf runs a seed in another process, and returns the hash of its trace.
func traceOf(t *testing.T, seed uint64) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSeeds$", "-test.v",
		"-seed", fmt.Sprint(seed), "-faulty", faulty.String())
	out, _ := cmd.CombinedOutput() // a seed that fails is replayed too
	match := regexp.MustCompile(`trace ([0-9a-f]{16}) in`).FindSubmatch(out)
	if match == nil {
		t.Fatalf("seed %d: %s", seed, out)
	}
	return string(match[1])
}
