package search

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// question is the state of one query.
type question struct {
	// answerer reads the index; the other fields belong to one query.
	answerer
	index  *Index
	ctx    context.Context
	an     *analyzer
	result *Result
}

// answerer reads an index of one format.
type answerer interface {
	// fetch loads what is needed to look up terms.
	fetch(terms []wanted) error
	// has reports whether a page has a term whose file is loaded, and idf is its weight.
	has(term string) bool
	idf(term string) float64
	// words returns the words that may be meant by one that no page has, most frequent
	// first.
	words(word string) ([]string, error)
	// synonyms returns the groups of terms with the same meaning, the first own of them
	// chosen by the owner.
	synonyms() (groups [][]string, own int)
	// pinned returns the pages that come first for terms.
	pinned(terms []wanted) []int
	// rank returns the pages that have one of the terms, best first; groups is the number
	// of words of the query, and section limits the pages.
	rank(terms []wanted, groups int, section string) ([]candidate, error)
	// rows returns what to show of pages.
	rows(found []candidate) ([]*row, error)
	// addSimilar adds and orders pages by the meaning of the words of the query, if the index has vectors, and
	// similarWords returns words that mean the same as one that no page has; ok is false if that is unknown.
	addSimilar(found []candidate, terms []wanted) ([]candidate, error)
	similarWords(word string) (found []string, ok bool)
	// inFolder returns a SectionError unless the index has pages in and below a section.
	inFolder(section string) error
}

// wanted is a term to look up, with its weight.
type wanted struct {
	// term is what is looked up, and word what the user typed.
	term   string
	word   string
	weight float64
	// group is the index of the query word that the term represents.
	group    int
	compound bool
	literal  bool // digits or a short word: not corrected as a typing error
	synonym  bool // not a word of the query
	part     bool // not a name for the same thing by itself: one of several words of a synonym, or related
}

// candidate is a page with its score for the query.
type candidate struct {
	page int
	// section is the best section, or -1 if the words are only in the title.
	section int
	score   float64
	// has is the number of words of the query that the page has, for one phrasing.
	has int
}

// answer finds the pages for each phrasing, fuses them, and shows the best. Without hits
// it suggests similar words.
func (q *question) answer() (*Result, error) {
	r := weigh()
	asked := &q.result.Query
	phrasings := asked.Phrasings[:min(len(asked.Phrasings), r.MaxQueries)]
	asked.Section = strings.Trim(asked.Section, "/")
	if asked.Section != "" {
		if err := q.inFolder(asked.Section); err != nil {
			return nil, err
		}
	}
	var lists [][]candidate
	var all []wanted
	weak := ""
	for _, phrasing := range phrasings {
		found, terms, words, err := q.rankPhrasing(clip(phrasing, r.MaxQueryBytes))
		if err != nil {
			return nil, err
		}
		lists = append(lists, found)
		all = append(all, terms...)
		if reason := weakness(found, words); len(lists) == 1 || reason == "" {
			weak = reason
		}
	}
	if len(q.result.Replaced) > 0 && weak == "" {
		weak = fmt.Sprintf("no page has the word %q", q.result.Replaced[0].Word)
	}
	q.result.Weak = weak
	found := fuse(lists)
	q.result.Pages = len(found)
	limit := asked.Limit
	if limit <= 0 {
		limit = r.MaxHits
	}
	from := min(max(0, asked.Offset), r.MaxOffset, len(found))
	found = found[from:min(len(found), from+min(limit, r.MaxLimit))]
	rows, err := q.rows(found)
	if err != nil {
		return nil, err
	}
	show := q.newShower(all)
	for i, row := range rows {
		q.result.Hits = append(q.result.Hits, show.hit(row, found[i]))
	}
	if q.result.Pages == 0 {
		return q.result, q.suggest(phrasings)
	}
	return q.result, nil
}

// weakness returns why the pages found for a phrasing of some words are probably no good
// answer, or "".
func weakness(found []candidate, words int) string {
	if len(found) == 0 {
		return "no page"
	}
	if best := found[0].has; best*2 < words {
		return fmt.Sprintf("the best page has %d of %d words", best, words)
	}
	return ""
}

// rankPhrasing ranks the pages for one phrasing, and returns the terms that were looked up
// and the number of words of the phrasing.
func (q *question) rankPhrasing(query string) (found []candidate, terms []wanted, words int, err error) {
	terms = q.terms(query)
	asked := slices.Clone(terms)
	if err := q.fetch(terms); err != nil {
		return nil, nil, 0, err
	}
	for _, t := range terms {
		words = max(words, t.group+1)
	}
	pinned := q.pinned(terms)
	if terms, err = q.addSynonyms(terms); err != nil {
		return nil, nil, 0, err
	}
	if terms, err = q.replaceUnknown(terms); err != nil {
		return nil, nil, 0, err
	}
	groups := 0
	for _, t := range terms {
		groups = max(groups, t.group+1)
	}
	if found, err = q.rank(terms, groups, q.result.Query.Section); err != nil {
		return nil, nil, 0, err
	}
	if found, err = q.addSimilar(found, asked); err != nil {
		return nil, nil, 0, err
	}
	best := 0.0
	if len(found) > 0 {
		best = found[0].score
	}
	for i := len(pinned) - 1; i >= 0; i-- {
		at := slices.IndexFunc(found, func(c candidate) bool { return c.page == pinned[i] })
		c := candidate{page: pinned[i], section: -1, has: len(terms)}
		if at >= 0 {
			c = found[at]
			found = slices.Delete(found, at, at+1)
		} else if q.result.Query.Section != "" {
			continue
		}
		c.score = best
		found = slices.Insert(found, 0, c)
	}
	return found, terms, words, nil
}

// fuse joins the rankings for several phrasings by reciprocal rank, times the score relative to the
// best page of the ranking: what is good for one of them, and fair for the others, comes first.
func fuse(lists [][]candidate) []candidate {
	if len(lists) == 1 {
		return lists[0]
	}
	const deepest = 100 // ranks of each list that count
	k := weigh().Fuse
	places := make(map[int]int)
	bestRank := make(map[int]int)
	var out []candidate
	for _, list := range lists {
		for rank, c := range list {
			at, ok := places[c.page]
			if !ok {
				at = len(out)
				places[c.page] = at
				bestRank[c.page] = rank
				out = append(out, candidate{page: c.page, section: c.section})
			}
			if rank < bestRank[c.page] && c.section >= 0 {
				bestRank[c.page] = rank
				out[at].section = c.section
			}
			if rank < deepest {
				share := 1.0
				if best := list[0].score; best > 0 {
					share = max(0, c.score/best)
				}
				out[at].score += share / (k + float64(rank))
			}
		}
	}
	slices.SortFunc(out, byScore)
	return out
}

// byScore orders candidates, the best first.
func byScore(a, b candidate) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return a.page - b.page
}

// coverage returns the factor for a page that has some of the words of a query.
func coverage(base float64, has uint32, groups int) float64 {
	on := 0
	if groups > 0 {
		on = bits.OnesCount32(has)
	}
	share := float64(on) / float64(max(1, min(groups, 32)))
	return base + float64((1-base)*share)
}

// terms returns the terms to look up: the words that are not stop words, or all words if
// there are no others.
func (q *question) terms(query string) []wanted {
	var all, telling []wanted
	seen := make(map[string]bool)
	group := 0
	q.an.tokens(query, func(t token) {
		if seen[t.term] || len(all) >= weigh().MaxTerms {
			return
		}
		seen[t.term] = true
		w := wanted{
			term:     t.term,
			word:     t.word,
			weight:   1,
			group:    group,
			compound: t.compound,
		}
		w.literal = strings.ContainsAny(t.word, "0123456789") ||
			utf8.RuneCountInString(t.word) < 4
		switch {
		case t.compound:
			w.weight = weigh().AsCompound
			w.group = max(0, group-1)
		default:
			w.weight = q.weightOf(t)
			group++
		}
		all = append(all, w)
		if !t.stop {
			telling = append(telling, w)
		}
	})
	if len(telling) == 0 {
		return all
	}
	renumber(telling)
	return withHeading(telling)
}

// weightOf returns the weight of a word in a query.
func (q *question) weightOf(t token) float64 {
	if q.an.weak[t.word] {
		return weigh().AsWeak
	}
	return 1
}

// withHeading adds the term for headings that consist of the other terms.
func withHeading(terms []wanted) []wanted {
	var parts []string
	for _, t := range terms {
		if !t.compound {
			parts = append(parts, t.term)
		}
	}
	whole := headingTerm(parts)
	if whole == "" {
		return terms
	}
	return append(terms, wanted{
		term:     whole,
		word:     whole,
		weight:   weigh().AsHeading,
		compound: true, // not a word, so never replaced
	})
}

// renumber closes the gaps left by stop words.
func renumber(terms []wanted) {
	numbers := make(map[int]int)
	for i := range terms {
		n, ok := numbers[terms[i].group]
		if !ok {
			n = len(numbers)
			numbers[terms[i].group] = n
		}
		terms[i].group = n
	}
}

// replaceUnknown replaces words that occur on no page, and whose synonyms do not either,
// with words that do: those with the same prefix, or else similar ones.
func (q *question) replaceUnknown(terms []wanted) ([]wanted, error) {
	var known, unknown []wanted
	for _, t := range terms {
		switch {
		case q.has(t.term):
			known = append(known, t)
		case q.has(plain(t.word)):
			t.term = plain(t.word) // a name of several parts, written as one
			known = append(known, t)
		case !t.compound && !t.synonym:
			unknown = append(unknown, t)
		}
	}
	unknown = slices.DeleteFunc(unknown, func(t wanted) bool { return q.promoteSynonyms(known, t) })
	if len(unknown) == 0 {
		return known, nil
	}
	for _, t := range unknown {
		words, err := q.words(t.word)
		if err != nil {
			return nil, err
		}
		found := beginning(t.word, words)
		weight := weigh().AsPrefix
		if len(found) == 0 {
			similar, known := q.similarWords(t.word)
			t.literal = t.literal || known // a word with a meaning is no typing error
			found, weight = similar, asSimilar
		}
		if len(found) == 0 && !t.literal {
			found, weight = near(t.word, words, 3), weigh().AsNear
		}
		if len(found) == 0 {
			continue
		}
		q.result.replaced(t.word, found)
		for _, word := range found {
			q.an.tokens(word, func(n token) {
				known = append(known, wanted{
					term:   n.term,
					word:   word,
					weight: float64(weight * min(t.weight, q.weightOf(n))),
					group:  t.group,
				})
			})
		}
	}
	return q.distinct(known)
}

// promoteSynonyms raises the weight of synonyms that replace a word missing from every page. These
// are the terms added for the word, and its synonyms that are in the query or were added for another
// word of it. It reports whether there are any.
func (q *question) promoteSynonyms(known []wanted, unknown wanted) bool {
	promoted := false
	promote := func(t *wanted) {
		t.weight = max(t.weight, float64(weigh().AsOnlySynonym*unknown.weight))
		promoted = true
	}
	for i := range known {
		if t := &known[i]; t.synonym && t.group == unknown.group {
			promote(t)
		}
	}
	groups, _ := q.synonyms()
	for _, group := range groups {
		if !slices.Contains(group, unknown.term) {
			continue
		}
		for _, member := range group {
			if findPhrase(known, member) < 0 {
				continue
			}
			for i := range known {
				if t := &known[i]; slices.Contains(strings.Fields(member), t.term) {
					promote(t)
				}
			}
		}
	}
	return promoted
}

// replaced notes what was searched instead of a word, once.
func (r *Result) replaced(word string, instead []string) {
	if !slices.ContainsFunc(r.Replaced, func(x Replacement) bool { return x.Word == word }) {
		r.Replaced = append(r.Replaced, Replacement{word, instead})
	}
}

// distinct keeps the entry of each term with the largest weight, and fetches all.
func (q *question) distinct(terms []wanted) ([]wanted, error) {
	slices.SortStableFunc(terms, func(a, b wanted) int {
		return cmp.Or(strings.Compare(a.term, b.term), cmp.Compare(b.weight, a.weight))
	})
	terms = slices.CompactFunc(terms, func(a, b wanted) bool { return a.term == b.term })
	return terms, q.fetch(terms)
}

// addSynonyms adds the other members of the groups of synonyms that the terms belong to, and related terms.
func (q *question) addSynonyms(terms []wanted) ([]wanted, error) {
	groups, own := q.synonyms()
	given := terms
	for n, group := range groups {
		factor := weigh().AsSynonym
		if n < own {
			factor = weigh().AsOwnSynonym
		}
		for i, member := range group {
			at := findPhrase(given, member)
			if at < 0 {
				continue
			}
			for j, other := range group {
				if j != i {
					terms = appendSynonym(terms, other, given[at], factor)
				}
			}
			break
		}
	}
	if !q.result.Query.Narrow {
		terms = q.addRelated(terms, given)
	}
	return terms, q.fetch(terms)
}

// addRelated adds the terms that documentation uses for the given ones, which are those of the query.
func (q *question) addRelated(terms, given []wanted) []wanted {
	table := relations(q.an.lang.Code)
	most := len(terms) + weigh().MaxRelated
	for _, of := range given {
		for _, r := range table[of.term] {
			if findPhrase(given, r.phrase) < 0 {
				continue
			}
			for _, term := range r.terms {
				if len(terms) == most {
					return terms
				}
				if findPhrase(terms, term) >= 0 {
					continue
				}
				terms = append(terms, wanted{
					term:    term,
					word:    term,
					weight:  float64(weigh().AsRelated * of.weight),
					group:   of.group,
					synonym: true,
					part:    true,
				})
			}
		}
	}
	return terms
}

// appendSynonym appends the terms of a synonym of a word of the query that are not wanted yet.
func appendSynonym(terms []wanted, synonym string, of wanted, factor float64) []wanted {
	for term := range strings.FieldsSeq(synonym) {
		if findPhrase(terms, term) < 0 {
			terms = append(terms, wanted{
				term:    term,
				word:    term,
				weight:  float64(factor * of.weight),
				group:   of.group,
				synonym: true,
				part:    term != synonym,
			})
		}
	}
	return terms
}

// findPhrase returns the place of the first word of a phrase among terms, if they have all
// of its words, which are separated by single spaces, or -1.
func findPhrase(terms []wanted, phrase string) int {
	term, rest, more := strings.Cut(phrase, " ")
	first := findTerm(terms, term)
	for first >= 0 && more {
		term, rest, more = strings.Cut(rest, " ")
		if findTerm(terms, term) < 0 {
			return -1
		}
	}
	return first
}

func findTerm(terms []wanted, term string) int {
	for i := range terms {
		if terms[i].term == term {
			return i
		}
	}
	return -1
}

// near returns words similar to word. It skips words with digits unless word has some, as
// they are names rather than corrections of typing errors.
func near(word string, words []string, limit int) []string {
	found := nearest.Nearest(word, words, 4*limit)
	found = slices.DeleteFunc(found, func(w string) bool {
		return strings.ContainsAny(w, "0123456789") &&
			!strings.ContainsAny(word, "0123456789")
	})
	return found[:min(len(found), limit)]
}

// beginning returns the most frequent words that begin with word.
func beginning(word string, words []string) []string {
	if utf8.RuneCountInString(word) < 3 {
		return nil
	}
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, word) && w != word {
			if found = append(found, w); len(found) == weigh().MaxPrefix {
				break
			}
		}
	}
	return found
}

// suggest adds similar words to a result without hits.
func (q *question) suggest(phrasings []string) (err error) {
	for _, phrasing := range phrasings {
		q.an.tokens(phrasing, func(t token) {
			if t.stop || t.compound || err != nil {
				return
			}
			words, failed := q.words(t.word)
			if failed != nil {
				err = failed
				return
			}
			for _, w := range near(t.word, words, 4) {
				if len(q.result.Near) < weigh().MaxNear && !slices.Contains(q.result.Near, w) {
					q.result.Near = append(q.result.Near, w)
				}
			}
		})
	}
	return err
}
