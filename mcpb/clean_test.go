package mcpb_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// dirty writes a packed bundle with a small manifest and the given files.
func dirty(t *testing.T, files map[string]string, replace ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.mcpb")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, name := range slices.Sorted(maps.Keys(bundleOf(files, replace...))) {
		e, err := w.Create(name)
		if err == nil {
			_, err = e.Write(bundleOf(files, replace...)[name].Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func modules() map[string]string {
	return map[string]string{
		"package.json":                    `{"dependencies": {"a": "1"}, "devDependencies": {"dev": "1"}}`,
		"node_modules/a/package.json":     `{"name": "a", "dependencies": {"b": "1"}}`,
		"node_modules/a/index.js":         "a",
		"node_modules/b/package.json":     `{"name": "b"}`,
		"node_modules/dev/package.json":   `{"name": "dev"}`,
		"node_modules/dev/lib/x.js":       "12345",
		"node_modules/@me/x/package.json": `{"name": "@me/x"}`,
		"debug.log":                       "1234",
	}
}

func TestClean(t *testing.T) {
	name := dirty(t, modules(), `"author":`, `"scripts": {}, "displayName": "N", "author":`)
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dry, err := mcpb.Clean(t.Context(), name, &mcpb.CleanOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(name); string(now) != string(before) {
		t.Error("a dry run changed the bundle")
	}
	r, err := mcpb.Clean(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dry.Removed, r.Removed); diff != "" || dry.After != r.After || dry.Before != int64(len(before)) {
		t.Errorf("a dry run says something else: %s", diff)
	}
	var removed []string
	for _, f := range r.Removed {
		removed = append(removed, fmt.Sprintf("%s %d %d", f.Name, f.Files, f.Bytes))
		if f.Reason == "" {
			t.Errorf("%s without a reason", f.Name)
		}
	}
	slices.Sort(removed)
	if want := []string{
		"debug.log 1 4",
		"node_modules/@me/x 1 17",
		"node_modules/dev 2 20",
	}; !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
	var about []string
	for _, f := range r.Repairs {
		about = append(about, f.About)
	}
	if want := []string{
		`removed the unknown field "scripts"`,
		`renamed "displayName" to "display_name"`,
	}; !slices.Equal(about, want) {
		t.Errorf("repairs %q, want %q", about, want)
	}
	info, err := mcpb.ReadInfo(t.Context(), name, nil)
	if err != nil || info.Files != 6 || info.Title != "N" {
		t.Errorf("got %d files, %v, %v", info.Files, info, err)
	}
	again, err := mcpb.Clean(t.Context(), name, nil)
	if err != nil || again.Changed || again.Archive != "" || again.Before != again.After {
		t.Errorf("a second time: %+v, %v", again, err)
	}
}

func TestCleanKeeps(t *testing.T) {
	t.Run("what is still invalid", func(t *testing.T) {
		name := dirty(t, modules(), `"1.0.0"`, `1`)
		before, _ := os.ReadFile(name)
		r, err := mcpb.Clean(t.Context(), name, nil)
		var invalid *mcpb.InvalidError
		if !errors.As(err, &invalid) || r.Archive != "" {
			t.Fatalf("got %v", err)
		}
		if got := ruletest.Findings(invalid.Report)[0]; got.File != name+"!manifest.json" || got.Rule.ID != "mcpb/type" {
			t.Errorf("got %v", got)
		}
		if now, _ := os.ReadFile(name); string(now) != string(before) {
			t.Error("the bundle was changed")
		}
	})
	t.Run("what is there", func(t *testing.T) {
		name := dirty(t, modules())
		if _, err := mcpb.Clean(t.Context(), name, &mcpb.CleanOptions{Out: name}); !errors.Is(err, os.ErrExist) {
			t.Errorf("got %v, want that it exists", err)
		}
	})
	t.Run("packages that nothing lists", func(t *testing.T) {
		files := modules()
		delete(files, "package.json")
		delete(files, "debug.log")
		r, err := mcpb.Clean(t.Context(), dirty(t, files), nil)
		if err != nil || r.Changed {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("a signature", func(t *testing.T) {
		name := dirty(t, nil)
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("MCPB_SIG_V1" + "\x03\x00\x00\x00abc" + "MCPB_SIG_END")
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := mcpb.Clean(t.Context(), name, nil); !errors.Is(err, mcpb.ErrSigned) {
			t.Fatalf("got %v, want that it is signed", err)
		}
		r, err := mcpb.Clean(t.Context(), name, &mcpb.CleanOptions{DropSignature: true})
		if err != nil || !r.Changed || !r.DroppedSignature {
			t.Errorf("got %+v, %v", r, err)
		}
		if now, _ := os.ReadFile(name); strings.Contains(string(now), "MCPB_SIG") {
			t.Error("the signature is still there")
		}
	})
}
