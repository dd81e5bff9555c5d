package search

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// This file reads indexes of format 1, which were written until 2026. Their scores were
// computed while building, so they are only added up.

// head1 is index.json of format 1.
type head1 struct {
	Language string   `json:"language,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Pages    int      `json:"pages"`
	Words    string   `json:"words"` // checksum of words.json
	Terms    []shard1 `json:"terms"`
	Rows     []shard1 `json:"rows"`
}

// shard1 holds the first key of a file, a term or a page number, and the file's checksum.
type shard1 struct{ first, sum string }

// UnmarshalJSON implements json.Unmarshaler.
func (s *shard1) UnmarshalJSON(text []byte) error {
	pair, err := decode[[]string](text)
	if err != nil || len(*pair) != 2 {
		return errors.New("want a pair of texts")
	}
	s.first = (*pair)[0]
	s.sum = (*pair)[1]
	return nil
}

// terms1 is terms-N.json, rows1 is pages-N.json, and words1 is words.json.
type (
	terms1 struct {
		Terms map[string]string `json:"terms"`
	}
	rows1 struct {
		Pages []row `json:"pages"`
	}
	words1 struct {
		Words string `json:"words"` // most frequent first
	}
)

const words1Name = "words.json"

// check verifies what a reader relies on: an index from a web host is not trusted.
func (h *head1) check() error {
	if h.Pages < 0 || h.Pages > maxPages || len(h.Terms) > maxShards || len(h.Rows) > maxShards {
		return errors.New("the head of the index is beyond its limits")
	}
	if !slices.IsSortedFunc(h.Terms, func(a, b shard1) int { return strings.Compare(a.first, b.first) }) {
		return errors.New("the shards of the index are not sorted")
	}
	before := -1
	for _, s := range h.Rows {
		n, err := strconv.Atoi(s.first)
		if err != nil || n <= before || n >= h.Pages {
			return errors.New("the shards of the index are not sorted")
		}
		before = n
	}
	return nil
}

// summed is a file of format 1 with its checksum.
type summed[T any] struct {
	value *T
	sum   string
}

func parseSummed[T any](data []byte) (any, int64, error) {
	v, err := decode[T](data)
	if err != nil {
		return nil, 0, err
	}
	return &summed[T]{v, sum(data)}, int64(2 * len(data)), nil
}

// load1 loads a file of format 1. If its checksum differs, the index was replaced between
// two files: the caller starts again.
func load1[T any](q *question, name, want string) (*T, error) {
	loaded, err := q.load(name, parseSummed[T])
	if err != nil {
		return nil, err
	}
	s, ok := loaded.(*summed[T])
	if !ok || s.sum != want {
		return nil, q.stale(name)
	}
	return s.value, nil
}

// termShard returns the number of the shard that would contain the term, or -1.
func (h *head1) termShard(term string) int {
	at, exact := slices.BinarySearchFunc(h.Terms, term, func(s shard1, t string) int {
		return strings.Compare(s.first, t)
	})
	if exact {
		return at
	}
	return at - 1
}

// rowShard returns the number of the shard with a page, and its position there.
func (h *head1) rowShard(page int) (number, place int) {
	at, exact := slices.BinarySearchFunc(h.Rows, page, func(s shard1, p int) int {
		n, _ := strconv.Atoi(s.first) // validated by check
		return n - p
	})
	if !exact {
		at--
	}
	if at < 0 {
		return -1, 0
	}
	first, _ := strconv.Atoi(h.Rows[at].first)
	return at, page - first
}

// answer1 answers one question from an index of format 1.
type answer1 struct {
	*question
	head   *head1
	shards map[int]*terms1
}

var _ answerer = (*answer1)(nil)

func (a *answer1) fetch(terms []wanted) error {
	if a.shards == nil {
		a.shards = make(map[int]*terms1)
	}
	var numbers []int
	for _, t := range terms {
		n := a.head.termShard(t.term)
		if n >= 0 && a.shards[n] == nil && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	loaded, err := each(a.question, "terms", numbers, func(n int) (*terms1, error) {
		return load1[terms1](a.question, fileName("terms", n), a.head.Terms[n].sum)
	})
	for i, n := range numbers {
		if err == nil {
			a.shards[n] = loaded[i]
		}
	}
	return err
}

func (a *answer1) postings(term string) string {
	if s := a.shards[a.head.termShard(term)]; s != nil {
		return s.Terms[term]
	}
	return ""
}

func (a *answer1) has(term string) bool { return a.postings(term) != "" }

func (a *answer1) words(string) ([]string, error) {
	list, err := load1[words1](a.question, words1Name, a.head.Words)
	if err != nil {
		return nil, err
	}
	return strings.Fields(list.Words), nil
}

// tally1 accumulates the scores of a page.
type tally1 struct {
	candidate
	groups   uint32
	sections []section1
}

type section1 struct {
	section int
	score   float64
}

// rank ranks the pages as a reader of format 1 always has.
func (a *answer1) rank(terms []wanted, groups int, _ string) ([]candidate, error) {
	scores := make(map[int]*tally1)
	for _, t := range terms {
		err := each1(a.postings(t.term), a.head.Pages, func(page, score int, sections []section1) {
			y := scores[page]
			if y == nil {
				y = &tally1{candidate: candidate{page: page, section: -1}}
				scores[page] = y
			}
			y.score += float64(t.weight * float64(score))
			y.groups |= 1 << min(t.group, 31)
			for _, s := range sections {
				y.add(s.section, float64(t.weight*s.score))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	all := make([]candidate, 0, len(scores))
	for _, y := range scores {
		best := 0.0
		for _, s := range y.sections {
			if s.score > best || s.score == best && y.section > s.section {
				y.section = s.section
				best = s.score
			}
		}
		y.score += float64(0.4 * best)
		y.score *= coverage(0.4, y.groups, groups)
		y.has = bits.OnesCount32(y.groups)
		all = append(all, y.candidate)
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.page-b.page)
	})
	return all, nil
}

// add adds to the score of a section. Pages have few sections with hits, so a list is
// searched.
func (y *tally1) add(section int, score float64) {
	for i := range y.sections {
		if y.sections[i].section == section {
			y.sections[i].score += score
			return
		}
	}
	y.sections = append(y.sections, section1{section, score})
}

// each1 calls visit for the pages of a term, in order.
func each1(encoded string, pages int, visit func(page, score int, sections []section1)) error {
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return errPostings
	}
	const most = 3
	var sections [most]section1
	next := func(limit int) int {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > uint64(limit) {
			err = errPostings
			return 0
		}
		data = data[n:]
		return int(v)
	}
	page := -1
	for len(data) > 0 && err == nil {
		step := next(pages)
		score := next(1 << 24)
		count := next(most)
		at := 0
		for i := range count {
			at += next(maxSections)
			sections[i] = section1{at, float64(next(1 << 24))}
		}
		if err != nil || step == 0 || page+step >= pages || at >= maxSections {
			return errPostings
		}
		page += step
		visit(page, score, sections[:count])
	}
	return err
}

func (a *answer1) rows(found []candidate) ([]*row, error) {
	var numbers []int
	for _, c := range found {
		n, _ := a.head.rowShard(c.page)
		if n >= 0 && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	loaded, err := each(a.question, "pages", numbers, func(n int) (*rows1, error) {
		return load1[rows1](a.question, fileName("pages", n), a.head.Rows[n].sum)
	})
	if err != nil {
		return nil, err
	}
	list := make([]*row, len(found))
	for i, c := range found {
		n, place := a.head.rowShard(c.page)
		at := slices.Index(numbers, n)
		if at < 0 || place >= len(loaded[at].Pages) {
			return nil, fmt.Errorf("page %d: %w", c.page, errPostings)
		}
		list[i] = &loaded[at].Pages[place]
	}
	return list, nil
}

func (a *answer1) inFolder(string) error {
	return errors.New("the index is of an older format, which cannot be limited to a section; build the site again")
}

func (a *answer1) synonyms() ([][]string, int) { return nil, 0 }

func (a *answer1) pinned([]wanted) []int { return nil }

func (a *answer1) idf(string) float64 { return 1 }

// verify calls report with each file of the index, at most limit if that is positive, and
// the reason if it is unusable.
func (h *head1) verify(q *question, limit int, report func(name string, err error)) {
	_, err := load1[words1](q, words1Name, h.Words)
	report(words1Name, err)
	left := limit
	for i, s := range h.Terms {
		if left--; left == 0 {
			return
		}
		name := fileName("terms", i)
		_, err := load1[terms1](q, name, s.sum)
		report(name, err)
	}
	for i, s := range h.Rows {
		if left--; left == 0 {
			return
		}
		name := fileName("pages", i)
		_, err := load1[rows1](q, name, s.sum)
		report(name, err)
	}
}

func (a *answer1) addSimilar(found []candidate, _ []wanted) ([]candidate, error) { return found, nil }

func (a *answer1) similarWords(string) ([]string, bool) { return nil, false }
