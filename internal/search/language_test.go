package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
)

func TestLanguages(t *testing.T) {
	tabletest.Check(t, "languages.schema.json", "languages.json")
	if got, want := len(languages()), len(stemmers); got != want {
		t.Errorf("the table has %d languages, want %d as there are stemmers", got, want)
	}
	for _, l := range languages() {
		if l.stem == nil {
			t.Errorf("no stemmer for language %q", l.Code)
		}
	}
}

// TestCommonWords: stop words need no lower weight, and a common word as a synonym would make the
// telling words of its group count less.
func TestCommonWords(t *testing.T) {
	for _, l := range languages() {
		stops := strings.Fields(l.Stops)
		weak := strings.Fields(l.Weak)
		for _, word := range weak {
			if slices.Contains(stops, word) {
				t.Errorf("%q is a stop word and a weak word of language %q", word, l.Code)
			}
		}
		for _, group := range thesaurus(l.Code) {
			for _, word := range group {
				if slices.Contains(stops, word) || slices.Contains(weak, word) {
					t.Errorf("%q is a synonym and a common word of language %q", word, l.Code)
				}
			}
		}
	}
}
