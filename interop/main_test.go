package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// slipway is the path of the binary under test. TestMain sets it before any
// test starts, and nothing changes it afterwards.
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

// runTests builds the binary into a folder of its own and runs the tests.
// SLIPWAY_INTEROP_BINARY names a finished binary to test instead, which is how
// a release is checked.
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
	build := exec.Command("go", "build", "-o", slipway, "./cmd/slipway")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "interop: build slipway: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
