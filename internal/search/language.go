package search

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	snowball "github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// language holds the rules of one language.
type language struct {
	// Code is the ISO 639 code.
	Code string `json:"code"`
	// Stops are the stop words, separated by spaces. They also serve to detect the language.
	Stops string `json:"stops"`
	// Weak are common words that get a lower weight in queries, in the same form as Stops.
	Weak string `json:"weak"`
	// Elides reports whether an apostrophe ends a word, as in l'eau.
	Elides bool `json:"elides"`

	stem func(*snowball.Env) bool
}

// languagesText is the table of languages, in the order preferred by detection;
// languages.schema.json explains its members.
//
//go:embed languages.json
var languagesText []byte

var stemmers = map[string]func(*snowball.Env) bool{
	"en": english.Stem,
	"de": german.Stem,
	"fr": french.Stem,
	"es": spanish.Stem,
	"it": italian.Stem,
	"pt": portuguese.Stem,
	"nl": dutch.Stem,
	"sv": swedish.Stem,
	"da": danish.Stem,
	"no": norwegian.Stem,
	"fi": finnish.Stem,
	"ro": romanian.Stem,
	"hu": hungarian.Stem,
	"tr": turkish.Stem,
	"ru": russian.Stem,
}

// languages returns the supported languages. Words of other languages are indexed without
// stemming; scripts without spaces are split into letter pairs in any language.
var languages = sync.OnceValue(func() []language {
	var table struct{ Languages []language }
	if err := json.Unmarshal(languagesText, &table); err != nil {
		panic(fmt.Errorf("languages.json: %w", err))
	}
	for i := range table.Languages {
		l := &table.Languages[i]
		l.stem = stemmers[l.Code]
	}
	return table.Languages
})

// languageOf returns the language with a code such as "pt-BR". Unknown languages have
// neither a stemmer nor stop words.
func languageOf(code string) language {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(code, "_", "-")), "-")
	switch base {
	case "nb", "nn":
		base = "no"
	}
	for _, l := range languages() {
		if l.Code == base {
			return l
		}
	}
	return language{Code: base}
}

// Detect guesses the language of a text from its stop words. It returns the code of a
// supported language, or "" if none stands out.
func Detect(text string) string {
	counts := make(map[string]int)
	total := 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(text),
		func(r rune) bool { return !isWordRune(r) && r != '\'' }) {
		counts[word]++
		if total++; total >= maxDetected {
			break
		}
	}
	best := ""
	most := 0
	second := 0
	for _, l := range languages() {
		n := 0
		for stop := range strings.FieldsSeq(l.Stops) {
			n += counts[stop]
		}
		if n > most {
			best, most, second = l.Code, n, most
		} else if n > second {
			second = n
		}
	}
	// In running text of any of these languages, at least a sixth of the words are stop
	// words.
	if most*8 < total || most*10 < second*11 {
		return ""
	}
	return best
}

// maxDetected is the number of words examined to detect the language.
const maxDetected = 20_000
