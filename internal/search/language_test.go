package search

import (
	"encoding/json"
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

// TestRelated verifies that each word of the table of related terms is looked up as it is written, and
// that it refers to telling words.
func TestRelated(t *testing.T) {
	var table map[string]json.RawMessage
	if err := json.Unmarshal(relatedText, &table); err != nil {
		t.Fatal(err)
	}
	delete(table, "$comment")
	for code, text := range table {
		var lines []string
		if err := json.Unmarshal(text, &lines); err != nil {
			t.Fatal(err)
		}
		an := newAnalyzer(code)
		seen := make(map[string]bool)
		for _, line := range lines {
			phrases, words, _ := strings.Cut(line, ": ")
			for _, phrase := range strings.Fields(phrases) {
				if got, want := len(an.phrase(strings.ReplaceAll(phrase, "+", " "))), 1+strings.Count(phrase, "+"); got != want {
					t.Errorf("%s: %q: %d words of %q are looked up, want %d", code, line, got, phrase, want)
				}
			}
			for _, word := range strings.Fields(words) {
				if an.stops[word] || an.weak[word] || len(an.phrase(word)) != 1 {
					t.Errorf("%s: %q: %q is no telling word", code, line, word)
				}
			}
			if seen[line] || phrases == "" || words == "" {
				t.Errorf("%s: %q is incomplete or twice there", code, line)
			}
			seen[line] = true
		}
		if len(relations(code)) == 0 {
			t.Errorf("language %q has no relations", code)
		}
	}
}
