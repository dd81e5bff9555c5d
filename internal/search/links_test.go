package search

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// linkedPages returns the index of pages with links, by ID.
func linkedPages(t *testing.T, pages []Page, links map[string][]string) *Memory {
	t.Helper()
	m := &Memory{}
	b := NewBuilder(&Options{Language: "en"}, m.Write)
	for _, p := range pages {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
		if to, ok := links[p.ID]; ok {
			b.Link(to)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := New(m).Verify(t.Context(), 0, func(name string, err error) { t.Error(name, err) }); err != nil {
		t.Error(err)
	}
	return m
}

// text returns a page whose title does not matter.
func text(id, text string) Page {
	return Page{ID: id, Title: "Part " + id, Sections: []Section{{Text: text}}}
}

// TestLinks: of two pages with the same words, the one that a good page links to comes first.
func TestLinks(t *testing.T) {
	pages := []Page{
		text("a", "The sluice is open."), text("b", "The sluice is open."), text("c", "The sluice is open."),
		text("hub", "Sluice and sluice: how a sluice works."), text("other", "Anything else."),
	}
	for name, tt := range map[string]struct {
		links map[string][]string
		want  string
	}{
		"without links":                    {nil, "a"},
		"from a good page":                 {map[string][]string{"hub": {"c", "c"}}, "c"},
		"from a page without the word":     {map[string][]string{"other": {"c"}}, "a"},
		"to itself and to unknown pages":   {map[string][]string{"c": {"c", "gone"}}, "a"},
		"to a page that is added later":    {map[string][]string{"a": {"hub"}, "b": {"c"}}, "c"},
		"two good pages instead of one":    {map[string][]string{"hub": {"b", "c"}, "a": {"c"}}, "c"},
		"a good page instead of a bad one": {map[string][]string{"hub": {"c"}, "a": {"b"}}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := New(linkedPages(t, pages, tt.links)).Search(t.Context(), "sluice")
			if err != nil || len(r.Hits) != 4 || r.Hits[0].Page != "hub" || r.Hits[1].Page != tt.want {
				t.Errorf("got %+v, %v, want hub and %s first", r.Hits, err, tt.want)
			}
		})
	}
}

// TestLinksOutsideTheSection: pages outside the section that was asked for do not count.
func TestLinksOutsideTheSection(t *testing.T) {
	pages := []Page{text("guide/a", "The sluice is open."), text("guide/b", "The sluice is open."), text("hub", "Sluice.")}
	m := linkedPages(t, pages, map[string][]string{"hub": {"guide/b"}})
	for section, want := range map[string]string{"": "guide/b", "guide": "guide/a"} {
		r, err := New(m).Find(t.Context(), &Query{Phrasings: []string{"sluice"}, Section: section})
		if err != nil {
			t.Fatal(err)
		}
		hits := slices.DeleteFunc(r.Hits, func(h Hit) bool { return h.Page == "hub" })
		if len(hits) != 2 || hits[0].Page != want {
			t.Errorf("in %q: %+v, want %s first", section, hits, want)
		}
	}
}

// TestManyLinks keeps the first pages of those that link to a page.
func TestManyLinks(t *testing.T) {
	var pages []Page
	links := make(map[string][]string)
	for i := range maxLinks + 20 {
		id := fmt.Sprint("page-", i)
		pages = append(pages, text(id, "A sluice."))
		links[id] = []string{"page-5"}
	}
	loaded, _, err := parseHead(linkedPages(t, pages, links).files[HeadName])
	if err != nil {
		t.Fatal(err)
	}
	l := &loaded.(*head).layout
	from := l.links[l.linked[5]:l.linked[6]]
	if len(from) != maxLinks || from[0] != 0 || from[5] != 6 || len(l.links) != maxLinks {
		t.Errorf("page 5 has links from %v, all are %v", from, l.links)
	}
}

// TestAllLinks keeps the links to all pages, but few to each, so that the head of a large site stays small.
func TestAllLinks(t *testing.T) {
	to := make([][]int32, allLinks/3)
	for page := range to {
		for from := range page % 10 {
			to[page] = append(to[page], int32(2*from+1))
		}
	}
	var l layout
	if err := l.decodeLinks(encodeLinks(to), len(to)); err != nil {
		t.Fatal(err)
	}
	// With one more for each page that has it, there would be more than allLinks.
	from := l.links[l.linked[9]:l.linked[10]]
	if len(l.links) > allLinks || len(l.links)+len(to)*(9-len(from))/10 <= allLinks || len(from) < 3 || from[2] != 5 {
		t.Errorf("%d links, those to page 9 from %v", len(l.links), from)
	}
	if from := l.links[l.linked[12]:l.linked[13]]; !slices.Equal(from, to[12]) {
		t.Errorf("links to page 12 from %v, want %v", from, to[12])
	}
}

// TestLinksOfBestPages: links count for the best pages only, in Go as in JavaScript.
func TestLinksOfBestPages(t *testing.T) {
	pages := []Page{text("hub", "Sluice and sluice: how a sluice works.")}
	for i := range withLinks + 50 {
		pages = append(pages, text(fmt.Sprint("p-", i), "The sluice is open."))
	}
	last, beyond := fmt.Sprint("p-", withLinks-2), fmt.Sprint("p-", withLinks+9)
	r, err := New(linkedPages(t, pages, map[string][]string{"hub": {beyond, last}})).Search(t.Context(), "sluice")
	if err != nil || r.Hits[0].Page != "hub" || r.Hits[1].Page != last || r.Hits[2].Page != "p-0" {
		t.Errorf("got %+v, %v, want hub, %s and p-0 first", r.Hits, err, last)
	}
}

// TestDamagedLinks refuses heads whose links lead to pages that do not exist.
func TestDamagedLinks(t *testing.T) {
	for name, data := range map[string][]byte{
		"too short":         {0},
		"a page beyond all": {1, 4, 0, 0},
		"the same page":     {2, 1, 0, 0, 0},
		"something left":    {1, 3, 0, 0, 0},
		"too large":         {0, 0, 2, 1},
		"an open number":    {0, 1, 0x80, 0},
		"an open size":      {0, 0, 0x80},
	} {
		var l layout
		if err := l.decodeLinks(base64.RawStdEncoding.EncodeToString(data), 3); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var l layout
	if err := l.decodeLinks("!", 0); err == nil {
		t.Error("not base64: no error")
	}
	data := append([]byte{maxLinks + 1}, slices.Repeat([]byte{1}, maxLinks+1)...)
	data = append(data, make([]byte, maxLinks)...)
	if err := l.decodeLinks(base64.RawStdEncoding.EncodeToString(data), maxLinks+1); err == nil {
		t.Error("too many: no error")
	}
	l = layout{}
	if err := l.decodeLinks(encodeLinks([][]int32{{0, 2}, nil, {1}}), 3); err != nil ||
		!slices.Equal(l.links, []int32{0, 2, 1}) || !slices.Equal(l.linked, []int32{0, 2, 2, 3}) {
		t.Errorf("links %v, %v, %v", l.links, l.linked, err)
	}
}

// TestFuse: a page that is nearly the best for one phrasing comes before one that is far from the best for
// both, although its ranks are better.
func TestFuse(t *testing.T) {
	found := fuse([][]candidate{
		{{page: 1, score: 10}, {page: 2, score: 1}},
		{{page: 3, score: 10}, {page: 2, score: 1}},
	})
	if len(found) != 3 || found[0].page != 1 || found[2].page != 2 {
		t.Errorf("got %+v", found)
	}
}

// TestPinOfSeveralPhrasings: a pinned page that has little of the query comes first for all phrasings.
func TestPinOfSeveralPhrasings(t *testing.T) {
	m := &Memory{}
	b := NewBuilder(&Options{Language: "en", Pins: []Pin{{"sluice", "other"}}}, m.Write)
	for _, p := range []Page{
		text("a", "The sluice is open."), text("other", strings.Repeat("Anything else. ", 99)+"A sluice."),
	} {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := New(m).Find(t.Context(), &Query{Phrasings: []string{"sluice", "open sluice"}})
	if err != nil || len(r.Hits) != 2 || r.Hits[0].Page != "other" {
		t.Errorf("got %+v, %v", r, err)
	}
}
