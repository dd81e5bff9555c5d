package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// goTool runs the go command in a folder of the module, and returns what it prints.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// withoutInspect replaces inspect.go. What other commands use must be in other files.
const withoutInspect = `package main

import "github.com/spf13/cobra"

func newInspect() *cobra.Command { return &cobra.Command{Use: "inspect"} }
`

// TestSizeOfInspect builds the command with and without slipway inspect. The difference is the
// page, axe-core, the host for apps, and the code of package inspect: see decision 93.
func TestSizeOfInspect(t *testing.T) {
	if os.Getenv("CI") == "" || race.Short() {
		t.Skip("builds the command twice: set CI=true")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the size is that of linux/amd64")
	}
	t.Setenv("CGO_ENABLED", "0") // as in releases
	dir := t.TempDir()
	file, err := filepath.Abs("inspect.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{file: filepath.Join(dir, "inspect.go")}})
	for name, text := range map[string]string{"inspect.go": withoutInspect, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	size := func(name string, flags ...string) int64 {
		out := filepath.Join(dir, name)
		goTool(t, slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out}, flags)...)
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	with, without := size("with"), size("without", "-overlay", filepath.Join(dir, "overlay.json"))
	t.Logf("%d bytes of %d", with-without, with)
	if grows := with - without; grows < 100_000 || grows > 800_000 {
		t.Errorf("slipway inspect adds %d bytes to the binary, want at most 800,000", grows)
	}
}

// TestServeDoesNotContainInspect verifies that a program of serve.Main has neither the page nor
// axe-core.
func TestServeDoesNotContainInspect(t *testing.T) {
	const module = "github.com/slipway-mcp/slipway/"
	// The second program is one with a user interface, the third one shows that the test can fail.
	for program, contains := range map[string]bool{"serve": false, "examples/weather": false, "cmd/slipway": true} {
		deps := strings.Fields(goTool(t, "list", "-deps", module+program))
		for _, name := range []string{"inspect", "internal/axe"} {
			if got := slices.Contains(deps, module+name); got != contains {
				t.Errorf("%s imports %s: %t, want %t", program, name, got, contains)
			}
		}
	}
}
