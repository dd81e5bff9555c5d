package search

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
)

// Options say how an index is written. A nil *Options and the zero value are the
// defaults.
type Options struct {
	// Language is the code of the pages' language, such as "en" or "pt-BR". Words
	// of the languages that package knows are reduced to their stems; of any
	// other they are taken as they are. Default: none.
	Language string
	// Hint ends an answer with hits: what to do with them. Default: nothing.
	Hint string
	// ShardBytes is about the size of one file of the index. Default: small at first,
	// as a search over the web loads up to eight files of pages to show one line of
	// each, and twice as large after each thousand files, up to 64 KiB, so that the
	// files of large sites stay countable.
	ShardBytes int
	// MaxWords is how many different words are kept to help with typing errors,
	// the most frequent ones. Default: 30,000.
	MaxWords int
	// MaxSectionText is how much of the text of a section is kept to show where
	// the words of a question stand in it, in bytes. All of it is searched.
	// Default: 4,000. Sections that begin behind the first 12,000 bytes of a page
	// keep a tenth of it.
	MaxSectionText int
}

// Page is one page to be found.
type Page struct {
	// ID is what the page is called by. Title is for people.
	ID, Title string
	// Link is the address of the page for people, or empty.
	Link string
	// Keywords are further words that say what the page is about, such as tags
	// and a description.
	Keywords []string
	// Sections are the parts of the page in order. The first may have no heading.
	Sections []Section
}

// Section is a part of a page.
type Section struct {
	// Slug is what the section is called by; Heading is for people. Both are
	// empty for what stands before the first heading.
	Slug, Heading string
	// Text is plain text, without marks of a format.
	Text string
}

// Write takes a file of the index, by its name. It may keep data.
type Write func(name string, data []byte) error

// forTitle is what a word of the title adds; less if the title has many.
const forTitle = 1.5

// How much a word counts, by where it stands.
const (
	weighsText    = 1
	weighsHeading = 4
	weighsKeyword = 5
	weighsTitle   = 10
	weighsID      = 4
)

// The parameters of BM25, and what its scores are multiplied with to be kept as
// whole numbers.
const (
	k1     = 1.4
	b      = 0.6
	scale  = 32
	kMost  = 3  // sections of a page that are kept for a term
	kHeard = 16 // sections of a page that compete for it
)

// Builder writes an index. It keeps the terms in memory until Close, about 12
// bytes for each different word of each page; the pages are written as they come.
// It is not safe for concurrent use.
type Builder struct {
	opts  Options
	write Write
	an    *analyzer

	terms    map[string]*raw
	words    map[string]*word
	pages    []span
	sections []uint32 // their lengths in words
	length   uint64   // of all pages

	rows      []row
	rowBytes  int
	rowsFirst int
	head      head
	closed    bool
}

// raw is what is known of a term before all pages are.
type raw struct {
	pages int // that have it
	last  int // the last of them, plus one
	// data holds for each page: how many pages further it is, what the term
	// weighs in it, how many words its title has if the term is one of them and 0
	// if not, the number of sections with the term, and for each the steps
	// from the one before and the weight.
	data []byte
}

// word is a word as it was written.
type word struct {
	pages int
	last  int
	// weight is how much it weighs in titles and headings.
	weight int
}

// span is where the sections of a page are in Builder.sections.
type span struct {
	first, count int
	length       uint32
}

// NewBuilder returns a Builder that writes the files of an index by write. A nil
// opts are the defaults.
func NewBuilder(opts *Options, write Write) *Builder {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxWords <= 0 {
		o.MaxWords = 30_000
	}
	if o.MaxSectionText <= 0 {
		o.MaxSectionText = 4_000
	}
	return &Builder{opts: o, write: write, an: newAnalyzer(o.Language), terms: make(map[string]*raw), words: make(map[string]*word)}
}

// Sizes of files: of the first of each kind, and of the largest.
const (
	leastRowShard  = 8 << 10
	leastTermShard = 16 << 10
	largestShard   = 64 << 10
	sizeStep       = 1000 // files after which the size doubles
)

// shardBytes returns about how large the file number n of its kind is.
func (o *Options) shardBytes(n, least int) int {
	if o.ShardBytes > 0 {
		return o.ShardBytes
	}
	const most = 8 // no shift leaves an int
	return min(largestShard, least<<min(most, n/sizeStep))
}

// weights are those of the terms of one page.
type weights struct {
	page     int
	title    int // how many words the title has, if the term is in it
	sections []sectionWeight
}

type sectionWeight struct{ section, weight int }

// Add adds a page behind those added before. An error is one of write.
func (b *Builder) Add(p Page) error {
	if b.closed {
		return errors.New("the index is closed")
	}
	number := len(b.pages)
	found := make(map[string]*weights)
	s := span{first: len(b.sections), count: len(p.Sections)}
	count := func(text string, section, weight int) (length int) {
		b.an.tokens(text, func(t token) {
			if !t.compound {
				length++
			}
			b.note(t, number, weight)
			if t.stop && weight == weighsText {
				return
			}
			add(found, t.term, section, weight)
		})
		return length
	}
	words := count(p.Title, -1, weighsTitle)
	for _, w := range found {
		w.title = max(1, words)
	}
	count(p.ID, -1, weighsID)
	for _, k := range p.Keywords {
		count(k, -1, weighsKeyword)
	}
	for i, section := range p.Sections {
		length := count(section.Heading, i, weighsHeading) + count(section.Text, i, weighsText)
		b.sections = append(b.sections, uint32(length))
		s.length += uint32(length)
	}
	b.pages = append(b.pages, s)
	b.length += uint64(s.length)
	for _, term := range slices.Sorted(maps.Keys(found)) {
		b.keep(term, number, found[term])
	}
	return b.addRow(p)
}

func add(found map[string]*weights, term string, section, weight int) {
	w := found[term]
	if w == nil {
		w = &weights{}
		found[term] = w
	}
	w.page += weight
	if section < 0 {
		return
	}
	if last := len(w.sections) - 1; last >= 0 && w.sections[last].section == section {
		w.sections[last].weight += weight
		return
	}
	w.sections = append(w.sections, sectionWeight{section, weight})
}

// note counts a word as it stood there.
func (b *Builder) note(t token, page, weight int) {
	if t.stop || t.compound || len(t.word) < 2 {
		return
	}
	w := b.words[t.word]
	if w == nil {
		w = &word{}
		b.words[strings.Clone(t.word)] = w
	}
	if w.last != page+1 {
		w.last = page + 1
		w.pages++
	}
	if weight > weighsText {
		w.weight += weight
	}
}

// keep remembers what a term weighs in a page.
func (b *Builder) keep(term string, page int, w *weights) {
	r := b.terms[term]
	if r == nil {
		r = &raw{}
		b.terms[strings.Clone(term)] = r
	}
	r.pages++
	r.data = binary.AppendUvarint(r.data, uint64(page+1-r.last))
	r.last = page + 1
	r.data = binary.AppendUvarint(r.data, uint64(w.page))
	r.data = binary.AppendUvarint(r.data, uint64(w.title))
	if len(w.sections) > kHeard {
		slices.SortStableFunc(w.sections, func(a, b sectionWeight) int { return b.weight - a.weight })
		w.sections = w.sections[:kHeard]
		slices.SortFunc(w.sections, func(a, b sectionWeight) int { return a.section - b.section })
	}
	r.data = binary.AppendUvarint(r.data, uint64(len(w.sections)))
	before := 0
	for _, s := range w.sections {
		r.data = binary.AppendUvarint(r.data, uint64(s.section-before))
		r.data = binary.AppendUvarint(r.data, uint64(s.weight))
		before = s.section
	}
}

// Close writes what is left, the head last. An error is one of write. The
// Builder is of no use afterwards except for [Builder.Words].
func (b *Builder) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	if err := b.flushRows(); err != nil {
		return err
	}
	if err := b.writeTerms(); err != nil {
		return err
	}
	b.terms = nil
	if err := b.writeWords(); err != nil {
		return err
	}
	b.head.Format = format
	b.head.Language = b.an.lang.code
	b.head.Hint = b.opts.Hint
	b.head.Pages, b.head.Sections = len(b.pages), len(b.sections)
	return b.write(HeadName, encode(&b.head))
}

func (b *Builder) writeTerms() error {
	shard := make(map[string]string)
	size, first := 0, ""
	flush := func() error {
		if len(shard) == 0 {
			return nil
		}
		data := encode(&termShard{Terms: shard})
		name := shardName("terms", len(b.head.Terms))
		b.head.Terms = append(b.head.Terms, shardOf(first, data))
		shard, size = make(map[string]string), 0
		return b.write(name, data)
	}
	for _, term := range slices.Sorted(maps.Keys(b.terms)) {
		postings := base64.RawStdEncoding.EncodeToString(b.postings(b.terms[term]))
		b.terms[term] = nil // its memory is needed no more
		if len(shard) == 0 {
			first = term
		}
		shard[term] = postings
		if size += len(term) + len(postings) + 6; size >= b.opts.shardBytes(len(b.head.Terms), leastTermShard) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// postings works out what a term says about each page: how many pages further it
// is, the page's score, the number of sections, and for each the steps from the
// one before and its score.
func (b *Builder) postings(r *raw) []byte {
	n := float64(len(b.pages))
	idf := math.Log(1 + (n-float64(r.pages)+0.5)/(float64(r.pages)+0.5))
	pageMean := max(1, float64(b.length)/n)
	sectionMean := max(1, float64(b.length)/max(1, float64(len(b.sections))))
	var out []byte
	page := -1
	read := uvarints(r.data)
	for len(read) > 0 {
		step := read.next()
		page += step
		s := b.pages[page]
		out = binary.AppendUvarint(out, uint64(step))
		said := score(idf, read.next(), float64(s.length)/pageMean)
		if words := read.next(); words > 0 {
			said += uint64(scale * idf * forTitle / math.Sqrt(float64(words)))
		}
		out = binary.AppendUvarint(out, said)
		var sections []sectionWeight
		at := 0
		for range read.next() {
			at += read.next()
			length := float64(b.sections[s.first+at]) / sectionMean
			sections = append(sections, sectionWeight{at, int(score(idf, read.next(), length))})
		}
		slices.SortStableFunc(sections, func(a, b sectionWeight) int { return b.weight - a.weight })
		sections = sections[:min(len(sections), kMost)]
		slices.SortFunc(sections, func(a, b sectionWeight) int { return a.section - b.section })
		out = binary.AppendUvarint(out, uint64(len(sections)))
		at = 0
		for _, s := range sections {
			out = binary.AppendUvarint(out, uint64(s.section-at))
			out = binary.AppendUvarint(out, uint64(s.weight))
			at = s.section
		}
	}
	return out
}

// score is the part of one term in the score of BM25, as a whole number.
func score(idf float64, weight int, length float64) uint64 {
	w := float64(weight)
	return max(1, uint64(math.Round(scale*idf*w*(k1+1)/(w+k1*(1-b+b*length)))))
}

// uvarints reads numbers from what this package wrote itself.
type uvarints []byte

func (u *uvarints) next() int {
	v, n := binary.Uvarint(*u)
	*u = (*u)[n:]
	return int(v)
}

// Words returns at most limit words that are worth an answer of their own: those
// of titles and headings, and those that tell pages apart, the best first.
func (b *Builder) Words(limit int) []string {
	type ranked struct {
		word string
		rank float64
	}
	var all []ranked
	n := float64(len(b.pages))
	for text, w := range b.words {
		idf := math.Log(1 + (n-float64(w.pages)+0.5)/(float64(w.pages)+0.5))
		all = append(all, ranked{text, float64(w.weight+w.pages) * idf})
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.rank, a.rank), strings.Compare(a.word, b.word)) })
	words := make([]string, 0, min(len(all), max(0, limit)))
	for _, r := range all[:cap(words)] {
		words = append(words, r.word)
	}
	return words
}

// writeWords writes the words that help with typing errors, the most frequent
// first.
func (b *Builder) writeWords() error {
	var list []string
	for text := range b.words {
		if len(text) >= 3 {
			list = append(list, text)
		}
	}
	slices.SortFunc(list, func(x, y string) int {
		return cmp.Or(b.words[y].pages-b.words[x].pages, strings.Compare(x, y))
	})
	data := encode(&wordList{Words: strings.Join(list[:min(len(list), b.opts.MaxWords)], " ")})
	b.head.Words = sum(data)
	return b.write(wordsName, data)
}
