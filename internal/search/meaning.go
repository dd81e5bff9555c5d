package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/wordvec"
)

// Weights and limits of a search with word vectors. They are not in ranking.json, as only this reader has vectors.
const (
	// byMeaning is the weight of the most similar page, relative to the score of the page that has the words best.
	byMeaning = 0.5
	// leastSimilar is the cosine from which a page without any of the words is found, and maxSimilar the number of
	// such pages.
	leastSimilar = 0.35
	maxSimilar   = 10
	// leastSpread is the difference of the cosines of the best page and of all that counts as one, so that
	// pages that are all alike are not ordered by it.
	leastSpread = 0.05
	// asSimilar is the weight of words of the site that are searched instead of one that no page has, if their
	// cosine with it is at least similarWord; at most maxSimilarWords.
	asSimilar       = 0.4
	similarWord     = 0.6
	maxSimilarWords = 3
	// common is the number of directions that most words, or most pages, have in common, and that are removed.
	common = 2
	// fewVectors is the number of vectors for each direction that is removed.
	fewVectors = 16
	// maxSampled is the number of vectors that these directions are computed from, and rounds how exactly.
	maxSampled = 8192
	rounds     = 20
	// maxNumbers bounds the numbers of all sections, of all pages, and of all words with a vector, while a space is
	// built: 128 MiB each. All terms have at most four times as many, of a byte each.
	maxNumbers = 32 << 20
	// restFactor is how many times as long as a space took to build the next one is not built.
	restFactor = 10
	// maxTexts bounds the bytes of all files of terms, which are read at once.
	maxTexts = 256 << 20
)

// Reader is a [Store] whose files can be read without keeping them.
type Reader interface {
	Store
	// Read returns the file called name and its state. data is nil if the file still has the state since, which may
	// be nil. If the file does not exist, the error is or wraps [ErrNoFile].
	Read(ctx context.Context, name string, since any) (data []byte, state any, err error)
}

// UseVectors makes the index rank pages by the meaning of words, too, with the vectors v. A changed index is noticed
// by the first question after recheck; a negative recheck is for one that never changes. Call it before any query.
//
// The vectors of the pages are made at the first question, for which all wait, and again at the first one after a
// change, by its caller. Others use the previous ones meanwhile, or none if there are other pages now. An index of
// format 1, or beyond the limits, is searched without vectors.
func (x *Index) UseVectors(v *wordvec.Vectors, recheck time.Duration) {
	if _, ok := x.store.(Reader); !ok {
		return
	}
	x.meaning = &meaning{
		vectors: v,
		recheck: recheck,
		most:    limits{maxNumbers, maxNumbers, maxTexts},
		turn:    make(chan struct{}, 1),
	}
}

// meaning keeps the space of an index.
type meaning struct {
	vectors *wordvec.Vectors
	recheck time.Duration
	most    limits

	current atomic.Pointer[space]
	// turn has room for the caller that builds, who alone uses the fields below it.
	turn    chan struct{}
	files   map[string]fileState
	checked time.Time // when files were last compared
	rest    time.Time // when the next space may be built
	failed  error     // of the last build, until the next
}

// limits are those of a space.
type limits struct {
	units int // numbers of all sections, and of all pages
	words int // numbers of all words
	text  int // bytes of all files of terms
}

// fileState is what a space was built from.
type fileState struct {
	state any
	sum   uint64
}

// space has the directions of the words and pages of an index, with what most of them share removed.
//
// A word has its vector from the file plus that of the sections with the word, so that words mean what they mean in
// these documents, and names that no file has get a meaning. The vector of a page is the sum of those of its words,
// with the weights of the lexical ranking.
type space struct {
	of   string
	dims int
	// at are the numbers of the terms in terms, which are quantized.
	at    map[string]int32
	terms []int8
	// words are those that the vectors have, with their own directions, quantized, in known, and the reciprocals of
	// the lengths of these in scales.
	words  []string
	known  []int8
	scales []float32
	pages  []float32
	// sharedByWords and sharedByPages are the directions that were removed.
	sharedByWords, sharedByPages [][]float32
}

// fits reports whether the space is of the pages of a head.
func (s *space) fits(h *head) bool {
	return s != nil && s.of == h.Of && len(s.pages) == h.Pages*s.dims
}

// errNoTerms is why an index of format 1 is searched without vectors.
var errNoTerms = errors.New("an index of format 1 does not have what they need; build the site again")

// errMaking is why a question after a change of the list of pages has no vectors.
var errMaking = errors.New("the pages have changed, and their vectors will be made again soon")

// space returns the space of the index with a head, or nil and the reason if there is none now.
func (m *meaning) space(ctx context.Context, x *Index, h *head) (*space, error) {
	s := m.current.Load()
	if s.fits(h) && m.recheck < 0 {
		return s, nil
	}
	if s == nil {
		select {
		case m.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	} else {
		select {
		case m.turn <- struct{}{}:
		default: // another caller compares or builds
			if s.fits(h) {
				return s, nil
			}
			return nil, errMaking
		}
	}
	defer func() { <-m.turn }()
	s = m.current.Load() // another caller may have been faster
	fits := s.fits(h)
	now := time.Now()
	if fits && now.Sub(m.checked) < m.recheck || now.Before(m.rest) {
		switch {
		case fits:
			return s, nil
		case m.failed == nil:
			return nil, errMaking
		}
		return nil, m.failed
	}
	// What the caller no longer waits for is of use to the next one.
	built, err := m.build(context.WithoutCancel(ctx), x.store.(Reader), h, fits && m.files != nil)
	if errors.Is(err, errStale) { // the site is being replaced
		if fits {
			return s, nil
		}
		return nil, err
	}
	m.checked = time.Now()
	if m.failed = err; err != nil || built != nil {
		m.rest = m.checked.Add(restFactor * m.checked.Sub(now))
	}
	switch {
	case err != nil:
		m.files = nil
		return nil, err
	case built != nil:
		m.current.Store(built)
		return built, nil
	}
	return s, nil
}

// sums returns the table of the checksums of files.
var sums = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(crc64.ECMA) })

// build reads the terms of the index and returns its space, or nil if unless is set and nothing has changed.
func (m *meaning) build(ctx context.Context, store Reader, h *head, unless bool) (*space, error) {
	changed := !unless
	if unless {
		for name, before := range m.files {
			data, state, err := store.Read(ctx, name, before.state)
			if err != nil {
				return nil, notMissing(name, err)
			}
			if data == nil {
				continue
			}
			if crc64.Checksum(data, sums()) != before.sum {
				changed = true
				break
			}
			m.files[name] = fileState{state, before.sum}
		}
	}
	if !changed {
		return nil, nil
	}
	files := make(map[string]fileState, h.Terms)
	texts := make([]string, h.Terms)
	size := 0
	for n := range texts {
		name := fileName("terms", n)
		data, state, err := store.Read(ctx, name, nil)
		if err != nil {
			return nil, notMissing(name, err)
		}
		f, err := decode[termFile](data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f.Of != h.Of {
			return nil, fmt.Errorf("%s: %w", name, errStale)
		}
		if size += len(data); size > m.most.text {
			return nil, fmt.Errorf("the terms of the index have more than %d bytes, too many for vectors", m.most.text)
		}
		files[name] = fileState{state, crc64.Checksum(data, sums())}
		texts[n] = f.Terms
	}
	s, err := newSpace(m, h, texts)
	if err == nil {
		m.files = files
	}
	return s, err
}

// notMissing returns the error for a file that cannot be read: a missing one is of another build.
func notMissing(name string, err error) error {
	if errors.Is(err, ErrNoFile) {
		err = errStale
	}
	return fmt.Errorf("%s: %w", name, err)
}

// spaceBuilder builds a space from the texts of the files of terms.
type spaceBuilder struct {
	*space
	vectors *wordvec.Vectors
	most    int // numbers of words
	head    *head
	texts   []string
	buffer  []byte
	// units are the vectors of the sections, or of the pages if there are too many sections.
	units     []float32
	bySection bool
}

// newSpace makes a space from the texts of the files of terms, within the limits of m.
func newSpace(m *meaning, h *head, texts []string) (*space, error) {
	v, most := m.vectors, m.most.units
	dims := v.Dims()
	if h.Pages > most/dims {
		return nil, fmt.Errorf("an index of %d pages is too large for vectors of %d numbers", h.Pages, dims)
	}
	b := &spaceBuilder{
		space: &space{
			of:    h.Of,
			dims:  dims,
			at:    make(map[string]int32),
			pages: make([]float32, h.Pages*dims),
		},
		vectors:   v,
		most:      m.most.words,
		head:      h,
		texts:     texts,
		bySection: len(h.layout.sections) <= most/dims,
	}
	count := h.Pages
	if b.bySection {
		count = len(h.layout.sections)
	}
	b.units = make([]float32, count*dims)
	for _, step := range []func() error{b.addWords, b.addContexts, b.addTerms} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.space, nil
}

// eachTerm calls visit for each term with its most frequent word, in an order that depends only on the index.
func (b *spaceBuilder) eachTerm(visit func(term, word, postings string) error) error {
	for _, text := range b.texts {
		for line := range strings.SplitSeq(text, "\n") {
			term, rest, _ := strings.Cut(line, " ")
			spelling, postings, ok := strings.Cut(rest, " ")
			if !ok || postings == elsewhere || strings.Contains(term, headingJoint) {
				continue
			}
			if err := visit(term, spelled(term, spelling), postings); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachUnit calls visit for each unit that has a term, with the weight that the term has there.
func (b *spaceBuilder) eachUnit(postings string, visit func(unit []float32, weight float32)) error {
	if !b.bySection {
		return b.eachPage(postings, func(page int, weight float32) {
			visit(b.units[page*b.dims:][:b.dims], weight)
		})
	}
	r, l := weigh(), &b.head.layout
	idf := idf(b.head.Pages, pagesWith(postings))
	return eachPosting(postings, l, &b.buffer, func(p posting) {
		for _, s := range p.sections {
			at := l.first[p.page] + s.section
			part := saturate(r.K1, r.LengthSection, float64(s.weight), float64(l.sections[at])/l.sectionMean)
			visit(b.units[at*b.dims:][:b.dims], float32(idf*part))
		}
	})
}

// eachPage calls visit for each page that has a term, with the weight that the term has there.
func (b *spaceBuilder) eachPage(postings string, visit func(page int, weight float32)) error {
	r, l := weigh(), &b.head.layout
	idf := idf(b.head.Pages, pagesWith(postings))
	return eachPosting(postings, l, &b.buffer, func(p posting) {
		part := saturate(r.K1, r.LengthPage, float64(p.weight), float64(l.lengths[p.page])/l.pageMean)
		visit(p.page, float32(idf*part))
	})
}

// addWords finds the words of the index that have a vector, and removes what most of these share.
func (b *spaceBuilder) addWords() error {
	var found []float32
	vector := make([]float32, b.dims)
	err := b.eachTerm(func(_, word, _ string) error {
		if b.vectors.Vector(word, vector) {
			b.words = append(b.words, strings.Clone(word)) // not the text of a whole file
			found = append(found, vector...)
		}
		return b.room(len(found))
	})
	if err != nil {
		return err
	}
	b.sharedByWords = shared(found, b.dims)
	b.known = make([]int8, len(found))
	for i := 0; i < len(found); i += b.dims {
		one := found[i:][:b.dims]
		b.own(one)
		b.scales = append(b.scales, wordvec.Quantize(b.known[i:][:b.dims], one))
	}
	return nil
}

// room returns an error if words with so many numbers are too many.
func (b *spaceBuilder) room(numbers int) error {
	if numbers > b.most {
		return fmt.Errorf("the index has too many words for vectors of %d numbers", b.dims)
	}
	return nil
}

// own removes from the vector of a word what most words share.
func (s *space) own(vector []float32) { remove(vector, s.sharedByWords) }

// addContexts adds up the vectors of the words in each section.
func (b *spaceBuilder) addContexts() error {
	next := 0
	vector := make([]float32, b.dims)
	err := b.eachTerm(func(_, word, postings string) error {
		if next == len(b.words) || b.words[next] != word {
			return nil
		}
		ok := wordvec.Restore(vector, b.known[next*b.dims:][:b.dims])
		if next++; !ok {
			return nil
		}
		return b.eachUnit(postings, func(unit []float32, weight float32) { addScaled(unit, weight, vector) })
	})
	normalizeAll(b.units, b.dims)
	directions := shared(b.units, b.dims)
	for i := 0; i < len(b.units); i += b.dims {
		remove(b.units[i:][:b.dims], directions)
	}
	return err
}

// addTerms gives each term its vector, and adds up those of the terms on each page.
func (b *spaceBuilder) addTerms() error {
	next := 0
	own, vector := make([]float32, b.dims), make([]float32, b.dims)
	err := b.eachTerm(func(term, word, postings string) error {
		clear(vector)
		err := b.eachUnit(postings, func(unit []float32, weight float32) { addScaled(vector, weight, unit) })
		if err != nil {
			return err
		}
		ok := wordvec.Normalize(vector)
		if next < len(b.words) && b.words[next] == word {
			if wordvec.Restore(own, b.known[next*b.dims:][:b.dims]) {
				addScaled(vector, 1, own)
				ok = wordvec.Normalize(vector)
			}
			next++
		}
		if !ok {
			return nil
		}
		at := len(b.terms)
		if err := b.room(at / 4); err != nil { // a number is a byte, not four
			return err
		}
		b.at[strings.Clone(term)] = int32(at / b.dims)
		b.terms = append(b.terms, make([]int8, b.dims)...)
		wordvec.Quantize(b.terms[at:], vector)
		return b.eachPage(postings, func(page int, weight float32) {
			addScaled(b.pages[page*b.dims:][:b.dims], weight, vector)
		})
	})
	normalizeAll(b.pages, b.dims)
	b.sharedByPages = shared(b.pages, b.dims)
	for i := 0; i < len(b.pages); i += b.dims {
		remove(b.pages[i:][:b.dims], b.sharedByPages)
	}
	return err
}

// shared returns the directions that many of the vectors have in common: the first principal components of a sample,
// by power iteration.
func shared(vectors []float32, dims int) (directions [][]float32) {
	step := dims * (1 + len(vectors)/dims/maxSampled)
	for n := range min(common, len(vectors)/dims/fewVectors) {
		direction := make([]float32, dims)
		for i := range direction {
			direction[i] = float32(1 + (i+n)%3) // any that is not orthogonal
		}
		for range rounds {
			next := make([]float32, dims)
			for i := 0; i+dims <= len(vectors); i += step {
				one := vectors[i:][:dims]
				addScaled(next, wordvec.Dot(direction, one), one)
			}
			for _, d := range directions {
				addScaled(next, -wordvec.Dot(d, next), d)
			}
			if !wordvec.Normalize(next) {
				return directions
			}
			direction = next
		}
		directions = append(directions, direction)
	}
	return directions
}

// remove removes directions from a vector, and normalizes the rest.
func remove(vector []float32, directions [][]float32) bool {
	for _, d := range directions {
		addScaled(vector, -wordvec.Dot(d, vector), d)
	}
	if !wordvec.Normalize(vector) {
		clear(vector)
		return false
	}
	return true
}

func addScaled(to []float32, factor float32, vector []float32) {
	vector = vector[:len(to)]
	for i := range to {
		to[i] += float32(factor * vector[i])
	}
}

func normalizeAll(vectors []float32, dims int) {
	for i := 0; i < len(vectors); i += dims {
		wordvec.Normalize(vectors[i:][:dims])
	}
}

// similarWords returns the words of the index that mean nearly the same as one that it does not have. ok is false if
// the vectors do not have that word.
func (s *space) similarWords(v *wordvec.Vectors, word string) (found []string, ok bool) {
	vector := make([]float32, s.dims)
	if !v.Vector(word, vector) {
		return nil, false
	}
	s.own(vector)
	type similar struct {
		word   string
		cosine float32
	}
	var list []similar
	for i, w := range s.words {
		cosine := wordvec.DotQuantized(vector, s.known[i*s.dims:][:s.dims]) * s.scales[i]
		if cosine >= similarWord && len(w) >= 3 {
			list = append(list, similar{w, cosine})
		}
	}
	slices.SortStableFunc(list, func(a, b similar) int { return cmp.Compare(b.cosine, a.cosine) })
	for _, w := range list[:min(len(list), maxSimilarWords)] {
		found = append(found, w.word)
	}
	return found, true
}

func (a *answer2) similarWords(word string) ([]string, bool) {
	if a.space == nil {
		return nil, false
	}
	return a.space.similarWords(a.index.meaning.vectors, word)
}

// direction returns the direction of a question, or nil if none of its terms has one.
func (s *space) direction(v *wordvec.Vectors, terms []wanted, idfOf func(term string) float64) []float32 {
	sum, one := make([]float32, s.dims), make([]float32, s.dims)
	for _, t := range terms {
		weight := float32(t.weight * idfOf(t.term))
		if at, ok := s.at[t.term]; ok {
			wordvec.Restore(one, s.terms[int(at)*s.dims:][:s.dims])
			addScaled(sum, weight, one)
			continue
		}
		if v.Vector(t.word, one) {
			s.own(one)
			addScaled(sum, weight, one)
		}
	}
	if !wordvec.Normalize(sum) || !remove(sum, s.sharedByPages) {
		return nil
	}
	return sum
}

// addSimilar orders the pages found for terms by their words and by their meaning, and adds pages that are similar to
// the question without having any of its words.
func (a *answer2) addSimilar(found []candidate, terms []wanted) ([]candidate, error) {
	s := a.space
	if s == nil {
		return found, nil
	}
	direction := s.direction(a.index.meaning.vectors, terms, a.idf)
	if direction == nil {
		return found, nil
	}
	allowed, err := a.allow(a.result.Query.Section)
	if err != nil {
		return nil, err
	}
	cosines := make([]float32, a.head.Pages)
	total, top, count := 0.0, float32(-1), 0
	for p := range cosines {
		if allowed != nil && !allowed[p] {
			continue
		}
		cosines[p] = wordvec.Dot(direction, s.pages[p*s.dims:][:s.dims])
		total += float64(cosines[p])
		top = max(top, cosines[p])
		count++
	}
	mean := total / float64(max(1, count))
	spread := max(float64(top)-mean, leastSpread)
	has := make([]bool, len(cosines))
	best := 1.0
	if len(found) > 0 {
		best = max(found[0].score, 1e-6)
	}
	meant := func(page int) float64 { return byMeaning * (float64(cosines[page]) - mean) / spread }
	for i := range found {
		c := &found[i]
		has[c.page] = true
		c.score = c.score/best + meant(c.page)
	}
	similar := make([]candidate, 0, maxSimilar+1) // best first
	for p, cosine := range cosines {
		if cosine < leastSimilar || has[p] || allowed != nil && !allowed[p] {
			continue
		}
		c := candidate{page: p, section: -1, score: meant(p)}
		at, _ := slices.BinarySearchFunc(similar, c, byScore)
		if at < maxSimilar {
			similar = slices.Insert(similar[:min(len(similar), maxSimilar)], at, c)
		}
	}
	found = append(found, similar[:min(len(similar), maxSimilar)]...)
	slices.SortFunc(found, byScore)
	return found, nil
}
