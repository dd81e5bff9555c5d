package search

import (
	_ "embed" // for the table
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// thesaurusText is the table of words with the same meaning.
//
//go:embed thesaurus.json
var thesaurusText []byte

var thesauri = sync.OnceValue(func() map[string][][]string {
	out := make(map[string][][]string)
	for code, lines := range linesOf("thesaurus.json", thesaurusText) {
		for _, line := range lines {
			out[code] = append(out[code], strings.Fields(line))
		}
	}
	return out
})

// linesOf returns the lines of an embedded table by language. It panics if the table, which has a
// name, is malformed.
func linesOf(name string, text []byte) map[string][]string {
	var table map[string]json.RawMessage
	err := json.Unmarshal(text, &table)
	delete(table, "$comment")
	out := make(map[string][]string)
	for code, list := range table {
		var lines []string
		err = errors.Join(err, json.Unmarshal(list, &lines))
		out[code] = lines
	}
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return out
}

// thesaurus returns groups of words that documentation in a language uses for the same
// thing.
func thesaurus(code string) [][]string { return thesauri()[code] }
