package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestApps opens the user interfaces of two servers in Chromium, in a host page
// around the official app-bridge: a fixture that does everything, and the
// example that people start from.
func TestApps(t *testing.T) {
	tools := nodeTools(t)
	chromium := findChromium(t)
	for _, served := range []struct {
		show, program string
		args          []string
	}{
		{"fixture", "./internal/conformance/apps", nil},
		{"weather", "./examples/weather", []string{"-http=127.0.0.1:0"}},
	} {
		t.Run(served.show, func(t *testing.T) {
			endpoint := start(t, build(t, served.program), served.args...)
			tools.run(t, "apps.mjs", object{"show": served.show, "endpoint": endpoint, "chromium": chromium, "profile": t.TempDir()})
		})
	}
}

// findChromium leaves the test out where there is no Chromium.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("SLIPWAY_INTEROP_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("needs Chromium: run scripts/interop, which installs Debian's where it may")
	return ""
}

// build builds a program of the repository and returns the path of its binary.
func build(t *testing.T, program string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(program))
	cmd := exec.Command("go", "build", "-o", binary, program)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	return binary
}
