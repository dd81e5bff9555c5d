package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/search"
)

// TestWhatCounts: what decides between two pages, of which each has one word of the query that the
// other lacks, or both have the same words in different places.
func TestWhatCounts(t *testing.T) {
	long := strings.Repeat("Rows and columns follow. ", 20)
	filler := func(n int, text string) (list []search.Page) {
		for i := range n {
			list = append(list, page(fmt.Sprint("filler-", i), fmt.Sprint("Part ", i), "", text))
		}
		return list
	}
	tests := map[string]struct {
		query, want string
		pages       []search.Page
	}{
		"the beginning of a page": {
			query: "sluice", want: "b",
			pages: []search.Page{
				page("a", "First", "", "Notes. "+long+"The sluice is open."),
				page("b", "Second", "", "Notes on a sluice. "+long+"It is open."),
			},
		},
		"the beginning is that of the page, not of each section": {
			query: "sluice", want: "b",
			pages: []search.Page{
				page("a", "First", "", long, "More", "The sluice is open. "+long),
				page("b", "Second", "", "The sluice is open. "+long, "More", long),
			},
		},
		// One page has "reply", eight have "response", which is the same: neither tells much.
		"a rare word for what most pages have": {
			query: "reply valve", want: "b",
			pages: append(filler(8, "The response has a body."),
				page("a", "First", "", "A reply is short."),
				page("b", "Second", "", "The valve makes a response small."),
				page("c", "Third", "", "A valve made of steel."),
				page("d", "Fourth", "", "A valve made of brass.")),
		},
		// No page has "picture", which "image" represents; most pages have a valve.
		"a synonym of a word that no page has": {
			query: "picture valve", want: "b",
			pages: append(filler(2, "Anything else."),
				page("a", "First", "", "A valve, and this valve is a steel valve."),
				page("b", "Second", "", "An image of it."),
				page("c", "Third", "", "A valve made of steel."),
				page("d", "Fourth", "", "A valve made of brass.")),
		},
		"a word that texts about anything have": {
			query: "another valve", want: "b",
			pages: append(filler(4, "Anything else."),
				page("a", "First", "", "There is another one."),
				page("b", "Second", "", "There is a valve."),
				page("c", "Third", "", "There is a valve of steel, beside the others that were built."))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := ask(t, index(t, &search.Options{Language: "en"}, tt.pages), tt.query)
			if len(r.Hits) == 0 || r.Hits[0].Page != tt.want {
				t.Errorf("%q finds %+v first, want %s", tt.query, r.Hits[:min(2, len(r.Hits))], tt.want)
			}
		})
	}
}
