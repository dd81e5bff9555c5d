package docs_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// TestRetained: pages from the cache do not keep the links and texts that are stored with them.
func TestRetained(t *testing.T) {
	const pages, most = 300, 3000 // bytes of a page
	files := fstest.MapFS{}
	link := "[" + strings.Repeat("a long text ", 8) + "](https://example.com/" + strings.Repeat("long/", 10) + ")\n\n"
	for n := range pages {
		text := fmt.Sprintf("---\ntitle: Page %d\ndescription: About %d.\n---\n\n# Page %d\n\n", n, n, n)
		files[fmt.Sprintf("p%d.md", n)] = &fstest.MapFile{Data: []byte(text + strings.Repeat(link, 100))}
	}
	opts := &docs.Options{CacheDir: t.TempDir()}
	read := func() *docs.Set {
		set, err := docs.Read(t.Context(), files, "", opts)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // also what the first one finalizes
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	site, err := read().Site(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range site.Answers { // which stores the pages
		if err != nil {
			t.Fatal(err)
		}
	}
	set := read()
	with, count := heap(), len(set.Pages)
	runtime.KeepAlive(set)
	got := (with - heap()) / pages
	if count != pages || got < 100 || got > most {
		t.Errorf("%d pages retain %d bytes each, want %d pages with 100 to %d", count, got, pages, most)
	}
}
