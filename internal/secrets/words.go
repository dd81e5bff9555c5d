package secrets

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// wordsText is the table of words and formats by which secrets are recognized;
// words.schema.json explains its members.
//
//go:embed words.json
var wordsText []byte

// wordTable is the contents of words.json.
type wordTable struct {
	// Tokens are the formats of known services.
	Tokens []tokenFormat

	// Webhooks are beginnings of URLs that are secrets as a whole. The other lists are names, or
	// parts of names, of variables and members.
	Webhooks, SecretNames, KeyNames, PublicNames, CursorNames, VariableParts, UsualVariables []string

	Constants, CommonWords, ExampleParts, ExamplePrefixes, ExampleValues, DigestMarks []string
}

// tokenFormat is the format of a service's credentials.
type tokenFormat struct {
	// What names the kind of token in findings, and Prefixes are how its tokens begin.
	What     string
	Prefixes []string
	// Least is the minimum number of characters after the prefix.
	Least int
}

// table returns the table, which is decoded when it is first needed.
var table = sync.OnceValue(func() *wordTable {
	var words wordTable
	if err := json.Unmarshal(wordsText, &words); err != nil {
		panic(fmt.Errorf("words.json: %w", err))
	}
	return &words
})

// tokenKind returns the first kind of credentials with a prefix of word for which accept
// returns true for what follows the prefix, or "".
func tokenKind(word string, accept func(rest string) bool) string {
	for _, t := range table().Tokens {
		for _, prefix := range t.Prefixes {
			rest, ok := strings.CutPrefix(word, prefix)
			if ok && len(rest) >= t.Least && accept(rest) {
				return t.What
			}
		}
	}
	return ""
}
