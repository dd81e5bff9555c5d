package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/stax/clients"
)

func TestPlaceOf(t *testing.T) {
	for path, want := range map[string]place{
		"/usr/local/bin/slipway":            installed,
		"/home/ann/go/bin/slipway":          installed,
		"/home/ann/projects/uv/slipway":     installed,
		"/tmp/go-build123/b001/exe/slipway": temporary,
		"":                                  temporary,
		"/home/ann/.npm/_npx/0f3a/node_modules/@slipway-mcp/linux-x64/bin/slipway": npxCache,
		"/home/ann/.cache/uv/archive-v0/Xy/bin/slipway":                            uvCache,
		"/home/ann/.cache/uv/environments-v2/slipway-1/bin/slipway":                uvCache,
	} {
		if got := placeOf(path); got != want {
			t.Errorf("placeOf(%q) = %d, want %d", path, got, want)
		}
	}
}

// TestLauncher verifies that entries start a program that will exist tomorrow: the test
// binary is in a temporary folder, so the slipway in PATH is used if there is one, but not
// one that npx has put there.
func TestLauncher(t *testing.T) {
	if line, _ := launcher(clients.Project); strings.Join(line, " ") != "slipway" {
		t.Errorf("in a project: %q", line)
	}
	cache := filepath.Join(t.TempDir(), "_npx", "1", "node_modules", ".bin")
	bin := t.TempDir()
	for _, dir := range []string{cache, bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "slipway.exe"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "slipway"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", cache)
	line, warning := launcher(clients.User)
	if strings.Join(line, " ") != "slipway" || !strings.Contains(warning, "install it") {
		t.Errorf("without an installed program: %q, %q", line, warning)
	}
	t.Setenv("PATH", cache+string(os.PathListSeparator)+bin)
	if line, warning = launcher(clients.User); filepath.Dir(line[0]) != bin || warning != "" {
		t.Errorf("with one: %q, %q", line, warning)
	}
}

// TestPackageNames verifies that entries start the packages that releases publish.
func TestPackageNames(t *testing.T) {
	text, err := os.ReadFile("../../release/project.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"npmPackage": npmPackage, "pypiPackage": pypiPackage} {
		if !regexp.MustCompile(name + ` += "` + value + `"`).Match(text) {
			t.Errorf("release/project.go has another %s than %q", name, value)
		}
	}
}
