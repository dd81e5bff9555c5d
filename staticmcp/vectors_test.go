package staticmcp_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// vectors are those of six words, two of which mean the same each.
func vectors(t *testing.T) *staticmcp.Vectors {
	t.Helper()
	name := filepath.Join(t.TempDir(), "words.txt")
	text := "unpack 1 0 0\nextract 0.99 0.02 0\nrestrict 0 1 0.03\ncurb 0.02 1 0\nred 0 0 1\nblue 0.01 0 1\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := staticmcp.OpenVectors(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestVectors: a site in a folder or a zip is searched with vectors, without a search index as without vectors, and a
// site at a URL without them.
func TestVectors(t *testing.T) {
	var log bytes.Buffer
	opts := func() *staticmcp.Options {
		return &staticmcp.Options{Poll: -1, Vectors: vectors(t), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	}
	open := map[string]func() (*staticmcp.Site, error){
		"folder": func() (*staticmcp.Site, error) { return staticmcp.Open(t.Context(), searchable(t), opts()) },
		"zip": func() (*staticmcp.Site, error) {
			r := zipOf(t, searchable(t))
			return staticmcp.OpenZipReader(t.Context(), r, r.Size(), opts())
		},
	}
	for name, open := range open {
		site, err := open()
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close()
		const want = "searched for \"unpack\" instead.\n" +
			"2 pages match \"extract\", the best first:\n\n1. Install\n   path: install"
		if got, _ := find(t, site, "extract"); !strings.Contains(got, want) {
			t.Errorf("%s: find extract = %q, want %q in it", name, got, want)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
	web := httptest.NewServer(http.FileServerFS(searchable(t)))
	defer web.Close()
	site, err := staticmcp.OpenURL(t.Context(), web.URL, opts())
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	if got, _ := find(t, site, "extract"); !strings.Contains(got, "No page matches") {
		t.Errorf("URL: find extract = %q, want no page", got)
	}
	if got := log.String(); strings.Count(got, "word vectors are for sites on this machine") != 1 {
		t.Errorf("logged %q, want a warning", got)
	}
}

// TestVectorsReload: the files of a site on disk are noticed when they change.
func TestVectorsReload(t *testing.T) {
	dir := t.TempDir()
	write := func(files fstest.MapFS) {
		t.Helper()
		for name, file := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, file.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(searchable(t))
	site, err := staticmcp.OpenDir(t.Context(), dir, &staticmcp.Options{Poll: -1, Recheck: -1, Vectors: vectors(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	if got, _ := find(t, site, "curb"); !strings.Contains(got, "No page matches") {
		t.Errorf("find curb = %q, want no page", got)
	}
	changed := fstest.MapFS{}
	b := search.NewBuilder(&search.Options{Language: "en"}, func(name string, data []byte) error {
		changed[search.Dir+"/"+name] = &fstest.MapFile{Data: data}
		return nil
	})
	for _, p := range []search.Page{
		{ID: "install", Title: "Install", Sections: []search.Section{{Text: "Unpack the archive."}}},
		{ID: "limits", Title: "Limits", Sections: []search.Section{{Text: "Restrict the size of an archive."}}},
	} {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	write(changed)
	const want = "searched for \"restrict\" instead.\n1 page matches"
	got := ""
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); { // the first vectors may rest
		if got, _ = find(t, site, "curb"); strings.Contains(got, want) {
			return
		}
	}
	t.Errorf("find curb = %q after the change, want %q in it", got, want)
}

func ExampleOpenVectors() {
	_, err := staticmcp.OpenVectors("testdata/vectors.txt")
	fmt.Println(err)
	// Output: line 2: want a word and 3 numbers
}
