package fuzzbound

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// TestSuperlinear distinguishes linear from quadratic time and memory. The search of the
// standard library costs the same with and without the race detector.
func TestSuperlinear(t *testing.T) {
	race.SkipLong(t)
	var sink int
	var kept [][]byte
	tests := []struct {
		name  string
		parse func(text string)
		want  string
	}{
		{"linear", func(text string) {
			for range 2000 {
				sink += strings.LastIndexByte(text, 'b')
			}
		}, ""},
		{"quadratic time", func(text string) {
			for i := 0; i < len(text); i += 4 {
				sink += strings.LastIndexByte(text[i:], 'b')
			}
		}, "of CPU time"},
		{"quadratic memory", func(text string) {
			kept = nil
			for i := range len(text) {
				kept = append(kept, []byte(text[i:]))
			}
		}, "allocate"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := superlinear(func(n int) string { return strings.Repeat("a", n) }, measured(test.parse))
			if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestGrowth distinguishes costs by formula: a quadratic part is detected even if a
// linear part masks it at 24 KiB.
func TestGrowth(t *testing.T) {
	const perByte = 500 // nanoseconds
	square := func(factor float64) func(n float64) float64 {
		return func(n float64) float64 { return perByte*n + factor*n*n }
	}
	for _, test := range []struct {
		name string
		time func(n float64) float64 // nanoseconds
		want bool
	}{
		{"linear", square(0), false},
		{"far above the sizes", square(perByte / 1e6), false},
		{"equal at 16 KiB", square(perByte / 16e3), true},
		{"equal at 4 KiB", square(perByte / 4e3), true},
		{"equal at 400 B", square(perByte / 400), true},
		{"square alone", square(100 * perByte), true},
		{"linear, and three times as slow from 16 KiB on", func(n float64) float64 {
			if n > 16<<10 {
				n *= 3
			}
			return perByte * n
		}, false},
		{"square up to 64 KiB, and then refused", func(n float64) float64 {
			if n > 64<<10 {
				return perByte
			}
			return square(perByte / 1e3)(n)
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := superlinear(func(n int) string { return repeat("a", n) }, func(text string) cost {
				return cost{time: time.Duration(test.time(float64(len(text))))}
			})
			if (got != "") != test.want {
				t.Errorf("got %q, want a failure: %v", got, test.want)
			}
		})
	}
}

// TestEveryFuzzTest requires every fuzz test of the module to be bounded.
func TestEveryFuzzTest(t *testing.T) {
	names := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	count := 0
	err := filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() &&
			(d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "interop") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tests := names.FindAllStringSubmatch(string(text), -1)
		count += len(tests)
		if bounded := strings.Count(string(text), "fuzzbound.Fuzz(f, "); bounded < len(tests) {
			t.Errorf("%s: %d of %d fuzz tests call fuzzbound.Fuzz", path, bounded, len(tests))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		t.Error("no fuzz test found")
	}
}
