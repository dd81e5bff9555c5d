package secrets

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Found is a match in a JSON document.
type Found struct {
	Match
	// Pointer is the JSON pointer of the value with the match.
	Pointer string
	// Offset is the start of that value in the document.
	Offset int
}

// maxFound limits the matches in one document.
const maxFound = 1000

// FindDocument returns the secrets in the values and names of the valid JSON document
// doc, one per place and description. Members called "blob" and "data" are decoded.
// Offsets of the matches are relative to the value at Pointer.
func (s *Scanner) FindDocument(doc []byte) []Found {
	w := &walker{
		scanner: s,
		doc:     doc,
		seen:    make(map[string]bool),
	}
	if i := jsonscan.Space(doc, 0); i < len(doc) {
		_, _ = w.value(i, 0, "", "") // the document is valid
	}
	return w.found
}

// walker walks the values of a document.
type walker struct {
	// scanner has the patterns, and doc is the document.
	scanner *Scanner
	doc     []byte
	// found are the secrets so far, in the order of the document.
	found []Found
	// seen has what was reported, so that a repeated secret is one finding.
	seen map[string]bool
	// variables has the names of variables seen so far, and dumped reports that they were found to
	// be a dump of an environment.
	variables variableSet
	dumped    bool
}

// value searches the value at doc[i], which is called name, and returns its end.
func (w *walker) value(i, depth int, pointer, name string) (int, error) {
	switch w.doc[i] {
	case '"':
		end, err := jsonscan.Value(w.doc, i)
		if err != nil {
			return end, err
		}
		if text, ok := jsonscan.Unquote(w.doc[i:end]); ok {
			w.text(text, i, pointer, name)
		}
		return end, nil
	case '{':
		return jsonscan.Object(w.doc, i, depth, func(key []byte, i int) (int, error) {
			name := string(key)
			at := pointer + "/" + jsonscan.EscapeToken(name)
			matches := w.scanner.find(name, 0, &variableSet{})
			if len(matches) > 0 {
				w.add(pointer, i, settle(matches))
				at = pointer + "/" + w.scanner.Redact(name)
			}
			return w.value(jsonscan.Space(w.doc, i), depth+1, at, name)
		})
	case '[':
		place := 0
		return jsonscan.Array(w.doc, i, depth, func(i int) (int, error) {
			at := pointer + "/" + strconv.Itoa(place)
			place++
			return w.value(jsonscan.Space(w.doc, i), depth+1, at, "")
		})
	}
	return jsonscan.ValueAt(w.doc, i, depth)
}

// text searches one string.
func (w *walker) text(text string, offset int, pointer, name string) {
	if name == "blob" || name == "data" {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			w.binary(decoded, offset, pointer)
			return
		}
	}
	matches := w.scanner.find(text, 0, &w.variables)
	if name != "" {
		w.variables.note(name, text, w.scanner.pairs)
		if secretName(name) && secretPair(name, text, true, true, false) {
			matches = append(matches, Match{Pair, "a value called " + name, 0, len(text)})
		}
	}
	w.add(pointer, offset, settle(matches))
	w.dump(pointer, offset)
}

// dump adds a match at the value that completes a list of environment variables.
func (w *walker) dump(pointer string, offset int) {
	if !w.dumped && w.variables.dump() {
		w.dumped = true
		w.add(pointer, offset, []Match{{Dump, dumpText, 0, 0}})
	}
}

// binary searches decoded data: fully if it is text, or else only for the environment's
// secrets.
func (w *walker) binary(data []byte, offset int, pointer string) {
	var matches []Match
	if utf8.Valid(data) {
		matches = w.scanner.find(string(data), 0, &w.variables)
	} else {
		w.scanner.findNeedles(string(data), func(kind Kind, what string, start, end int) {
			matches = append(matches, Match{kind, what, start, end})
		})
	}
	w.add(pointer, offset, settle(matches))
	w.dump(pointer, offset)
}

// add adds matches, one per place and description.
func (w *walker) add(pointer string, offset int, matches []Match) {
	for _, m := range matches {
		key := fmt.Sprintf("%s\x00%s\x00%s", pointer, m.Kind, m.What)
		if w.seen[key] || len(w.found) >= maxFound {
			continue
		}
		w.seen[key] = true
		w.found = append(w.found, Found{m, pointer, offset})
	}
}
