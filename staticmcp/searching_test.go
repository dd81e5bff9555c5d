package staticmcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// searchable returns a site whose tool find has an index, and one stored answer to a
// single word.
func searchable(t testing.TB) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{
		"mcp.json": {
			Data: []byte(
				`{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1.0.0"},"capabilities":{"resources":[],` +
					`"tools":[
{"name":"find","description":"d","_meta":{"io.github.slipway-mcp/search":{"index":".staticmcp/search",` +
					`"argument":"query"}},
"inputSchema":{"type":"object","properties":{"query":{"type":"string","minLength":1}},"required":["query"]}}]}}`)},
		"tools/find/archive.json": {Data: []byte(`{"content":[{"type":"text","text":"the stored answer"}]}`)},
	}
	b := search.NewBuilder(&search.Options{Language: "en"}, func(name string, data []byte) error {
		files[search.Dir+"/"+name] = &fstest.MapFile{Data: data}
		return nil
	})
	for _, p := range []search.Page{
		{ID: "install", Title: "Install", Sections: []search.Section{{Text: "Unpack the archive."}}},
		{ID: "limits", Title: "Limits", Sections: []search.Section{{Text: "How large an archive may be."}}},
	} {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return files
}

func find(t *testing.T, s *staticmcp.Site, query string) (text string, isError bool) {
	t.Helper()
	arguments, _ := json.Marshal(map[string]string{"query": query})
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "find", Arguments: arguments})
	if err != nil {
		t.Fatalf("find %q: %v", query, err)
	}
	if r.Raw != nil {
		return string(r.Raw.Bytes()), r.IsError
	}
	return r.Content[0].Text, r.IsError
}

func TestSearchIndex(t *testing.T) {
	host := newFakeHost(t, searchable(t))
	web := httptest.NewServer(host)
	defer web.Close()
	folder, err := staticmcp.Open(t.Context(), searchable(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	remote, err := staticmcp.OpenURL(t.Context(), web.URL+"/base", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	for name, site := range map[string]*staticmcp.Site{"folder": folder, "URL": remote} {
		t.Run(name, func(t *testing.T) {
			for query, want := range map[string]string{
				"unpacking an archive": "1. Install\n   path: install",
				"archive":              "2 pages match",
				"how large archive":    "1. Limits\n   path: limits",
				"archve":               `searched for "archive" instead`,
				"zebra":                `No page matches "zebra"`,
			} {
				if got, isError := find(t, site, query); !strings.Contains(got, want) || isError {
					t.Errorf("find %q = %q, want %q in it", query, got, want)
				}
			}
		})
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	// The manifest, the head, one shard of terms, one of pages, the words.
	if len(host.requests) != 5 {
		t.Errorf("the host was asked for %q, want 5 files", host.requests)
	}
}

// TestSearchWithoutIndex uses a site that was uploaded without the folder of the
// index, as some tools do with names that begin with a dot.
func TestSearchWithoutIndex(t *testing.T) {
	files := searchable(t)
	for name := range files {
		if strings.HasPrefix(name, search.Dir) {
			delete(files, name)
		}
	}
	site, err := staticmcp.Open(t.Context(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	if got, _ := find(t, site, "archive"); !strings.Contains(got, "the stored answer") {
		t.Errorf("find archive = %q, want the stored answer", got)
	}
	if got, isError := find(t, site, "archives"); !isError || !strings.Contains(got, `Did you mean "archive"?`) {
		t.Errorf("find archives = %q, want the value with an answer", got)
	}
}

// TestDamagedIndex verifies that the stored answers survive a corrupt index.
func TestDamagedIndex(t *testing.T) {
	for name, damage := range map[string]string{
		search.Dir + "/index.json":   `{"format":7}`,
		search.Dir + "/terms-0.json": `{"terms":{}}`,
		search.Dir + "/pages-0.json": `nonsense`,
	} {
		t.Run(name, func(t *testing.T) {
			files := searchable(t)
			files[name] = &fstest.MapFile{Data: []byte(damage)}
			site, err := staticmcp.Open(t.Context(), files, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			if got, _ := find(t, site, "archive"); !strings.Contains(got, "the stored answer") {
				t.Errorf("find archive = %q, want the stored answer", got)
			}
		})
	}
}

func TestSearchDeclaration(t *testing.T) {
	for name, said := range map[string]string{
		"no such argument": `{"index":".staticmcp/search","argument":"q"}`,
		"outside":          `{"index":"../search","argument":"query"}`,
		"not an object":    `true`,
		"a variant of an unknown argument": `{"index":".staticmcp/search","argument":"query",` +
			`"variants":[{"arguments":{"edition":"2"},"index":".staticmcp/search/2"}]}`,
		"a variant of an option": `{"index":".staticmcp/search","argument":"query",` +
			`"variants":[{"arguments":{"limit":"2"},"index":".staticmcp/search/2"}]}`,
		"a variant without arguments": `{"index":".staticmcp/search","argument":"query",` +
			`"variants":[{"arguments":{},"index":".staticmcp/search/2"}]}`,
		"a variant outside": `{"index":".staticmcp/search","argument":"query",` +
			`"variants":[{"arguments":{"query":"2"},"index":"../2"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			files := searchable(t)
			files["mcp.json"].Data = []byte(strings.Replace(string(files["mcp.json"].Data),
				`{"index":".staticmcp/search","argument":"query"}`, said, 1))
			site, err := staticmcp.Open(t.Context(), files, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			if len(site.Warnings()) != 1 || !strings.Contains(site.Warnings()[0], staticmcp.MetaSearch) {
				t.Errorf("Warnings = %q", site.Warnings())
			}
			if got, _ := find(t, site, "archive"); !strings.Contains(got, "the stored answer") {
				t.Errorf("find archive = %q, want the stored answer", got)
			}
		})
	}
}

func TestIndexIsShown(t *testing.T) {
	site, err := staticmcp.Open(t.Context(), searchable(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	again := httptest.NewServer(site.FileHandler())
	defer again.Close()
	remote, err := staticmcp.OpenURL(t.Context(), again.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if got, _ := find(t, remote, "unpack archives"); !strings.Contains(got, "path: install") {
		t.Errorf("through our own files: %q", got)
	}
}

// counting counts the bytes of the files of a search index that a host sends.
type counting struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// TestSearchOverTheWeb bounds what a first search loads from a host.
func TestSearchOverTheWeb(t *testing.T) {
	files := searchable(t)
	for name := range files {
		if strings.HasPrefix(name, search.Dir) {
			delete(files, name)
		}
	}
	b := search.NewBuilder(&search.Options{Language: "en"}, func(name string, data []byte) error {
		files[search.Dir+"/"+name] = &fstest.MapFile{Data: data}
		return nil
	})
	const pages = 600
	for i := range pages {
		page := search.Page{ID: fmt.Sprint("page-", i), Title: fmt.Sprint("Page ", i)}
		for k := range 8 {
			text := strings.Repeat(fmt.Sprintf("Chapter %d of volume %d says more about sails. ", k, i), 20)
			if i%(pages/8) == 0 && k == 3 {
				text += "The lighthouse keeper."
			}
			section := search.Section{Slug: fmt.Sprint("s", k), Heading: fmt.Sprint("Section ", k), Text: text}
			page.Sections = append(page.Sections, section)
		}
		if err := b.Add(page); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var sent, requests atomic.Int64
	server := http.FileServerFS(files)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/search/") {
			requests.Add(1)
			w = counting{w, &sent}
		}
		server.ServeHTTP(w, r)
	}))
	defer web.Close()
	s, err := staticmcp.OpenURL(t.Context(), web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, _ := find(t, s, "lighthouse keeper")
	if got := strings.Count(text, "lighthouse keeper."); got != 8 {
		t.Errorf("%d of 8 pages show where the words are:\n%s", got, text)
	}
	if got := sent.Load(); got > 200_000 {
		t.Errorf("a search loads %d bytes, want at most 200,000", got)
	}
	if got := requests.Load(); got > 12 {
		t.Errorf("a search makes %d requests, want at most 12", got)
	}
}
