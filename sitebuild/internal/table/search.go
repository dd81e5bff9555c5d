package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
)

const (
	// searchRows is how many rows a searchable table may have: the index is built in memory.
	searchRows = 200_000
	// searchText is how many bytes of a cell are searched.
	searchText = 4000
)

// search builds the tool that finds rows by words in their texts; nil if the table has no
// texts or too many rows.
func (t *tab) search(ctx context.Context) (*sitewriter.Search, error) {
	var texts []int
	for i, c := range t.cols {
		hasTexts := c.kind == kindText && c.binaries+c.nulls < c.rows
		if hasTexts && (t.src.nested[i] || slices.Contains(t.shown, i)) {
			texts = append(texts, i)
		}
	}
	if len(texts) == 0 || t.rows > searchRows {
		return nil, nil
	}
	var failed error
	entries := func(yield func(sitewriter.SearchEntry) bool) {
		failed = t.eachRow(ctx, func(r row, n int) error {
			e, ok := t.entry(r, n, texts)
			if ok && !yield(e) {
				return errStopped
			}
			return nil
		})
	}
	s, err := sitewriter.NewSearch("search_"+t.many, entries, &sitewriter.SearchOptions{
		Title:       "Search " + spaced(t.many),
		Description: fmt.Sprintf("The %s that best match words of their texts, such as a part of a name.", spaced(t.many)),
		Hint: t.names.If(t.getName(), "Read one with %s: the path named here is its "+
			spaced(strings.Join(t.keyArgs(), ", "))+"."),
	})
	if err == nil {
		err = failed
	}
	return s, err
}

// entry returns a row as a search entry. ok is false for a row without a key.
func (t *tab) entry(r row, n int, texts []int) (e sitewriter.SearchEntry, ok bool) {
	uri, key := t.rowURI(r, n)
	if uri == "" {
		return e, false
	}
	var words []string
	for _, i := range texts {
		if v, ok := t.value(r, i); ok && v.sort != binary {
			text := v.text[:min(len(v.text), searchText)]
			words = append(words, strings.ToValidUTF8(text, ""))
		}
	}
	return sitewriter.SearchEntry{
		ID:    strings.Clone(key),
		Title: strings.Clone(t.label(r, key)),
		Text:  strings.Join(words, "\n"),
	}, len(words) > 0
}
