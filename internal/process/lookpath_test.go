package process_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-mcp/slipway/internal/process"
)

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	names := []string{"npx", "npx.cmd", "node.exe", "python3.11.exe", "script.js", "tool.bin", "both.exe", "both.cmd"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "notes"), nil, 0o644),
		os.Mkdir(filepath.Join(dir, "folder"), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, test := range map[string]struct{ goos, pathext, command, want string }{
		"extension":              {"windows", "", "node", "node.exe"},
		"shell script beside it": {"windows", "", "npx", "npx.cmd"},
		"dot in the name":        {"windows", "", "python3.11", "python3.11.exe"},
		"complete name":          {"windows", "", "npx.cmd", "npx.cmd"},
		"order of PATHEXT":       {"windows", ".CMD;.EXE", "both", "both.cmd"},
		"usual order":            {"windows", "", "both", "both.exe"},
		"a script of PATHEXT":    {"windows", ".EXE;.JS", "script", ""},
		"only scripts":           {"windows", ".JS", "node", "node.exe"},
		"any file by its path":   {"windows", "", "./tool.bin", "./tool.bin"},
		"path and extension":     {"windows", "", "./node", "./node.exe"},
		"Unix":                   {"linux", "", "npx", "npx"},
		"Unix, no extension":     {"linux", "", "node", ""},
		"not executable":         {"linux", "", "notes", ""},
		"folder":                 {"linux", "", "./folder", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.goos != "windows" && os.PathSeparator == '\\' {
				t.Skip("files have no mode here")
			}
			got, err := process.LookPath(test.command, test.goos, func(name string) (string, bool) {
				return map[string]string{"PATH": dir, "PATHEXT": test.pathext}[name], true
			})
			want := test.want
			if want != "" && want[0] != '.' {
				want = filepath.Join(dir, want)
			}
			var missing *process.MissingError
			if got != want || (want == "") != (errors.As(err, &missing) && errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("LookPath(%q) = %q, %v, want %q", test.command, got, err, want)
			}
		})
	}
}

// A program in the current folder must not be started for a name.
func TestLookPathSkipsCurrentFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npx.exe"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, path := range []string{"", ".", string(filepath.ListSeparator)} {
		got, err := process.LookPath("npx", "windows", func(name string) (string, bool) {
			return map[string]string{"PATH": path}[name], true
		})
		if err == nil {
			t.Errorf("PATH %q: found %s", path, got)
		}
	}
}
