package search

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// marks are the words of a section's text, found once and kept with it.
type marks struct {
	once  sync.Once
	words []mark
}

// mark is a term in a text, by its hash, and where its word begins.
type mark struct {
	term uint32
	at   int32
}

// shower turns rows into hits.
type shower struct {
	*question
	// weights are those of the terms looked up, by hash.
	weights map[uint32]float64
	// bits has a bit for each of the terms, so that most other words need no lookup.
	bits [16]uint64
}

// newShower returns a shower for the terms that were looked up.
func (q *question) newShower(terms []wanted) *shower {
	s := &shower{question: q, weights: make(map[uint32]float64, len(terms))}
	for _, t := range terms {
		hash := hashOf(t.term)
		s.bits[hash>>6&15] |= 1 << (hash & 63)
		s.weights[hash] = max(s.weights[hash], float64(t.weight*q.idf(t.term)))
	}
	return s
}

// hashOf returns the FNV-1a hash of a term.
func hashOf(term string) uint32 {
	h := uint32(2166136261)
	for i := range len(term) {
		h ^= uint32(term[i])
		h *= 16777619
	}
	return h
}

// hit returns a page as a result, with a snippet from its best section, or from the first
// that has text.
func (s *shower) hit(r *row, c candidate) Hit {
	h := Hit{
		Page:  r.ID,
		Title: r.Title,
		Link:  r.Link,
	}
	at := c.section - r.First
	if c.section >= 0 && at >= 0 && at < len(r.Sections) {
		section := &r.Sections[at]
		h.Slug = section.Slug
		h.Heading = section.Heading
		h.Snippet = s.snippet(section)
	}
	for i := 0; h.Snippet == "" && i < len(r.Sections); i++ {
		h.Snippet = s.snippet(&r.Sections[i])
	}
	return h
}

// snippet returns the part of a section's text that has the most of the terms, in whole
// sentences if they are short, with "…" at the cuts.
func (s *shower) snippet(section *sectionRow) string {
	text := section.Text
	most := weigh().SnippetBytes
	if len(text) <= most {
		return text
	}
	section.marks.once.Do(func() {
		s.an.tokens(text, func(t token) {
			section.marks.words = append(section.marks.words, mark{hashOf(t.term), int32(t.at)})
		})
	})
	var found []mark
	for _, m := range section.marks.words {
		if s.bits[m.term>>6&15]>>(m.term&63)&1 != 0 && s.weights[m.term] > 0 {
			found = append(found, m)
		}
	}
	start := 0
	best := 0.0
	var seen []uint32
	for i, first := range found {
		sum := 0.0
		seen = seen[:0]
		for _, m := range found[i:] {
			if int(m.at) >= int(first.at)+most*3/4 {
				break
			}
			if !slices.Contains(seen, m.term) {
				seen = append(seen, m.term)
				sum += s.weights[m.term]
			}
		}
		if sum > best {
			start = int(first.at)
			best = sum
		}
	}
	return cut(text, sentenceStart(text, start, most/3), most)
}

// sentenceStart returns the beginning of the sentence that contains at, if that is at most
// limit bytes before, and otherwise a word shortly before at.
func sentenceStart(text string, at, limit int) int {
	for i := at; i > max(1, at-limit); i-- {
		if text[i-1] == ' ' && strings.IndexByte(".!?:;", text[i-2]) >= 0 {
			return i
		}
	}
	if at <= limit {
		return 0
	}
	from := at - limit/2
	if i := strings.IndexByte(text[from:at], ' '); i >= 0 {
		return from + i + 1
	}
	return at
}

// cut returns about size bytes of text from start, in whole words.
func cut(text string, start, size int) string {
	from := start
	if from+size > len(text) {
		from = max(0, len(text)-size)
		if i := strings.IndexByte(text[from:], ' '); from > 0 && i >= 0 && from+i < start {
			from += i + 1
		}
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	to := min(len(text), from+size)
	if to < len(text) {
		if i := strings.LastIndexByte(text[from:to], ' '); i > size/2 {
			to = from + i
		}
		for to > from && !utf8.RuneStart(text[to]) {
			to--
		}
	}
	out := text[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

// Text formats the result for a model: each page with its path, its best section and a
// snippet.
func (r *Result) Text() string {
	var b strings.Builder
	asked := quoted(r.Query.Phrasings)
	for _, x := range r.Replaced {
		fmt.Fprintf(&b, "No page has the word %q; searched for %s instead.\n",
			x.Word, quoted(x.Instead))
	}
	switch {
	case r.Pages == 0 && len(r.Near) > 0:
		fmt.Fprintf(&b, "No page matches %s. Words that some page has: %s.\n", asked, strings.Join(r.Near, ", "))
	case r.Pages == 0:
		fmt.Fprintf(&b, "No page matches %s. Try other words, fewer, or their simplest form.\n", asked)
	case len(r.Hits) == 0:
		fmt.Fprintf(&b, "%d pages match %s, none from number %d on.\n", r.Pages, asked, r.Query.Offset+1)
	case r.Query.Offset > 0:
		fmt.Fprintf(&b, "%d pages match %s; numbers %d to %d:\n", r.Pages, asked, r.Query.Offset+1,
			r.Query.Offset+len(r.Hits))
	case r.Pages == 1:
		fmt.Fprintf(&b, "1 page matches %s:\n", asked)
	case r.Pages > len(r.Hits):
		fmt.Fprintf(&b, "%d pages match %s; the best %d:\n", r.Pages, asked, len(r.Hits))
	default:
		fmt.Fprintf(&b, "%d pages match %s, the best first:\n", r.Pages, asked)
	}
	for i, h := range r.Hits {
		fmt.Fprintf(&b, "\n%d. %s\n   path: %s\n", r.Query.Offset+i+1, h.Title, h.Page)
		if h.Slug != "" {
			fmt.Fprintf(&b, "   heading: %s (%s)\n", h.Slug, h.Heading)
		}
		if h.Link != "" {
			fmt.Fprintf(&b, "   url: %s\n", h.Link)
		}
		if h.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", h.Snippet)
		}
	}
	if r.Hint != "" && len(r.Hits) > 0 {
		fmt.Fprintf(&b, "\n%s\n", r.Hint)
	}
	return b.String()
}

func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(list, ", ")
}
