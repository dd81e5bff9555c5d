package docs_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// TestSearchOptions: synonyms and pins of the owner decide what is found, and a pin of a
// missing page is reported.
func TestSearchOptions(t *testing.T) {
	opts := &docs.Options{Search: docs.SearchOptions{
		Synonyms: [][]string{{"liquid", "water"}},
		Pins: []docs.Pin{
			{Query: "settings", Page: "guide/brewing"},
			{Query: "tea", Page: "guide/brewin"},
		},
	}}
	set, err := docs.Read(t.Context(), handbook(), "handbook", opts)
	if err != nil {
		t.Fatal(err)
	}
	site, err := set.Site(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range ruletest.Record(site.Findings...) {
		found = found || f.Rule.ID == "docs/pin" && strings.Contains(f.Hint, "guide/brewing")
	}
	if !found {
		t.Errorf("findings %v, want one of docs/pin", site.Findings)
	}
	s := opened(t, written(t, handbook(), opts))
	for query, want := range map[string]string{
		`{"query":"liquid"}`:                       "1. Brewing\n   path: guide/brewing\n   heading: water",
		`{"query":"settings"}`:                     "1. Brewing\n   path: guide/brewing",
		`{"query":"setting","section":"guide"}`:    "No page matches",
		`{"query":"zebra","queries":["ninety"]}`:   "heading: temperature",
		`{"query":"kettle","limit":1,"offset":1}`:  "\n2. ",
		`{"query":"kettle","limit":1,"offset":99}`: "none from number 100 on",
	} {
		if got := call(t, s, "search", query); !strings.Contains(got, want) {
			t.Errorf("search %s = %s, want %q in it", query, got, want)
		}
	}
}

// TestSearchFollowsLinks: of two pages with the same words, the one that another such page links to comes first.
func TestSearchFollowsLinks(t *testing.T) {
	files := fstest.MapFS{
		"index.md": {
			Data: []byte("# Kettle\n\nMore about the spout is [here](parts/second.md) and [there](parts/second.md#spout).\n"),
		},
		"parts/first.md":  {Data: []byte("# First\n\n## Spout\n\nThe spout is short.\n")},
		"parts/second.md": {Data: []byte("# Second\n\n## Spout\n\nThe spout is short.\n")},
		"parts/third.md":  {Data: []byte("# Third\n\nSee the [first part](first.md).\n")},
	}
	s := opened(t, written(t, files, nil))
	got := call(t, s, "search", `{"query":"short"}`)
	first, second := strings.Index(got, "path: parts/first"), strings.Index(got, "path: parts/second")
	if first < 0 || second < 0 || first > second {
		t.Fatalf("no page about it links to one: %s", got)
	}
	got = call(t, s, "search", `{"query":"spout"}`)
	first, second = strings.Index(got, "path: parts/first"), strings.Index(got, "path: parts/second")
	if first < 0 || second < 0 || second > first {
		t.Errorf("the home page links to the second: %s", got)
	}
}
