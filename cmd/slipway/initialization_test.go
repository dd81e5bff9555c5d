package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestInitialization limits what packages allocate before main, which every start pays for. The
// bounds are 100 KB and 250 KB above what the largest package, and all of them, need.
func TestInitialization(t *testing.T) {
	const most, mostInAll = 250_000, 1_500_000
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	program := &exec.Cmd{
		Path:   self,
		Args:   []string{"slipway", "version"},
		Env:    append(os.Environ(), "GODEBUG=inittrace=1"),
		Stderr: &stderr,
	}
	if err := program.Run(); err != nil {
		t.Fatal(err)
	}
	var sum, packages int
	for line := range strings.Lines(stderr.String()) {
		// init PACKAGE @0.5 ms, 0.1 ms clock, 2776 bytes, 4 allocs
		fields := strings.Fields(line)
		if len(fields) != 11 || fields[0] != "init" || fields[8] != "bytes," {
			continue
		}
		bytes, err := strconv.Atoi(fields[7])
		if err != nil {
			t.Fatal(err)
		}
		if bytes > most {
			t.Errorf("%s allocates %d bytes before main, want at most %d", fields[1], bytes, most)
		}
		sum += bytes
		packages++
	}
	if packages < 50 {
		t.Fatalf("%d packages are traced:\n%s", packages, stderr.String())
	}
	if sum > mostInAll {
		t.Errorf("%d packages allocate %d bytes before main, want at most %d", packages, sum, mostInAll)
	}
	t.Logf("%d packages allocate %d bytes", packages, sum)
}
