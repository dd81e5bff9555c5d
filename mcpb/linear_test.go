package mcpb_test

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcpb"
)

// pythonBundle returns a manifest with the arguments, of which the first are the interpreter's.
func pythonBundle(args string) string {
	return `{"manifest_version":"0.3","name":"n","version":"1.0.0","description":"d","author":{"name":"a"},` +
		`"server":{"type":"python","entry_point":"s.py","mcp_config":{"command":"python","args":[` + args + `"-"]}}}`
}

// TestLinear verifies that the time for a bundle grows with its size, and not with the square of the
// number of its arguments, tools or files, which its author chooses.
func TestLinear(t *testing.T) {
	race.SkipSlow(t)
	dir := t.TempDir()
	t.Run("arguments", func(t *testing.T) {
		fuzzbound.LinearFrom(t, 40_000, `"-",`, pythonBundle, func(text string) {
			m, err := mcpb.ParseManifest([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = mcpb.Expand(m, &mcpb.ExpandOptions{
				Dir:      dir,
				Platform: "linux",
				NoFiles:  true,
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("checked arguments", func(t *testing.T) {
		fuzzbound.LinearFrom(t, 40_000, `"-",`, pythonBundle, func(text string) {
			_, _, err := mcpb.Check(fstest.MapFS{"manifest.json": {Data: []byte(text)}}, nil)
			if err != nil {
				t.Error(err)
			}
		})
	})
	tools := func(text string) string {
		count := 0
		return strings.Replace(full, `"tools": [`, `"tools": [`+replaceEach(text, func() string {
			count++
			return fmt.Sprintf(`{"name":"t%d","description":"d"},`, count)
		}), 1)
	}
	translation := func(manifest string) fstest.MapFS {
		_, list, _ := strings.Cut(manifest, `"tools": [`)
		list, _, _ = strings.Cut(list, `], "tools_generated"`)
		return fstest.MapFS{
			"manifest.json": {Data: []byte(manifest)},
			"r/de.json":     {Data: []byte(`{"tools":[{"name":"x"},` + strings.ReplaceAll(list, `"t`, `"u`) + `]}`)},
		}
	}
	t.Run("translated tools", func(t *testing.T) {
		fuzzbound.LinearFrom(t, 4000, "_", tools, func(text string) {
			fsys := translation(text)
			m, err := mcpb.ReadManifest(fsys)
			if err != nil {
				t.Fatal(err)
			}
			if _, used := m.Localized(fsys, "de"); len(used) != 1 {
				t.Errorf("translations %v, want one", used)
			}
		})
	})
	t.Run("checked translations", func(t *testing.T) {
		fuzzbound.LinearFrom(t, 4000, "_", tools, func(text string) {
			if _, _, err := mcpb.Check(translation(text), nil); err != nil {
				t.Error(err)
			}
		})
	})
}

// replaceEach returns with() for each character of text.
func replaceEach(text string, with func() string) string {
	var b strings.Builder
	for range text {
		b.WriteString(with())
	}
	return b.String()
}

// TestCleanManyFiles verifies that the time to clean a bundle does not grow with the square of the number
// of files that are removed: 4,000 of them would be compared with each other.
func TestCleanManyFiles(t *testing.T) {
	race.SkipSlow(t)
	name := filepath.Join(t.TempDir(), "many.mcpb")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	write := func(name, text string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const files = 4000
	write("manifest.json", pythonBundle(""))
	write("s.py", "1\n")
	for i := range files {
		write(fmt.Sprintf("logs/%d.log", i), "")
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	fuzzbound.Check(t, files*100, func() {
		r, err := mcpb.Clean(t.Context(), name, &mcpb.CleanOptions{DryRun: true})
		if err != nil || len(r.Removed) != files {
			t.Errorf("%v, %+v", err, r)
		}
	})
}
