package open_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// TestDocumentsAreWatched: clients are notified of new and changed pages in a folder of
// documents.
func TestDocumentsAreWatched(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "# A\n\nFirst.\n"})
	opts := &open.Options{Site: &staticmcp.Options{Poll: 5 * time.Millisecond, Recheck: time.Millisecond}}
	src, err := open.Open(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer src.(io.Closer).Close()
	w, ok := mcp.AsWatcher(src)
	if !ok {
		t.Fatal("a folder of documents does not change")
	}
	changes := make(chan mcp.Change, 100)
	defer w.Watch(func(c mcp.Change) { changes <- c })()
	await := func(what string, is func(mcp.Change) bool) {
		t.Helper()
		late := time.After(30 * time.Second)
		for {
			select {
			case c := <-changes:
				if is(c) {
					return
				}
			case <-late:
				t.Fatalf("no message that %s", what)
			}
		}
	}
	if _, err := src.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "docs://a"}); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b.md", "# B\n")
	await("there is a new page", func(c mcp.Change) bool { return c.Resources })
	write("a.md", "# A\n\nSecond, and longer.\n")
	await("a page changed", func(c mcp.Change) bool { return c.URI == "docs://a" })
}

func TestSitesAreNotTakenForDocuments(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a manifest":       {"mcp.json": manifest, "README.md": "# R\n"},
		"a lost manifest":  {"tools/get/a.json": `{"content":[]}`, "README.md": "# R\n"},
		"resources of one": {"resources/a.json": `{"uri":"x://a","mimeType":"text/plain","text":""}`, "README.md": "# R\n"},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := open.Open(t.Context(), tree(t, files), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer src.(io.Closer).Close()
			cat, err := src.Catalog(t.Context())
			if err != nil || cat.Tool("search") != nil {
				t.Errorf("Catalog = %+v, %v, want that of the site", cat, err)
			}
		})
	}
}
