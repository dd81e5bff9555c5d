package frugal_test

import (
	"errors"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/frugal"
)

// percent returns the current percentage of the garbage collector.
func percent() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// collected runs the garbage collector until the percentage is as wanted, and returns it.
func collected(wanted func(int) bool) int {
	for deadline := time.Now().Add(10 * time.Second); !wanted(percent()) && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return percent()
}

// TestGrowth: the heap grows by as much whatever its size.
func TestGrowth(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Setenv("GOGC", "")
	err := frugal.Run(16<<20, func() error {
		small := collected(func(now int) bool { return now == 400 })
		retained := make([]byte, 64<<20)
		large := collected(func(now int) bool { return now >= 15 && now <= 25 })
		runtime.KeepAlive(retained)
		if small != 400 || large < 15 || large > 25 {
			t.Errorf("%d %% with a small heap, %d with one of 64 MiB; want 400 and 15 to 25", small, large)
		}
		return nil
	})
	if now := percent(); now != 100 || err != nil {
		t.Errorf("%d %% after the work, error %v; want 100", now, err)
	}
}

// TestChoice: the percentage that the program or its user chose is left alone.
func TestChoice(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		variable      string
		before, after int
		set           int // by the program during the work
		changes       bool
	}{
		"default":        {before: 100, changes: true, after: 100},
		"GOGC":           {variable: "100", before: 100, after: 100},
		"program":        {before: 200, after: 200},
		"program, later": {before: 100, changes: true, set: 150, after: 150},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.variable)
			debug.SetGCPercent(test.before)
			err := frugal.Run(8<<20, func() error {
				if now := percent(); (now != test.before) != test.changes {
					t.Errorf("%d %% during the work, %d before", now, test.before)
				}
				if test.set != 0 {
					debug.SetGCPercent(test.set)
					runtime.GC()
					time.Sleep(10 * time.Millisecond) // until the collection is noticed
				}
				return failed
			})
			if now := percent(); now != test.after || !errors.Is(err, failed) {
				t.Errorf("%d %% after the work, error %v; want %d and that of the work", now, err, test.after)
			}
		})
	}
}

// TestTogether ensures that calls at a time leave the percentage as it was.
func TestTogether(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Setenv("GOGC", "")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 200 {
				_ = frugal.Run(16<<20, func() error { runtime.GC(); return nil })
			}
		})
	}
	calls.Wait()
	if now := percent(); now != 100 {
		t.Errorf("%d %% after all calls, want 100", now)
	}
}
