package search

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// thesaurusText is the table of words with the same meaning.
//
//go:embed thesaurus.json
var thesaurusText []byte

var thesauri = sync.OnceValue(func() map[string][][]string {
	var table map[string]json.RawMessage
	if err := json.Unmarshal(thesaurusText, &table); err != nil {
		panic(fmt.Errorf("thesaurus.json: %w", err))
	}
	delete(table, "$comment")
	out := make(map[string][][]string)
	for code, text := range table {
		var lines []string
		if err := json.Unmarshal(text, &lines); err != nil {
			panic(fmt.Errorf("thesaurus.json: %w", err))
		}
		for _, line := range lines {
			out[code] = append(out[code], strings.Fields(line))
		}
	}
	return out
})

// thesaurus returns groups of words that documentation in a language uses for the same
// thing.
func thesaurus(code string) [][]string { return thesauri()[code] }
