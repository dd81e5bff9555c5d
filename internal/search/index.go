package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/slipway-mcp/slipway/internal/barrier"
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

// Cacher is a Store that can return a file it has in memory without waiting.
type Cacher interface {
	// Cached returns the parsed file called name if Load would return it at once.
	Cached(name string) (any, bool)
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
	scratch   sync.Pool // of *scratch
	meaning   *meaning  // nil without vectors
}

// pooled is an analyzer with its language.
type pooled struct {
	// language is that of the analyzer; an index in another one needs a new analyzer.
	language string
	an       *analyzer
}

// New returns an Index of the files in store. It does not read anything yet.
func New(store Store) *Index { return &Index{store: store} }

// Query is what to search for.
type Query struct {
	// Phrasings are one or several ways to ask for the same thing. The ranks of a page for
	// each are fused. At most 4 are used.
	Phrasings []string
	// Limit is the maximum number of hits. Default: 10, at most 30. Offset is how many
	// better hits to skip, at most 200.
	Limit, Offset int
	// Section limits the search to a page and the pages below it, such as "reference".
	Section string
	// Narrow searches without related words, as the search box for people does.
	Narrow bool
}

// Result is the answer to a query.
type Result struct {
	// Query is the query as given.
	Query Query
	// Hits are the best pages. Pages is the number of matching pages.
	Hits  []Hit
	Pages int
	// Replaced lists words that occur on no page, with the words searched instead.
	Replaced []Replacement
	// Near lists similar words that occur on some page, if there are no hits.
	Near []string
	// Hint explains how to use the hits, as configured by the builder of the index.
	Hint string
	// Weak is why the hits are probably no good answer, or empty.
	Weak string
	// VectorsErr is why the word vectors of the index were not used, or nil.
	VectorsErr error
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

// SectionError reports that a query is limited to a section that the index does not have.
type SectionError struct {
	// Section is the one asked for, and Near those with a similar name.
	Section string
	Near    []string
}

// Error implements error.
func (e *SectionError) Error() string {
	if len(e.Near) > 0 {
		return fmt.Sprintf("no pages below %q; did you mean %s?", e.Section, quoted(e.Near))
	}
	return fmt.Sprintf("no pages below %q", e.Section)
}

// Search answers a query of one phrasing. See [Index.Find].
func (x *Index) Search(ctx context.Context, query string) (*Result, error) {
	return x.Find(ctx, &Query{Phrasings: []string{query}})
}

// Find answers a query. Errors come from the store or ctx, are a [*SectionError], or report
// a damaged index; if there is no index, the error wraps [ErrNoFile].
func (x *Index) Find(ctx context.Context, query *Query) (*Result, error) {
	r, err := x.find(ctx, query)
	if errors.Is(err, errStale) {
		// The site was replaced after its head was read.
		x.store.Forget(HeadName)
		r, err = x.find(ctx, query)
	}
	return r, err
}

// find answers a query with the files that its store has now.
func (x *Index) find(ctx context.Context, query *Query) (*Result, error) {
	loaded, err := x.store.Load(ctx, HeadName, parseHead)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", HeadName, err)
	}
	q := &question{
		index:  x,
		ctx:    ctx,
		result: &Result{Query: *query},
	}
	var language string
	switch h := loaded.(type) {
	case *head1:
		q.answerer = &answer1{question: q, head: h}
		if x.meaning != nil {
			q.result.VectorsErr = errNoTerms
		}
		language, q.result.Hint = h.Language, h.Hint
	case *head:
		a := &answer2{question: q, head: h}
		if a.scratch, _ = x.scratch.Get().(*scratch); a.scratch == nil {
			a.scratch = new(scratch)
		}
		defer x.scratch.Put(a.scratch)
		if x.meaning != nil {
			if a.space, q.result.VectorsErr = x.meaning.space(ctx, x, h); ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		q.answerer = a
		language, q.result.Hint = h.Language, h.Hint
	}
	p := x.analyzer(language)
	defer x.analyzers.Put(p)
	q.an = p.an
	return q.answer()
}

func (x *Index) analyzer(language string) *pooled {
	p, ok := x.analyzers.Get().(*pooled)
	if ok && p.language == language {
		return p
	}
	return &pooled{language, newAnalyzer(language)}
}

// parseHead decodes and verifies the head, of either format. Its size in memory is an
// estimate.
func parseHead(data []byte) (any, int64, error) {
	version, err := decode[struct{ Format int }](data)
	if err != nil {
		return nil, 0, err
	}
	if version.Format == 1 {
		h := new(head1)
		if err = json.Unmarshal(data, h); err == nil {
			err = h.check()
		}
		return h, int64(3 * len(data)), err
	}
	h := new(head)
	if err = json.Unmarshal(data, h); err == nil {
		err = h.prepare()
	}
	return h, int64(10 * len(data)), err
}

// load loads a file of the index. A missing file means that the head is of another build,
// or that the upload is incomplete.
func (q *question) load(name string, parse Parse) (any, error) {
	if c, ok := q.index.store.(Cacher); ok {
		if value, ok := c.Cached(name); ok {
			return value, nil
		}
	}
	loaded, err := q.index.store.Load(q.ctx, name, parse)
	if errors.Is(err, ErrNoFile) {
		return nil, fmt.Errorf("%s: %w", name, errStale)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return loaded, nil
}

// stale forgets a file of another build, and returns the error for it.
func (q *question) stale(name string) error {
	q.index.store.Forget(name)
	return fmt.Errorf("%s: %w", name, errStale)
}

// each calls load for several files, concurrently if two or more are not in memory.
func each[T any](q *question, kind string, numbers []int, load func(n int) (T, error)) ([]T, error) {
	loaded := make([]T, len(numbers))
	errs := make([]error, len(numbers))
	var waiting []int // places in numbers
	for i, n := range numbers {
		if c, ok := q.index.store.(Cacher); ok {
			if _, ok := c.Cached(fileName(kind, n)); ok {
				loaded[i], errs[i] = load(n)
				continue
			}
		}
		waiting = append(waiting, i)
	}
	var all sync.WaitGroup
	for _, i := range waiting {
		read := func() (err error) {
			loaded[i], err = load(numbers[i])
			return err
		}
		if len(waiting) == 1 {
			errs[i] = read()
			continue
		}
		all.Go(func() { errs[i] = barrier.Run("read the search index", read) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return loaded, nil
}
