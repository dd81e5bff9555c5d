package staticmcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// siteDir writes the files of a small site with old modification times, so that only
// later writes are recent.
func siteDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, webFiles()); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// rewrite replaces a file the way editors do, at the given time.
func rewrite(t testing.TB, name, text string, at time.Time) {
	t.Helper()
	next := name + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(next, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, name); err != nil {
		t.Fatal(err)
	}
}

// record collects the changes reported by Watch.
type record struct {
	mu      sync.Mutex
	changes []mcp.Change
}

func (r *record) add(c mcp.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, c)
}

// take returns the changes since the last call.
func (r *record) take() []mcp.Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes := r.changes
	r.changes = nil
	return changes
}

// TestFolderChanges verifies that new content is noticed without a restart, within the
// time that a file is trusted and not before.
func TestFolderChanges(t *testing.T) {
	dir := siteDir(t)
	synctest.Test(t, func(t *testing.T) {
		site, err := staticmcp.OpenDir(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close()
		var changes record
		defer site.Watch(changes.add)()
		wantText(t, site, "a", "first")
		read := func() string { return readText(t, site, "r://a") }
		if got := read(); got != "first" {
			t.Errorf("r://a = %q, want first", got)
		}

		rewrite(t, filepath.Join(dir, "tools/get/a.json"), `{"content":[{"type":"text","text":"again"}]}`, time.Now())
		wantText(t, site, "a", "first")
		time.Sleep(1100 * time.Millisecond)
		wantText(t, site, "a", "again")

		// Same length and time: only the content differs.
		rewrite(t, filepath.Join(dir, "tools/get/a.json"), `{"content":[{"type":"text","text":"other"}]}`, time.Now())
		time.Sleep(1100 * time.Millisecond)
		wantText(t, site, "a", "other")
		rewrite(t, filepath.Join(dir, "tools/get/a.json"),
			`{"content":[{"type":"text","text":"third"}]}`, time.Now().Add(-1100*time.Millisecond))
		time.Sleep(1100 * time.Millisecond)
		wantText(t, site, "a", "third")

		// A file at the standard's path takes precedence over one elsewhere.
		rewrite(t, filepath.Join(dir, "tools/get/A B.json"), `{"content":[{"type":"text","text":"elsewhere"}]}`, time.Now())
		wantText(t, site, "A B", "elsewhere")
		rewrite(t, filepath.Join(dir, "tools/get/a_b.json"),
			`{"content":[{"type":"text","text":"in its place"}]}`, time.Now())
		time.Sleep(1100 * time.Millisecond)
		wantText(t, site, "A B", "in its place")

		// A resource that has been read is watched.
		synctest.Wait()
		changes.take()
		rewrite(t, filepath.Join(dir, "resources/a.json"),
			`{"uri":"r://a","mimeType":"text/plain","text":"again"}`, time.Now())
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		if got := changes.take(); len(got) != 1 || got[0].URI != "r://a" {
			t.Errorf("Watch told of %+v, want one change of r://a", got)
		}
		if got := read(); got != "again" {
			t.Errorf("r://a = %q, want again", got)
		}
		if err := os.Remove(filepath.Join(dir, "resources/a.json")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		if got := changes.take(); len(got) != 1 || got[0].URI != "r://a" {
			t.Errorf("Watch told of %+v, want one change of r://a, which is gone", got)
		}
	})
}

// TestFolderManifestChanges verifies that the lists follow the manifest, and that a
// half-written manifest changes nothing.
func TestFolderManifestChanges(t *testing.T) {
	dir := siteDir(t)
	synctest.Test(t, func(t *testing.T) {
		site, err := staticmcp.OpenDir(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close()
		var changes record
		defer site.Watch(changes.add)()
		name := filepath.Join(dir, "mcp.json")
		before, _ := site.Catalog(t.Context())
		for _, step := range []struct {
			what, text string
			want       []mcp.Change
		}{
			{"the same", webManifest, nil},
			{"other white space", strings.ReplaceAll(webManifest, "\n", " "), nil},
			{"half written", webManifest[:100], nil},
			{
				"a resource more",
				strings.Replace(webManifest, `"resources":[`, `"resources":[{"uri":"r://b","name":"b"},`, 1),
				[]mcp.Change{{Resources: true}},
			},
			{
				"another version of the server",
				strings.Replace(webManifest, `"version":"1"`, `"version":"2"`, 1),
				[]mcp.Change{{Resources: true}},
			},
			{
				"a prompt",
				strings.Replace(webManifest, `"resources":[`, `"prompts":[{"name":"p"}],"resources":[`, 1),
				[]mcp.Change{{Prompts: true}},
			},
			{"back", webManifest, []mcp.Change{{Prompts: true}}},
		} {
			rewrite(t, name, step.text, time.Now())
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			if got := changes.take(); fmt.Sprint(got) != fmt.Sprint(step.want) {
				t.Errorf("%s: Watch told of %+v, want %+v", step.what, got, step.want)
			}
		}
		after, _ := site.Catalog(t.Context())
		if before.Version() != after.Version() {
			t.Error("the same manifest gives another version of the catalog")
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		rewrite(t, filepath.Join(dir, "tools/another.json"), `{"content":[]}`, time.Now())
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		if now, _ := site.Catalog(t.Context()); now != after || len(changes.take()) != 0 {
			t.Error("a manifest that is gone for a moment empties the site")
		}
	})
}

// TestInferredFolderChanges verifies the same for a site without a manifest.
func TestInferredFolderChanges(t *testing.T) {
	dir := siteDir(t)
	if err := os.Remove(filepath.Join(dir, "mcp.json")); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		site, err := staticmcp.OpenDir(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close()
		if w := site.Warnings(); len(w) != 1 || !strings.Contains(w[0], "there is no mcp.json") {
			t.Errorf("warnings = %q, want one about the manifest", w)
		}
		var changes record
		defer site.Watch(changes.add)()
		if err := os.Mkdir(filepath.Join(dir, "tools/more"), 0o700); err != nil {
			t.Fatal(err)
		}
		rewrite(t, filepath.Join(dir, "tools/more/x.json"), `{"content":[]}`, time.Now())
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if got := changes.take(); len(got) != 1 || got[0] != (mcp.Change{Tools: true}) {
			t.Errorf("Watch told of %+v, want one change of the tools", got)
		}
		if now, _ := site.Catalog(t.Context()); now.Tool("more") == nil {
			t.Error("the new tool is not in the catalog")
		}
		rewrite(t, filepath.Join(dir, "mcp.json"), webManifest, time.Now())
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		got := changes.take()
		if now, _ := site.Catalog(t.Context()); now.Server.Name != "web" || len(got) != 1 {
			t.Errorf("after a manifest appeared the server is %q and Watch told of %+v", now.Server.Name, got)
		}
	})
}

// TestFolderEscapes verifies that nothing outside the folder is read.
func TestFolderEscapes(t *testing.T) {
	dir := siteDir(t)
	outside := t.TempDir()
	secret := `{"content":[{"type":"text","text":"secret"}]}`
	if err := os.WriteFile(filepath.Join(outside, "s.json"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"tools/get/file.json":     filepath.Join(outside, "s.json"),
		"tools/get/relative.json": "../../../" + filepath.Base(outside) + "/s.json",
		"tools/get/folder":        outside,
		"tools/get/fine.json":     "a.json",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	site, err := staticmcp.OpenDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	wantText(t, site, "fine", "first")
	for _, x := range []string{
		"file", "relative", "folder/s", "folder/s.json",
		"../../" + filepath.Base(outside) + "/s", filepath.Join(outside, "s"),
		"..", ".", "/", "/etc/passwd", `..\..\s`, `C:\s`, "%2e%2e%2fs", "a\x00", "a/../../../mcp", "CON", "a.json:stream",
	} {
		got, err := callText(t, site, x)
		if got != "miss" && err == nil {
			t.Errorf("get(%q) = %q, want a miss", x, got)
		}
		if err != nil && (strings.Contains(err.Error(), outside) || strings.Contains(err.Error(), dir)) {
			t.Errorf("get(%q): the error %q names a path", x, err)
		}
	}
	for _, uri := range []string{
		"file://../mcp", "file:///etc/passwd", "x://../../mcp", `x://..\mcp`, "x://%2e%2e/mcp",
		"../mcp", "x://.", "x://",
	} {
		var e *mcp.Error
		if _, err := site.ReadResource(t.Context(),
			&mcp.ReadResourceParams{URI: uri}); !errors.As(err, &e) || e.Code != mcp.CodeResourceNotFound {
			t.Errorf("read(%q) = %v, want not found", uri, err)
		}
	}
}

// TestNoRegularFile verifies that the site does not block on special files.
func TestNoRegularFile(t *testing.T) {
	dir := siteDir(t)
	if err := os.Mkdir(filepath.Join(dir, "tools/get/folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := makePipe(filepath.Join(dir, "tools/get/pipe.json")); err != nil {
		t.Log(err)
	}
	site, err := staticmcp.OpenDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	wantText(t, site, "folder", "miss")
	wantText(t, site, "pipe", "miss")
	wantText(t, site, "a/under/a/file", "miss")
	wantText(t, site, strings.Repeat("x", 5000), "miss")
}

func TestFolderErrors(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "x.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir  string
		opts *staticmcp.Options
		want string
	}{
		"not there":     {filepath.Join(empty, "nothing"), nil, "no such file"},
		"a file":        {file, nil, "not a directory"},
		"no site":       {empty, nil, "neither mcp.json nor a file in tools/ or resources/"},
		"strict":        {empty, &staticmcp.Options{Strict: true}, "there is no mcp.json"},
		"unknown order": {siteDir(t), &staticmcp.Options{Compat: "any"}, `unknown order of arguments "any"`},
		"many entries":  {siteDir(t), &staticmcp.Options{MaxEntries: 1}, "more than 1 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name == "a file" {
				t.Skip("says it otherwise")
			}
			site, err := staticmcp.OpenDir(t.Context(), tt.dir, tt.opts)
			if err == nil {
				site.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestClose verifies that Close releases everything.
func TestClose(t *testing.T) {
	dir := siteDir(t)
	synctest.Test(t, func(t *testing.T) {
		// The bubble waits for the watching goroutine to stop.
		site, err := staticmcp.OpenDir(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := site.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		}
		if _, err := callText(t, site, "a"); err == nil {
			t.Error("a closed site answers from its folder")
		}
	})
}

func readText(t testing.TB, site *staticmcp.Site, uri string) string {
	t.Helper()
	r, err := site.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err.Error()
	}
	_, text, _ := strings.Cut(string(r.Raw.Bytes()), `"text":"`)
	text, _, _ = strings.Cut(text, `"`)
	return text
}
