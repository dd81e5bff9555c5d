package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// Store provides the files of an [Index]. It may cache values returned by parse for as
// long as the file stays the same; they are never modified.
type Store interface {
	// Load returns the parsed file called name. If the file does not exist, the error is
	// or wraps [ErrNoFile].
	Load(ctx context.Context, name string, parse Parse) (any, error)
	// Forget makes the next Load read the file again.
	Forget(name string)
}

// Parse parses a file. It returns the value to keep and its approximate size in memory.
type Parse func(data []byte) (value any, size int64, err error)

// ErrNoFile is the error of a [Store] for a missing file.
var ErrNoFile = errors.New("no such file")

// errStale means that two files belong to different builds of an index.
var errStale = errors.New("the files of the index are not of one build")

// Index answers queries from the files of an index. It is safe for concurrent use if its
// Store is.
type Index struct {
	store     Store
	analyzers sync.Pool // of *pooled
}

// pooled is an analyzer with its language.
type pooled struct {
	// language is that of the analyzer; an index in another one needs a new analyzer.
	language string
	an       *analyzer
}

// New returns an Index of the files in store. It does not read anything yet.
func New(store Store) *Index { return &Index{store: store} }

// Limits of a query.
const (
	maxQuery   = 1 << 10 // bytes of the query considered
	maxTerms   = 24      // terms looked up
	maxHits    = 8
	maxNear    = 8
	maxPrefix  = 5
	snippetLen = 240
)

// Weights of terms that do not occur literally in the query.
const (
	asCompound = 0.6
	asPrefix   = 0.6
	asNear     = 0.7
	// forSection is the weight of a page's best section relative to the page.
	forSection = 0.4
)

// Result is the answer to a query.
type Result struct {
	// Query is the query as given.
	Query string
	// Hits are the best pages, at most 8. Pages is the number of matching pages.
	Hits  []Hit
	Pages int
	// Replaced lists words that occur on no page, with the words searched instead.
	Replaced []Replacement
	// Near lists similar words that occur on some page, if there are no hits.
	Near []string
	// Hint explains how to use the hits, as configured by the builder of the index.
	Hint string
}

// Hit is a page, with its best matching section.
type Hit struct {
	Page, Title string
	// Link is the address of the page for people, or empty.
	Link string
	// Slug and Heading are empty for the text before the first heading.
	Slug, Heading string
	// Snippet is an excerpt of the section that contains words of the query.
	Snippet string
}

// Replacement lists the words that were searched instead of another.
type Replacement struct {
	// Word is a word of the query, and Instead what was searched in its place.
	Word    string
	Instead []string
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
}

// Search answers a query. Errors come from the store or ctx, or report a damaged index;
// if there is no index, the error wraps [ErrNoFile].
func (x *Index) Search(ctx context.Context, query string) (*Result, error) {
	r, err := x.search(ctx, query)
	if errors.Is(err, errStale) {
		// The site was replaced after its head was read.
		x.store.Forget(HeadName)
		r, err = x.search(ctx, query)
	}
	return r, err
}

// search answers a query with the files that its store has now.
func (x *Index) search(ctx context.Context, query string) (*Result, error) {
	loaded, err := x.store.Load(ctx, HeadName, parseHead)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", HeadName, err)
	}
	q := &question{
		index:  x,
		ctx:    ctx,
		head:   loaded.(*head),
		result: &Result{Query: query},
	}
	q.result.Hint = q.head.Hint
	p := x.analyzer(q.head.Language)
	defer x.analyzers.Put(p)
	q.an = p.an
	return q.answer(query)
}

func (x *Index) analyzer(language string) *pooled {
	p, ok := x.analyzers.Get().(*pooled)
	if ok && p.language == language {
		return p
	}
	return &pooled{language, newAnalyzer(language)}
}

// question is the state of one Search.
type question struct {
	// index is what is searched; the other fields belong to one query.
	index  *Index
	ctx    context.Context
	head   *head
	an     *analyzer
	result *Result
	// shards has the shards of terms loaded so far, scores the pages found.
	shards map[int]*termShard
	scores map[int]*tally
}

// tally accumulates the scores of a page.
type tally struct {
	// page is the number of a page, and score its weight for the query.
	page     int
	score    float64
	groups   uint32 // bit set of the query words on the page
	sections []sectionTally
}

type sectionTally struct {
	section int
	score   float64
}

// answer finds the terms of the query, corrects those that no page has, and ranks the
// pages. Without hits it suggests similar words.
func (q *question) answer(query string) (*Result, error) {
	terms := q.terms(clip(query, maxQuery))
	if err := q.fetchTerms(terms); err != nil {
		return nil, err
	}
	terms, err := q.replaceUnknown(terms)
	if err != nil {
		return nil, err
	}
	q.scores = make(map[int]*tally)
	groups := 0
	for _, t := range terms {
		groups = max(groups, t.group+1)
		if err := q.score(t); err != nil {
			return nil, err
		}
	}
	best := q.rank(groups)
	q.result.Pages = len(q.scores)
	if err := q.show(best, terms); err != nil {
		return nil, err
	}
	if len(q.result.Hits) == 0 {
		return q.result, q.suggest()
	}
	return q.result, nil
}

// terms returns the terms to look up: the words that are not stop words, or all words if
// there are no others.
func (q *question) terms(query string) []wanted {
	var all, telling []wanted
	seen := make(map[string]bool)
	group := 0
	q.an.tokens(query, func(t token) {
		if seen[t.term] || len(all) >= maxTerms {
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
		if t.compound {
			w.weight = asCompound
			w.group = max(0, group-1)
		} else {
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
	return telling
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

// fetchTerms loads the shards of the terms concurrently.
func (q *question) fetchTerms(terms []wanted) error {
	if q.shards == nil {
		q.shards = make(map[int]*termShard)
	}
	var numbers []int
	for _, t := range terms {
		n := q.head.termShard(t.term)
		if n >= 0 && q.shards[n] == nil && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	loaded, err := loadAll[termShard](q, "terms", numbers, q.head.Terms)
	if err != nil {
		return err
	}
	for i, n := range numbers {
		q.shards[n] = loaded[i]
	}
	return nil
}

// loadAll loads several shards concurrently.
func loadAll[T any](q *question, kind string, numbers []int, shards []shard) ([]*T, error) {
	loaded := make([]*T, len(numbers))
	errs := make([]error, len(numbers))
	load := func(i int) {
		name := shardName(kind, numbers[i])
		loaded[i], errs[i] = loadShard[T](q, name, shards[numbers[i]].sum)
	}
	if len(numbers) == 1 {
		load(0)
		return loaded, errs[0]
	}
	var all sync.WaitGroup
	for i := range numbers {
		all.Go(func() {
			if err := barrier.Run("read "+shardName(kind, numbers[i]), func() error {
				load(i)
				return nil
			}); err != nil {
				errs[i] = err
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// summed is a shard with its checksum.
type summed[T any] struct {
	// value is a decoded shard, and sum the checksum of its bytes.
	value *T
	sum   string
}

// loadShard loads a shard. If its checksum differs, the index was replaced between two
// files: the caller starts again.
func loadShard[T any](q *question, name, want string) (*T, error) {
	loaded, err := q.index.store.Load(q.ctx, name, parseShard[T])
	if errors.Is(err, ErrNoFile) {
		// The head is of another build, or the upload is incomplete.
		return nil, fmt.Errorf("%s: %w", name, errStale)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := loaded.(*summed[T])
	if s.sum != want {
		q.index.store.Forget(name)
		return nil, fmt.Errorf("%s: %w", name, errStale)
	}
	return s.value, nil
}

func parseShard[T any](data []byte) (any, int64, error) {
	v, err := decode[T](data)
	if err != nil {
		return nil, 0, err
	}
	return &summed[T]{v, sum(data)}, int64(2 * len(data)), nil
}

// parseHead decodes and verifies the head. Its size in memory is an estimate.
func parseHead(data []byte) (any, int64, error) {
	h, err := decode[head](data)
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil, 0, err
	}
	return h, int64(3 * len(data)), nil
}

// postings returns the postings of a term, or "".
func (q *question) postings(term string) string {
	if s := q.shards[q.head.termShard(term)]; s != nil {
		return s.Terms[term]
	}
	return ""
}

// replaceUnknown replaces words that occur on no page with words that do: those with the
// same prefix, or else similar ones.
func (q *question) replaceUnknown(terms []wanted) ([]wanted, error) {
	var known, unknown []wanted
	for _, t := range terms {
		switch {
		case q.postings(t.term) != "":
			known = append(known, t)
		case !t.compound:
			unknown = append(unknown, t)
		}
	}
	if len(unknown) == 0 {
		return known, nil
	}
	words, err := q.words()
	if err != nil {
		return nil, err
	}
	for _, t := range unknown {
		found := beginning(t.word, words)
		weight := asPrefix
		if len(found) == 0 && !t.literal {
			found, weight = near(t.word, words, 3), asNear
		}
		if len(found) == 0 {
			continue
		}
		q.result.Replaced = append(q.result.Replaced, Replacement{t.word, found})
		for _, word := range found {
			q.an.tokens(word, func(n token) {
				known = append(known, wanted{
					term:   n.term,
					word:   word,
					weight: weight,
					group:  t.group,
				})
			})
		}
	}
	slices.SortStableFunc(known,
		func(a, b wanted) int {
			return cmp.Or(strings.Compare(a.term, b.term), cmp.Compare(b.weight, a.weight))
		})
	known = slices.CompactFunc(known, func(a, b wanted) bool {
		return a.term == b.term
	})
	return known, q.fetchTerms(known)
}

// words returns the words of the index, most frequent first.
func (q *question) words() ([]string, error) {
	list, err := loadShard[wordList](q, wordsName, q.head.Words)
	if err != nil {
		return nil, err
	}
	return strings.Fields(list.Words), nil
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
			if found = append(found, w); len(found) == maxPrefix {
				break
			}
		}
	}
	return found
}

// score adds the scores of one term.
func (q *question) score(t wanted) error {
	return eachPosting(q.postings(t.term), q.head.Pages, func(p posting) {
		y := q.scores[p.page]
		if y == nil {
			y = &tally{page: p.page}
			q.scores[p.page] = y
		}
		y.score += t.weight * float64(p.score)
		y.groups |= 1 << min(t.group, 31)
		for _, s := range p.sections {
			y.add(s.section, t.weight*float64(s.score))
		}
	})
}

// add adds to the score of a section. Pages have few sections with hits, so a list is
// searched.
func (y *tally) add(section int, score float64) {
	for i := range y.sections {
		if y.sections[i].section == section {
			y.sections[i].score += score
			return
		}
	}
	y.sections = append(y.sections, sectionTally{section, score})
}

// best returns the best section, or -1 if the words occur only in the title.
func (y *tally) best() (section int, score float64) {
	section = -1
	for _, s := range y.sections {
		if s.score > score || s.score == score && section > s.section {
			section = s.section
			score = s.score
		}
	}
	return section, score
}

// rank returns the best pages.
func (q *question) rank(groups int) []*tally {
	all := make([]*tally, 0, len(q.scores))
	for _, y := range q.scores {
		_, section := y.best()
		y.score += forSection * section
		on := 0
		for g := range min(groups, 32) {
			on += int(y.groups >> g & 1)
		}
		y.score *= 0.4 + 0.6*float64(on)/float64(max(1, groups))
		all = append(all, y)
	}
	slices.SortFunc(all, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.page-b.page)
	})
	return all[:min(len(all), maxHits)]
}

// show adds the best pages to the result.
func (q *question) show(best []*tally, terms []wanted) error {
	var numbers []int
	for _, y := range best {
		n, _ := q.head.rowShard(y.page)
		if n >= 0 && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	loaded, err := loadAll[rowShard](q, "pages", numbers, q.head.Rows)
	if err != nil {
		return err
	}
	for _, y := range best {
		n, place := q.head.rowShard(y.page)
		at := slices.Index(numbers, n)
		if at < 0 || place >= len(loaded[at].Pages) {
			return fmt.Errorf("page %d: %w", y.page, errPostings)
		}
		q.result.Hits = append(q.result.Hits, q.hit(&loaded[at].Pages[place], y, terms))
	}
	return nil
}

// hit returns a page as a result, with a snippet from its best section, or from the first
// that has text.
func (q *question) hit(r *row, y *tally, terms []wanted) Hit {
	h := Hit{
		Page:  r.ID,
		Title: r.Title,
		Link:  r.Link,
	}
	section, _ := y.best()
	if section >= 0 && section < len(r.Sections) {
		s := r.Sections[section]
		h.Slug = s.Slug
		h.Heading = s.Heading
		h.Snippet = s.Text
	}
	for i := 0; h.Snippet == "" && i < len(r.Sections); i++ {
		h.Snippet = r.Sections[i].Text
	}
	h.Snippet = q.snippet(h.Snippet, terms)
	return h
}

// suggest adds similar words to a result without hits.
func (q *question) suggest() error {
	words, err := q.words()
	if err != nil {
		return err
	}
	q.an.tokens(q.result.Query, func(t token) {
		if t.stop || t.compound {
			return
		}
		for _, w := range near(t.word, words, 4) {
			if len(q.result.Near) < maxNear && !slices.Contains(q.result.Near, w) {
				q.result.Near = append(q.result.Near, w)
			}
		}
	})
	return nil
}
