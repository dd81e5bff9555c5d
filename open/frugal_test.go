package open

import (
	"errors"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// gcPercent returns the current percentage of the garbage collector.
func gcPercent() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// TestFrugally: a build changes the percentage of the garbage collector for its duration, unless the program or its
// user chose one.
func TestFrugally(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		variable              string
		before, during, after int
		set                   int // by the program during the build
	}{
		"default":        {before: 100, during: 36, after: 100},
		"GOGC":           {variable: "100", before: 100, during: 100, after: 100},
		"program":        {before: 200, during: 200, after: 200},
		"program, later": {before: 100, during: 36, set: 150, after: 150},
		"another build":  {before: 36, during: 36, after: 100},
		"first ends":     {before: 36, during: 36, set: 100, after: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.variable)
			debug.SetGCPercent(test.before)
			err := frugally(func() error {
				if got := gcPercent(); got != test.during {
					t.Errorf("%d %% during the build, want %d", got, test.during)
				}
				if test.set != 0 {
					debug.SetGCPercent(test.set)
				}
				return failed
			})
			if got := gcPercent(); got != test.after || !errors.Is(err, failed) {
				t.Errorf("%d %% after the build, error %v; want %d and that of the build", got, err, test.after)
			}
		})
	}
}
