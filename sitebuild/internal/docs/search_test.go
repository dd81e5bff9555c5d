package docs_test

import (
	"strings"
	"testing"

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
