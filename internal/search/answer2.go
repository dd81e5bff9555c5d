package search

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// answer2 answers one question from an index of format 2.
type answer2 struct {
	*question
	head    *head
	files   map[int]*termFile
	found   map[string]string // postings of terms that were looked up
	scratch *scratch
	space   *space // nil without vectors
}

var _ answerer = (*answer2)(nil)

// scratch is the memory of one ranking: a score for each page and section, zero except
// during a ranking, and the numbers of those that are not.
type scratch struct {
	pages    []tally
	sections []float64
	touched  []int32 // pages
	parts    []int32 // sections
	buffer   []byte
}

// tally accumulates the score of a page.
type tally struct {
	score float64
	title float64 // the share of the title's words that are in the query
	has   uint32  // bit set of the query words on the page
	// best is the number of the best section and second the score of the next.
	best           int32
	first, second2 float64
}

func parseTerms(data []byte) (any, int64, error) {
	f, err := decode[termFile](data)
	return f, int64(3 * len(data)), err
}

func parseRows(data []byte) (any, int64, error) {
	f, err := decode[rowFile](data)
	return f, int64(4 * len(data)), err
}

// termFile loads a file of terms.
func (a *answer2) termFile(n int) (*termFile, error) {
	name := fileName("terms", n)
	loaded, err := a.load(name, parseTerms)
	if err != nil {
		return nil, err
	}
	f, ok := loaded.(*termFile)
	if !ok || f.Of != a.head.Of {
		return nil, a.stale(name)
	}
	return f, nil
}

// rowFile loads a file of rows.
func (a *answer2) rowFile(n int) (*rowFile, error) {
	name := fileName("pages", n)
	loaded, err := a.load(name, parseRows)
	if err != nil {
		return nil, err
	}
	f, ok := loaded.(*rowFile)
	if !ok || f.Of != a.head.Of {
		return nil, a.stale(name)
	}
	return f, nil
}

func (a *answer2) fetch(terms []wanted) error {
	if a.files == nil {
		a.files = make(map[int]*termFile)
	}
	var numbers []int
	for _, t := range terms {
		n := a.head.termFileOf(t.term)
		if a.files[n] == nil && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	if a.head.Terms == 0 || len(numbers) == 0 {
		return nil
	}
	loaded, err := each(a.question, "terms", numbers, a.termFile)
	if err != nil {
		return err
	}
	for i, n := range numbers {
		a.files[n] = loaded[i]
	}
	return nil
}

// postings returns the postings of a term whose file is loaded, or "".
func (a *answer2) postings(term string) string {
	if postings, ok := a.found[term]; ok {
		return postings
	}
	f := a.files[a.head.termFileOf(term)]
	if f == nil {
		return ""
	}
	_, postings, _ := f.line(term)
	if postings == elsewhere {
		postings = ""
	}
	if a.found == nil {
		a.found = make(map[string]string)
	}
	a.found[term] = postings
	return postings
}

func (a *answer2) has(term string) bool { return a.postings(term) != "" }

func (a *answer2) idf(term string) float64 {
	return idf(a.head.Pages, pagesWith(a.postings(term)))
}

func (a *answer2) synonyms() ([][]string, int) { return a.head.Synonyms, a.head.OwnSynonyms }

func (a *answer2) pinned(terms []wanted) []int {
	var pages []int
	for _, p := range a.head.Pins {
		if findPhrase(terms, p.Terms) >= 0 && !slices.Contains(pages, p.Page) {
			pages = append(pages, p.Page)
		}
	}
	return pages
}

// words returns the words of the files that have words beginning like word: those with the
// same first character that are at least as long as a correction of word can be.
func (a *answer2) words(word string) ([]string, error) {
	if a.head.Terms == 0 {
		return nil, nil
	}
	files, err := each(a.question, "terms", a.head.wordFilesOf(plain(word)), a.termFile)
	if err != nil {
		return nil, err
	}
	var found []spelledWord
	for _, f := range files {
		found = append(found, f.vocabulary.like(f, word)...)
	}
	slices.SortStableFunc(found, byFrequency)
	list := make([]string, 0, len(found))
	listed := make(map[string]bool, len(found))
	for _, w := range found { // one with synonyms may be in two files
		if !listed[w.word] {
			listed[w.word] = true
			list = append(list, w.word)
		}
	}
	return list, nil
}

// vocabulary are the words of a file of terms, by their first character.
type vocabulary struct {
	once  sync.Once
	words map[rune][]spelledWord
}

type spelledWord struct {
	word  string
	pages int
}

// byFrequency orders words, the most frequent first.
func byFrequency(a, b spelledWord) int {
	return cmp.Or(b.pages-a.pages, strings.Compare(a.word, b.word))
}

// like returns the words of a file as [answer2.words] does.
func (v *vocabulary) like(f *termFile, word string) []spelledWord {
	v.once.Do(func() {
		v.words = make(map[rune][]spelledWord)
		for line := range strings.SplitSeq(f.Terms, "\n") {
			term, rest, _ := strings.Cut(line, " ")
			spelling, postings, ok := strings.Cut(rest, " ")
			if !ok || len(term) < 3 || strings.Contains(term, headingJoint) {
				continue
			}
			w := spelled(term, spelling)
			first, _ := utf8.DecodeRuneInString(w)
			v.words[first] = append(v.words[first], spelledWord{w, pagesWith(postings)})
		}
	})
	first, _ := utf8.DecodeRuneInString(word)
	var list []spelledWord
	for _, w := range v.words[first] {
		if len(w.word) > len(word)-4 {
			list = append(list, w)
		}
	}
	return list
}

// rank ranks pages by BM25 of the whole page, and of its two best sections.
func (a *answer2) rank(terms []wanted, groups int, section string) ([]candidate, error) {
	s := a.scratch
	l := &a.head.layout
	s.reset(len(l.lengths), len(l.sections))
	defer s.clear()
	allowed, err := a.allow(section)
	if err != nil {
		return nil, err
	}
	r := weigh()
	frequent := a.mostFrequent(terms)
	for _, t := range terms {
		encoded := a.postings(t.term)
		if encoded == "" {
			continue
		}
		with := pagesWith(encoded)
		rarity := idf(a.head.Pages, with)
		if !t.compound {
			common := idf(a.head.Pages, max(with, frequent[min(t.group, 31)]))
			rarity = float64((1-r.FrequentShare)*rarity) + float64(r.FrequentShare*common)
		}
		weight := float64(t.weight * (rarity + r.RarityBase))
		bit := uint32(1) << min(t.group, 31)
		named := titlePart(t)
		err := eachPosting(encoded, l, &s.buffer, func(p posting) {
			if allowed != nil && !allowed[p.page] {
				return
			}
			y := &s.pages[p.page]
			if y.has == 0 {
				s.touched = append(s.touched, int32(p.page))
			}
			y.has |= bit
			part := saturate(r.K1, r.LengthPage, float64(p.weight), float64(l.lengths[p.page])/l.pageMean)
			if p.title > 0 {
				part += r.TitleBonus / math.Sqrt(float64(p.title))
				y.title += named / float64(p.title)
			}
			y.score += float64(weight * part)
			for _, sw := range p.sections {
				at := l.first[p.page] + sw.section
				if s.sections[at] == 0 {
					s.parts = append(s.parts, int32(at))
				}
				length := float64(l.sections[at]) / l.sectionMean
				s.sections[at] += float64(weight * saturate(r.K1, r.LengthSection, float64(sw.weight), length))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return a.collect(groups), nil
}

// titlePart returns how much a term counts as a word of a title that is in the query.
func titlePart(t wanted) float64 {
	switch {
	case t.compound: // its parts count
		return 0
	case t.synonym:
		return weigh().TitleSynonym
	}
	return 1
}

// mostFrequent returns, for each word of the query, the number of pages with the most frequent of
// the terms that were looked up for it: a rare word for something that most pages have by another
// name tells little. One of several words of a synonym is no such name.
func (a *answer2) mostFrequent(terms []wanted) (pages [32]int) {
	for _, t := range terms {
		if g := min(t.group, 31); !t.compound && !t.part {
			pages[g] = max(pages[g], pagesWith(a.postings(t.term)))
		}
	}
	return pages
}

// collect returns the pages of a ranking, best first.
func (a *answer2) collect(groups int) []candidate {
	s := a.scratch
	l := &a.head.layout
	r := weigh()
	for _, p := range s.touched {
		s.pages[p].best = -1
	}
	for _, at := range s.parts {
		y := &s.pages[l.page[at]]
		score := s.sections[at]
		switch {
		case y.best < 0 || score > y.first || score == y.first && at < y.best:
			y.second2 = y.first
			y.first = score
			y.best = at
		case score > y.second2:
			y.second2 = score
		}
	}
	out := make([]candidate, 0, len(s.touched))
	for _, p := range s.touched {
		y := &s.pages[p]
		c := candidate{page: int(p), section: -1, has: bits.OnesCount32(y.has)}
		if y.best >= 0 {
			c.section = int(y.best) - l.first[p]
		}
		score := y.score + float64(r.BestSection*y.first)
		score += float64(r.SecondSection * y.second2)
		score = float64(score * coverage(r.CoverageBase, y.has, groups))
		y.score = float64(score * (1 + float64(r.TitleShare*min(1, y.title))))
		c.score = y.score
		out = append(out, c)
	}
	slices.SortFunc(out, byScore)
	if l.linked != nil { // the order of the others stays, as no score becomes less
		best := out[:min(len(out), withLinks)]
		for i := range best {
			best[i].score += float64(r.LinkShare * a.linking(best[i].page))
		}
		slices.SortFunc(best, byScore)
	}
	return out
}

const (
	withLinks = 256 // pages of a ranking for which links count
	bestLinks = 4   // pages whose links to a page count
)

// linking returns the sum of the scores of the best pages that link to a page.
func (a *answer2) linking(page int) float64 {
	l := &a.head.layout
	var best [bestLinks]float64 // falling
	for _, from := range l.links[l.linked[page]:l.linked[page+1]] {
		score := a.scratch.pages[from].score
		if score <= best[bestLinks-1] {
			continue
		}
		for i := range best {
			if score > best[i] {
				score, best[i] = best[i], score
			}
		}
	}
	sum := 0.0
	for _, score := range best {
		sum += score
	}
	return sum
}

// reset makes room for a ranking.
func (s *scratch) reset(pages, sections int) {
	if len(s.pages) < pages {
		s.pages = make([]tally, pages)
	}
	if len(s.sections) < sections {
		s.sections = make([]float64, sections)
	}
}

// clear makes all scores zero again.
func (s *scratch) clear() {
	for _, p := range s.touched {
		s.pages[p] = tally{}
	}
	for _, at := range s.parts {
		s.sections[at] = 0
	}
	s.touched = s.touched[:0]
	s.parts = s.parts[:0]
}

// allow returns the pages in and below a section, or nil for all.
func (a *answer2) allow(section string) ([]bool, error) {
	if section == "" {
		return nil, nil
	}
	data, err := base64.RawStdEncoding.DecodeString(a.head.Folders[section])
	if err != nil {
		return nil, errSections
	}
	allowed := make([]bool, a.head.Pages)
	for at := -1; len(data) > 0; {
		step, n := binary.Uvarint(data)
		if n <= 0 || step == 0 || step > uint64(a.head.Pages-1-at) {
			return nil, errSections
		}
		at += int(step)
		allowed[at] = true
		data = data[n:]
	}
	return allowed, nil
}

func (a *answer2) inFolder(section string) error {
	if _, ok := a.head.Folders[section]; ok {
		return nil
	}
	e := &SectionError{Section: section}
	names := make([]string, 0, len(a.head.Folders))
	for name := range a.head.Folders {
		names = append(names, name)
	}
	slices.Sort(names)
	e.Near = nearest.Nearest(section, names, 3)
	if len(e.Near) == 0 {
		for _, name := range names {
			if len(e.Near) < 5 && !strings.Contains(name, "/") {
				e.Near = append(e.Near, name)
			}
		}
	}
	return e
}

func (a *answer2) rows(found []candidate) ([]*row, error) {
	l := &a.head.layout
	place := func(c candidate) (file, place int) {
		return a.head.rowFileOf(l.unit[c.page] + max(0, c.section)/perUnit)
	}
	var numbers []int
	for _, c := range found {
		if n, _ := place(c); !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	loaded, err := each(a.question, "pages", numbers, a.rowFile)
	if err != nil {
		return nil, err
	}
	list := make([]*row, len(found))
	for i, c := range found {
		n, at := place(c)
		f := loaded[slices.Index(numbers, n)]
		if at >= len(f.Rows) {
			return nil, fmt.Errorf("page %d: %w", c.page, errPostings)
		}
		list[i] = &f.Rows[at]
	}
	return list, nil
}
