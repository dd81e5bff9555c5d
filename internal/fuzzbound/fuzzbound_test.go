package fuzzbound

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSuperlinear tells a linear cost from a square one, of time and of memory.
func TestSuperlinear(t *testing.T) {
	var sink int
	var kept [][]byte
	tests := []struct {
		name  string
		parse func(text string)
		want  string
	}{
		{"linear", func(text string) {
			for range 2000 {
				for _, c := range []byte(text) {
					sink += int(c)
				}
			}
		}, ""},
		{"quadratic time", func(text string) {
			for i := range len(text) {
				for _, c := range []byte(text[i:]) {
					sink += int(c)
				}
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
			got := superlinear(strings.Repeat("a", small), strings.Repeat("a", small*growth), test.parse)
			if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestEveryFuzzTest expects that each fuzz test of the module is bounded.
func TestEveryFuzzTest(t *testing.T) {
	names := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	count := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "interop") {
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
