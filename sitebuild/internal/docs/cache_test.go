package docs_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// loaded returns the files of a folder.
func loaded(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := make(fstest.MapFS)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// siteOf returns the files of the site of documents, and the findings as texts.
func siteOf(t *testing.T, files fstest.MapFS, opts docs.Options) (site map[string]string, found []string) {
	t.Helper()
	set, err := docs.Read(t.Context(), files, "docs", &opts)
	if err != nil {
		t.Fatal(err)
	}
	made, err := set.Site(t.Context(), &opts)
	if err != nil {
		t.Fatal(err)
	}
	memory := sitewriter.NewMemory()
	result, err := sitewriter.Write(t.Context(), made, memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Report.Findings() {
		found = append(found, f.String()+" "+f.Hint)
	}
	site = make(map[string]string)
	for name := range strings.Lines(memory.String()) {
		name = strings.TrimSuffix(name, "\n")
		data, err := memory.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		site[name] = string(data)
	}
	return site, found
}

// TestCachedSite: a site is the same, byte for byte, without a cache, with an empty one, with
// that of the build before, after each change of the documents, and with a damaged cache.
func TestCachedSite(t *testing.T) {
	corpora := map[string]fstest.MapFS{"handbook": handbook()}
	if !race.Short() { // it is the largest, and built in the same way
		corpora["our docs"] = loaded(t, filepath.Join("..", "..", "..", "docs"))
	}
	systems, err := filepath.Glob(filepath.Join("testdata", "systems", "*.txtar"))
	if err != nil || len(systems) == 0 {
		t.Fatal(systems, err)
	}
	for _, name := range systems {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := make(fstest.MapFS)
		for _, f := range archive.Files {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
		corpora[filepath.Base(name)] = files
	}
	rendered := fstest.MapFS{}
	for name, page := range map[string]string{"index": "start", "start": "about", "about": "index"} {
		rendered[name+".html"] = &fstest.MapFile{Data: []byte("<html lang=en-US><head><title>" + name +
			"</title><link rel=next href=" + page + ".html></head><body><main><h1 id=top>" + name + "</h1><p>See <a href=\"" +
			page + ".html#top\">the next page</a>.</p><h2 id=more>More</h2><p>Text.</p></main></body></html>")}
	}
	corpora["rendered"] = rendered
	for name, files := range corpora {
		t.Run(name, func(t *testing.T) { compareCached(t, files) })
	}
}

// compareCached builds files with and without a cache, and again after changes of them.
func compareCached(t *testing.T, files fstest.MapFS) {
	files = maps.Clone(files)
	cached := docs.Options{CacheDir: filepath.Join(t.TempDir(), "pages")}
	packed := cached
	packed.TermFiles = -1
	compare := func(when string) {
		t.Helper()
		list := []docs.Options{cached, packed}
		if len(files) > 50 {
			list = list[1:] // the results for words take a second
		}
		for _, opts := range list {
			without := opts
			without.CacheDir = ""
			want, wantFound := siteOf(t, files, without)
			got, found := siteOf(t, files, opts)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s, the site differs:\n%.2000s", when, d)
			}
			if d := cmp.Diff(wantFound, found); d != "" {
				t.Errorf("%s, the findings differ:\n%.2000s", when, d)
			}
		}
	}
	compare("at first")
	compare("without a change")
	names := slices.Sorted(maps.Keys(files))
	at := slices.IndexFunc(names, func(name string) bool {
		return filepath.Ext(name) == ".md" && len(files[name].Data) > 0
	})
	page := names[max(0, at)]
	before := files[page]
	change := func(when string, data []byte) {
		files[page] = &fstest.MapFile{Data: data}
		compare(when)
	}
	change("after an edit", append(bytes.Clone(before.Data), "\nWallabies sleep. See [none](none.md).\n"...))
	change("with another heading", append([]byte("# Another title\n\n## Another\n\nText.\n\n"), before.Data...))
	delete(files, page)
	compare("without the page")
	files[page] = before
	files["added/wombat.md"] = &fstest.MapFile{Data: []byte("# Wombat\n\nSee [this](../" + page + ").\n")}
	compare("with the page and another one")
	segments, err := filepath.Glob(filepath.Join(cached.CacheDir, "*", "*.pages"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("the cache is empty: %v", err)
	}
	for _, name := range segments {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compare("with a damaged cache")
}

// TestCacheIsUsed: a second build adds nothing to the cache, and one after an edit a segment.
func TestCacheIsUsed(t *testing.T) {
	files := handbook()
	opts := docs.Options{CacheDir: filepath.Join(t.TempDir(), "pages")}
	siteOf(t, files, opts)
	stored := func() (names []string) {
		names, _ = filepath.Glob(filepath.Join(opts.CacheDir, "*", "*.pages"))
		return names
	}
	first := stored()
	siteOf(t, files, opts)
	if d := cmp.Diff(first, stored()); d != "" || len(first) != 1 {
		t.Errorf("the second build wrote to the cache:\n%s", d)
	}
	files["index.md"] = &fstest.MapFile{Data: []byte("# Kettle\n\nAnother one.\n")}
	siteOf(t, files, opts)
	if n := len(stored()); n != 2 {
		t.Errorf("there are %d segments after an edit, want 2", n)
	}
}
