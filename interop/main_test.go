package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// slipway is the path of the binary under test. TestMain sets it before any test starts;
// it does not change afterwards.
var slipway string

func TestMain(m *testing.M) {
	if tap := os.Getenv(tapVariable); tap != "" {
		os.Exit(runTap(tap, os.Args[1:]))
	}
	if kind := os.Getenv(serverVariable); kind != "" {
		os.Exit(runServer(kind))
	}
	os.Exit(runTests(m))
}

// runTests builds the binary in a temporary folder and runs the tests. If
// SLIPWAY_INTEROP_BINARY is set, it tests that binary instead, which is how releases are
// checked.
func runTests(m *testing.M) int {
	if ready := os.Getenv("SLIPWAY_INTEROP_BINARY"); ready != "" {
		slipway = ready
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "slipway-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	slipway = filepath.Join(dir, "slipway")
	build := exec.Command("go", "build", "-trimpath", "-o", slipway, "./cmd/slipway")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "interop: build slipway: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
