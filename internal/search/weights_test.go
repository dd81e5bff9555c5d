package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/search"
)

// TestWhatCounts verifies which of two pages comes first if each has a word of the query that the
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
		synonyms    [][]string
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
			pages: append(filler(6, "Every valve is red."),
				page("a", "First", "", "A valve, and this valve is a steel valve."),
				page("b", "Second", "", "An image of it."),
				page("c", "Third", "", "A valve made of steel."),
				page("d", "Fourth", "", "A valve made of brass.")),
		},
		"a common word": {
			query: "another valve", want: "b",
			pages: append(filler(4, "Anything else."),
				page("a", "First", "", "There is another one."),
				page("b", "Second", "", "There is a valve."),
				page("c", "Third", "", "There is a valve of steel, beside the others that were built.")),
		},
		"a misspelt common word": {
			query: "anothr valve", want: "b",
			pages: append(filler(7, "Anything else."),
				page("a", "First", "", "Another one."),
				page("b", "Second", "", "A valve."),
				page("c", "Third", "", "A valve made of steel."),
				page("d", "Fourth", "", "A valve made of brass.")),
		},
		// Eight pages have "again", which is no name for a retry.
		"a rare word beside common ones": {
			query: "retry the valve", want: "b",
			pages: append(filler(8, "It is read again."),
				page("a", "First", "", "A valve made of steel."),
				page("b", "Second", "", "A retry is short."),
				page("c", "Third", "", "A valve made of brass.")),
		},
		// Eight pages have "single" and "sign", of which neither means SSO.
		"a rare word for a phrase of frequent words": {
			query: "sso valve", want: "b",
			synonyms: [][]string{{"sso", "single sign-on"}},
			pages: append(filler(8, "Every single sign is red."),
				page("a", "First", "", "A valve made of steel."),
				page("b", "Second", "", "SSO is short."),
				page("c", "Third", "", "A valve made of brass.")),
		},
		// Documentation calls it retention, which no page has in its title.
		"what documentation calls a word of the query": {
			query: "outdated steel valve", want: "b",
			pages: append(filler(2, "Anything else."),
				page("a", "First", "", "A valve made of steel, with a handle."),
				page("b", "Second", "", "A valve made of steel, with a retention."),
				page("c", "Third", "", "It is outdated.")),
		},
		"a related phrase needs all its words": {
			query: "long valve", want: "a",
			pages: append(filler(2, "Anything else."),
				page("a", "First", "", "A long valve made of steel."),
				page("b", "Second", "", "A long valve, with a delay and a timeout."),
				page("c", "Third", "", "A delay.")),
		},
		"a title that is in the query as a whole": {
			query: "steel valve pressure", want: "b",
			pages: append(filler(4, "Anything else."),
				page("a", "Steel and the valve of the first kind", "", "Pressure."),
				page("b", "Valve", "", "Pressure, and steel.")),
		},
		"two words that no page has, with the same synonym": {
			query: "picture photo", want: "b",
			pages: []search.Page{
				page("a", "First", "", "A photon hits another photon."),
				page("b", "Second", "", "An image of it."),
			},
		},
		"a word that no page has, with a synonym in the query": {
			query: "sso with single sign-on", want: "b",
			synonyms: [][]string{{"sso", "single sign-on"}},
			pages: append(filler(8, "Every single sign is red."),
				page("a", "First", "", "Ssop, ssop and ssop."),
				page("b", "Single sign", "", "It is short.")),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := ask(t, index(t, &search.Options{Language: "en", Synonyms: tt.synonyms}, tt.pages), tt.query)
			if len(r.Hits) == 0 || r.Hits[0].Page != tt.want {
				t.Errorf("%q finds %+v first, want %s", tt.query, r.Hits[:min(2, len(r.Hits))], tt.want)
			}
		})
	}
}
