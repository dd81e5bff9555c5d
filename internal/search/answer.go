package search

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// snippet returns the part of text that contains most of the terms, with "…" at the cuts.
func (q *question) snippet(text string, terms []wanted) string {
	if len(text) <= snippetLen {
		return text
	}
	weights := make(map[string]float64)
	for _, t := range terms {
		weights[t.term] = t.weight
	}
	type match struct {
		at   int
		term string
	}
	var found []match
	q.an.tokens(text, func(t token) {
		if weights[t.term] > 0 {
			found = append(found, match{t.at, t.term})
		}
	})
	start := 0
	best := 0.0
	for i := range found {
		sum := 0.0
		seen := map[string]bool{}
		for j := i; j < len(found) && found[j].at < found[i].at+snippetLen*3/4; j++ {
			if !seen[found[j].term] {
				seen[found[j].term] = true
				sum += weights[found[j].term]
			}
		}
		if sum > best {
			start = found[i].at
			best = sum
		}
	}
	return cut(text, start)
}

// cut returns about snippetLen bytes of text from shortly before start, in whole words.
func cut(text string, start int) string {
	from := max(0, start-snippetLen/6)
	if from+snippetLen > len(text) {
		from = max(0, len(text)-snippetLen)
	}
	to := min(len(text), from+snippetLen)
	if from > 0 {
		i := strings.IndexByte(text[from:to], ' ')
		if i >= 0 && from+i < max(start, from+20) {
			from += i + 1
		}
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
	}
	if to < len(text) {
		if i := strings.LastIndexByte(text[from:to], ' '); i > snippetLen/2 {
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
	for _, x := range r.Replaced {
		fmt.Fprintf(&b, "No page has the word %q; searched for %s instead.\n",
			x.Word, quoted(x.Instead))
	}
	switch {
	case len(r.Hits) == 0 && len(r.Near) > 0:
		fmt.Fprintf(&b, "No page matches %q. Words that some page has: %s.\n",
			r.Query, strings.Join(r.Near, ", "))
	case len(r.Hits) == 0:
		fmt.Fprintf(&b, "No page matches %q. Try other words, fewer, or their simplest form.\n", r.Query)
	case r.Pages == 1:
		fmt.Fprintf(&b, "1 page matches %q:\n", r.Query)
	case r.Pages > len(r.Hits):
		fmt.Fprintf(&b, "%d pages match %q; the best %d:\n", r.Pages, r.Query, len(r.Hits))
	default:
		fmt.Fprintf(&b, "%d pages match %q, the best first:\n", r.Pages, r.Query)
	}
	for i, h := range r.Hits {
		fmt.Fprintf(&b, "\n%d. %s\n   path: %s\n", i+1, h.Title, h.Page)
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
