package sitelint_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// The archives in testdata/fix are sites before and after a repair. The files below
// after/ are all the files expected afterwards; "repairs" lists the repairs made, and
// "left" the rules of the remaining findings.
func TestFix(t *testing.T) {
	archives, err := filepath.Glob("testdata/fix/*.txtar")
	if err != nil || len(archives) < 3 {
		t.Fatalf("found %d archives, error %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := unpackBefore(t, archive)
			before := fileTexts(t, dir)
			opts := &sitelint.FixOptions{DryRun: true, Check: &sitelint.Options{Name: "site/"}}
			planned, _, err := sitelint.Fix(t.Context(), dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, fileTexts(t, dir)); diff != "" {
				t.Fatalf("a dry run changes files:\n%s", diff)
			}
			opts.DryRun = false
			repairs, report, err := sitelint.Fix(t.Context(), dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range planned {
				if !slices.Contains(repairs, r) {
					t.Errorf("the dry run says %v, which is not done", r)
				}
			}
			var done strings.Builder
			for _, r := range repairs {
				done.WriteString(r.File + ": " + r.Does + "\n")
			}
			got := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				if !strings.HasPrefix(f.Name, "after/") && f.Name != "repairs" && f.Name != "left" {
					got.Files = append(got.Files, f)
				}
			}
			after := fileTexts(t, dir)
			for _, path := range sortedKeys(after) {
				got.Files = append(got.Files, txtar.File{Name: "after/" + path, Data: []byte(after[path])})
			}
			got.Files = append(got.Files, txtar.File{Name: "repairs", Data: []byte(done.String())},
				txtar.File{Name: "left", Data: []byte(rules(report) + "\n")})
			if *updateChecks {
				if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); diff != "" {
				t.Errorf("Fix (- want, + got):\n%s", diff)
			}
			again, _, err := sitelint.Fix(t.Context(), dir, opts)
			if err != nil || len(again) > 0 {
				t.Errorf("a second time it repairs %v, error %v", again, err)
			}
		})
	}
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// unpackBefore writes the files of an archive from before the repair.
func unpackBefore(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "after/") || f.Name == "repairs" || f.Name == "left" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(f.Data, []byte("BOM"), []byte("\xef\xbb\xbf")), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fileTexts returns the files below dir.
func fileTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		texts[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestFixKeepsWhatItFinds verifies that a repair neither changes a file's permissions nor
// writes through a link that leads elsewhere.
func TestFixKeepsWhatItFinds(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, small()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "resources", "a.json")
	outside := filepath.Join(t.TempDir(), "outside.json")
	for _, name := range []string{file, outside} {
		if err := errors.Join(os.WriteFile(name, []byte(`{"text":"a"}`), 0o600), os.Chmod(name, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "resources", "b.json")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	if _, _, err := sitelint.Fix(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if want := `{"mimeType":"text/plain","uri":"x://a","text":"a"}`; err != nil || string(text) != want {
		t.Errorf("the file is %s, %v, want %s", text, err, want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != `{"text":"a"}` {
		t.Errorf("the file outside is %s, %v", text, err)
	}
}
