package search

import (
	_ "embed" // for the table
	"slices"
	"strings"
	"sync"
)

// relatedText is the table of what documentation calls the things that people ask about in other
// words.
//
//go:embed related.json
var relatedText []byte

// relation are the terms that documentation uses for a phrase.
type relation struct {
	// phrase has one or several terms, separated by spaces.
	phrase string
	terms  []string
}

// relatedLine is a line of the table, as terms: several phrases and the terms for each of them.
type relatedLine struct{ phrases, terms []string }

// relatedLines returns the table by language.
var relatedLines = sync.OnceValue(func() map[string][]relatedLine {
	out := make(map[string][]relatedLine)
	for code, lines := range linesOf("related.json", relatedText) {
		an := newAnalyzer(code)
		for _, line := range lines {
			from, to, _ := strings.Cut(line, ":")
			out[code] = append(out[code], relatedLine{termsOf(an, from), termsOf(an, to)})
		}
	}
	return out
})

// termsOf returns the different terms of words separated by spaces. Terms of words joined by + are
// separated by a space.
func termsOf(an *analyzer, words string) []string {
	var list []string
	for word := range strings.FieldsSeq(words) {
		term := strings.Join(an.phrase(strings.ReplaceAll(word, "+", " ")), " ")
		if !slices.Contains(list, term) {
			list = append(list, term)
		}
	}
	return list
}

// relationTables are the relations of each language, by the first term of their phrase.
var relationTables = sync.OnceValue(func() map[string]map[string][]relation {
	out := make(map[string]map[string][]relation)
	for code, lines := range relatedLines() {
		out[code] = make(map[string][]relation)
		for _, line := range lines {
			for _, phrase := range line.phrases {
				first, _, _ := strings.Cut(phrase, " ")
				out[code][first] = append(out[code][first], relation{phrase, line.terms})
			}
		}
	}
	return out
})

// relations returns the relations of a language, by the first term of their phrase.
func relations(code string) map[string][]relation { return relationTables()[code] }

// RelatedTerms returns the table of related terms of a language, for readers in other programming
// languages. A line has phrases, ">" and the terms that documentation uses for each of them, which are
// separated by spaces. Terms of a phrase are joined by "+". It returns "" if the language has none.
func RelatedTerms(language string) string {
	var lines []string
	for _, line := range relatedLines()[language] {
		phrases := strings.ReplaceAll(strings.Join(line.phrases, "\n"), " ", "+")
		lines = append(lines, strings.ReplaceAll(phrases, "\n", " ")+">"+strings.Join(line.terms, " "))
	}
	return strings.Join(lines, "\n")
}
