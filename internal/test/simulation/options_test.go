package simulation

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Options configure a run. The zero value means the defaults.
type Options struct {
	// Replicas is how many machines there are; 0 means 3.
	Replicas int
	// Faulty is how long faults occur; 0 means 20 seconds. Afterwards everything is repaired,
	// and must be idle within a few seconds.
	Faulty time.Duration
	// Callers gives each caller a process of its own, in the whole cluster.
	Callers bool
	// NoFaults runs the load alone.
	NoFaults bool
}

// stream returns random numbers for one purpose, so that what one part of a simulation draws
// does not depend on the others.
func stream(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// between returns a duration of [low, high).
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}
