package open

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// forcedCollections returns the number of garbage collections that were forced.
func forcedCollections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestMemoryAfterBuild verifies that a build returns memory to the system, which forces a garbage collection, but not
// in a program that sets the percentage of the garbage collector.
func TestMemoryAfterBuild(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, tt := range []struct {
		name, variable string
		before, during int // percentages, 0 for none
		want           uint64
	}{
		{name: "default", before: 100, want: 1},
		{name: "GOGC", variable: "100", before: 100},
		{name: "program", before: 200},
		{name: "program, later", before: 100, during: 150},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GOGC", tt.variable)
			debug.SetGCPercent(tt.before)
			before := forcedCollections()
			err := frugally(func() error {
				if tt.during != 0 {
					debug.SetGCPercent(tt.during)
				}
				return nil
			})
			if got := forcedCollections() - before; got != tt.want || err != nil {
				t.Errorf("%d collections, error %v; want %d", got, err, tt.want)
			}
		})
	}
}
