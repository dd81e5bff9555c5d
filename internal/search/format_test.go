package search

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// FuzzRead feeds untrusted files to the reader. Their checksums are correct, as an
// attacker would write those, too.
func FuzzRead(f *testing.F) {
	m := &Memory{}
	b := NewBuilder(nil, m.Write)
	for _, p := range []Page{
		{ID: "a", Title: "A page", Sections: []Section{{Text: "rate limit"}, {Slug: "x", Heading: "X", Text: "archive"}}},
		{ID: "b", Title: "Another", Sections: []Section{{Text: "limits and archives"}}},
	} {
		if err := b.Add(p); err != nil {
			f.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(m.files["terms-0.json"], m.files["pages-0.json"], m.files[wordsName], "rate limit", 2)
	f.Add([]byte(`{"terms":{"a":"AQEBAQE"}}`),
		[]byte(`{"pages":[{"id":"","sections":[]}]}`), []byte(`{"words":"a b"}`), "a", 1)
	f.Add([]byte(`{"terms":{"a":"AQEBAQE/////////////AQ"}}`), []byte(`{"pages":null}`), []byte(`[]`), "a", 1<<40)
	fuzzbound.Fuzz(f, func(t *testing.T, terms, rows, words []byte, query string, pages int) {
		m := &Memory{}
		h := head{
			Format: format,
			Pages:  pages,
			Words:  sum(words),
			Terms:  []shard{{"", sum(terms)}},
			Rows:   []shard{{"0", sum(rows)}},
		}
		for name, data := range map[string][]byte{
			HeadName:       encode(&h),
			"terms-0.json": terms,
			"pages-0.json": rows,
			wordsName:      words,
		} {
			_ = m.Write(name, data)
		}
		r, err := New(m).Search(t.Context(), query)
		if err == nil && len(r.Hits) > maxHits {
			t.Errorf("%d hits", len(r.Hits))
		}
	})
}

func TestHeadIsChecked(t *testing.T) {
	for name, text := range map[string]string{
		"another format":    `{"format":2}`,
		"unsorted terms":    `{"format":1,"pages":1,"terms":[["b",""],["a",""]]}`,
		"unsorted pages":    `{"format":1,"pages":9,"rows":[["5",""],["3",""]]}`,
		"pages beyond last": `{"format":1,"pages":1,"rows":[["1",""]]}`,
		"not a pair":        `{"format":1,"pages":1,"rows":[["1"]]}`,
		"too many":          `{"format":1,"pages":99999999999}`,
		"not JSON":          `{"format":1`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := parseHead([]byte(text)); err == nil {
				t.Error("no error")
			}
		})
	}
}
