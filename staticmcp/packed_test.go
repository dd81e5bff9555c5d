package staticmcp_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// packedSite returns the files of a site whose manifest has the table, with these packs, from
// their starts to their names of pages.
func packedSite(table string, packed map[string][]string, next map[string]string) fstest.MapFS {
	files := fstest.MapFS{"mcp.json": {Data: []byte(`{
"protocolVersion":"2025-06-18","serverInfo":{"name":"p","version":"1"},
"capabilities":{"resources":[],"tools":[{"name":"get_page","description":"A page.","inputSchema":
{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]},
"_meta":{"io.github.slipway-mcp/packs":{"starts":` + table + `}}}`)}}
	for start, pages := range packed {
		text, err := packs.Append(nil, next[start], len(pages), func(i int) (string, []byte, error) {
			return "tools/get_page/" + pages[i] + ".json",
				fmt.Appendf(nil, `{"content":[{"type":"text","text":"This is %s"}]}`, pages[i]), nil
		})
		if err != nil {
			panic(err)
		}
		files[packs.File(start)] = &fstest.MapFile{Data: text}
	}
	return files
}

// names returns a page whose number is below 8000…, and two whose number is not.
func names(t *testing.T) (low, high, higher string) {
	t.Helper()
	for c := 'a'; c <= 'z'; c++ {
		key, _ := packs.Key("tools/get_page/" + string(c) + ".json")
		switch start := packs.Start(key); {
		case start < "8":
			low = string(c)
		case start < "c":
			high = string(c)
		default:
			higher = string(c)
		}
	}
	if low == "" || high == "" || higher == "" {
		t.Fatal("no such names")
	}
	return low, high, higher
}

func lookUp(t *testing.T, s *staticmcp.Site, page string) string {
	t.Helper()
	result, stored, err := s.Lookup(t.Context(), &mcp.CallToolParams{
		Name:      "get_page",
		Arguments: fmt.Appendf(nil, `{"path":%q}`, page),
	})
	if err != nil {
		return err.Error()
	}
	if !stored {
		return "missing"
	}
	return string(result.Raw.Bytes())
}

// TestPackedWhilePublished verifies that answers are found while a new version is published,
// when the manifest that was read is that of the version before.
func TestPackedWhilePublished(t *testing.T) {
	low, high, higher := names(t)
	pages := []string{low, high, higher}
	two := map[string][]string{"0": {low}, "8": {high, higher}}
	for name, files := range map[string]fstest.MapFS{
		"current": packedSite(`["0","8"]`, two, map[string]string{"0": "8"}),
		"split": packedSite(`["0"]`, map[string][]string{"0": {low}, "8": {high}, "c": {higher}},
			map[string]string{"0": "8", "8": "c"}),
		"merged": packedSite(`["0","8","c"]`, map[string][]string{"0": {low, high, higher}}, nil),
		"loose": func() fstest.MapFS {
			files := packedSite(`["0"]`, map[string][]string{"0": {low, high}}, nil)
			files["tools/get_page/"+higher+".json"] = &fstest.MapFile{
				Data: []byte(`{"content":[{"type":"text","text":"This is ` + higher + `"}]}`),
			}
			return files
		}(),
	} {
		web, err := staticmcp.OpenURL(t.Context(), "https://static.example/some/site", &staticmcp.Options{
			WebOptions: staticmcp.WebOptions{HTTPClient: hostOf(files)},
			Poll:       -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		folder, err := staticmcp.Open(t.Context(), files, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*staticmcp.Site{web, folder} {
			for _, page := range pages {
				if got := lookUp(t, s, page); !strings.Contains(got, "This is "+page) {
					t.Errorf("%s: %s is %s", name, page, got)
				}
			}
			if got := lookUp(t, s, "no-such-page"); got != "missing" {
				t.Errorf("%s: a missing page is %s", name, got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPackedIncomplete verifies that a site that was published in part does not deny having
// the answers that it lacks.
func TestPackedIncomplete(t *testing.T) {
	low, high, higher := names(t)
	const unusable = "the site's answer cannot be used"
	for name, c := range map[string]struct {
		packs                   map[string]string // contents, or "" for none
		lowAnswer, higherAnswer string
	}{
		"the last pack is missing":  {map[string]string{"8": ""}, "This is " + low, unusable},
		"the first pack is missing": {map[string]string{"0": ""}, unusable, "This is " + higher},
		"all packs are missing":     {map[string]string{"0": "", "8": ""}, unusable, unusable},
		"a damaged pack":            {map[string]string{"0": "<html>"}, unusable, "This is " + higher},
	} {
		files := packedSite(`["0","8"]`, map[string][]string{"0": {low}, "8": {high, higher}}, map[string]string{"0": "8"})
		for start, text := range c.packs {
			delete(files, packs.File(start))
			if text != "" {
				files[packs.File(start)] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		s, err := staticmcp.Open(t.Context(), files, nil)
		if err != nil {
			t.Fatal(err)
		}
		for page, want := range map[string]string{low: c.lowAnswer, higher: c.higherAnswer} {
			if got := lookUp(t, s, page); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %s, want %s", name, page, got, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPackedTables verifies that a site with an invalid table is refused.
func TestPackedTables(t *testing.T) {
	for _, table := range []string{`["1"]`, `[]`, `["0","../../x"]`, `7`} {
		if s, err := staticmcp.Open(t.Context(), packedSite(table, nil, nil), nil); err == nil {
			s.Close()
			t.Errorf("a site with the table %s opens", table)
		}
	}
}

// TestPackedFileHandler verifies that the files of a packed site are served one by one, under
// the rules for their tools, so that readers that know only the standard find all of them.
func TestPackedFileHandler(t *testing.T) {
	low, high, higher := names(t)
	two := map[string][]string{"0": {low}, "8": {high, higher}}
	files := packedSite(`["0","8"]`, two, map[string]string{"0": "8"})
	s, err := staticmcp.Open(t.Context(), maps.Clone(files), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		s.FileHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+path, nil))
		return w.Code, w.Body.String()
	}
	for _, page := range []string{low, high, higher} {
		path := "tools/get_page/" + page + ".json"
		if code, text := get(path); code != http.StatusOK || !strings.Contains(text, "This is "+page) {
			t.Errorf("%s: %d, %s", page, code, text)
		}
		if method, name, _, _ := s.FileUse(path); method != "tools/call" || name != "get_page" {
			t.Errorf("%s is used by %s %s", page, method, name)
		}
	}
	if code, _ := get("packs/0.json"); code != http.StatusNotFound {
		t.Errorf("a pack: status %d", code)
	}
	code, text := get("mcp.json")
	if code != http.StatusOK || !strings.Contains(text, `"io.github.slipway-mcp/packs":null`) {
		t.Errorf("the manifest: %d, %s", code, text)
	}
}
