package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBundleGuides pastes the guides of docs/mcpb.md into a shell, with a real server
// from npm, and checks the answer of the resulting bundle.
func TestBundleGuides(t *testing.T) {
	text, err := os.ReadFile("../docs/mcpb.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // in the last lines of the guide
		"node":   `(?s)self-signed.*Allowed directories:\n/tmp`,
		"python": `(?s)self-signed.*\n[0-9]+\n$`,
		"go":     `(?s)self-signed.*weather 1\.0\.0\n.*get_weather`,
	}
	guides := regexp.MustCompile("(?s)<!-- guide: (\\w+) -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(guides) != len(want) {
		t.Fatalf("%d guides, want %d", len(guides), len(want))
	}
	for _, guide := range guides {
		t.Run(guide[1], func(t *testing.T) {
			t.Parallel()
			out := pasted(t, guide[2])
			if !regexp.MustCompile(want[guide[1]]).MatchString(out) {
				t.Errorf("no %s in\n%s", want[guide[1]], out)
			}
		})
	}
}

// pasted runs shell commands in an empty folder, with slipway on the PATH and separate caches but that of the Go
// toolchain, and returns what a terminal would show.
func pasted(t *testing.T, lines string) string {
	t.Helper()
	source, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", tools).Run() }) // unpacked bundles are read-only
	if err := os.Symlink(slipway, filepath.Join(tools, "slipway")); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", lines)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "PATH="+strings.Join([]string{tools,
		filepath.Join(os.Getenv("SLIPWAY_INTEROP_TOOLS"), "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)),
		"SLIPWAY_SOURCE="+source, "XDG_CACHE_HOME="+filepath.Join(tools, "cache"),
		"GOCACHE="+strings.TrimSpace(string(compiled)))
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
