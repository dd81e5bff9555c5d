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

// Options configure an index. The zero value and nil are the defaults.
type Options struct {
	// Language is the language code of the pages, such as "en" or "pt-BR". Words of
	// supported languages are reduced to their stems; words of other languages are
	// indexed as they are. Default: none.
	Language string
	// Hint is appended to results that have hits, to tell the model how to use them.
	// Default: none.
	Hint string
	// ShardBytes is the approximate size of one index file. Default: small at first, as a
	// search over the web loads up to eight page files to show one line of each; then the
	// size doubles every thousand files, up to 64 KiB, to limit the number of files of
	// large sites.
	ShardBytes int
	// MaxWords is the number of distinct words, by frequency, that are kept to correct
	// typing errors. Default: 30,000.
	MaxWords int
	// MaxSectionText is the number of bytes of a section's text that are kept for
	// snippets; the whole text is searchable. Default: 4,000. When more than 12,000 bytes
	// of a page are kept, later sections keep a tenth of it.
	MaxSectionText int
}

// Page is a searchable page.
type Page struct {
	// ID identifies the page. Title is for people.
	ID, Title string
	// Link is the address of the page for people, or empty.
	Link string
	// Keywords are additional words that describe the page, such as tags and a
	// description.
	Keywords []string
	// Sections are the sections of the page, in order. The first may lack a heading.
	Sections []Section
}

// Section is a part of a page.
type Section struct {
	// Slug identifies the section; Heading is for people. Both are empty for the text
	// before the first heading.
	Slug, Heading string
	// Text is plain text without markup.
	Text string
}

// Write stores an index file under its name. It may retain data.
type Write func(name string, data []byte) error

// forTitle is the score bonus for a word of the title; longer titles get less.
const forTitle = 1.5

// Weights of a word by where it occurs.
const (
	weighsText    = 1
	weighsHeading = 4
	weighsKeyword = 5
	weighsTitle   = 10
	weighsID      = 4
)

// The parameters of BM25, and the factor that makes its scores integers.
const (
	k1     = 1.4
	b      = 0.6
	scale  = 32
	kMost  = 3  // sections of a page stored per term
	kHeard = 16 // candidate sections of a page per term
)

// Builder writes an index. It writes pages as they are added, and keeps the terms in
// memory until Close: about 12 bytes for each distinct word of each page. It is not safe
// for concurrent use.
type Builder struct {
	// opts are complete, and write receives each file of the index when it is done.
	opts  Options
	write Write
	an    *analyzer

	// terms are the postings by term, and words the words of the texts, for corrections.
	terms    map[string]*raw
	words    map[string]*word
	pages    []span
	sections []uint32 // lengths in words
	length   uint64   // of all pages

	// rows are the pages that have not been written yet.
	rows      []row
	rowBytes  int
	rowsFirst int
	head      head
	closed    bool
}

// raw is the data of a term before all pages are known.
type raw struct {
	pages int // number of pages with the term
	last  int // the last of them, plus one
	// data contains for each page: the distance from the previous page, the term's weight
	// in it, the number of words in its title if the term is one of them (else 0), the
	// number of sections with the term, and for each of those the distance from the
	// previous one and the weight.
	data []byte
}

// word holds the counts of a word as written.
type word struct {
	// pages counts the pages with the word, and last is the latest of them.
	pages int
	last  int
	// weight is the word's total weight in titles and headings.
	weight int
}

// span locates the sections of a page in Builder.sections.
type span struct {
	// first and count are the sections of a page.
	first, count int
	length       uint32
}

// NewBuilder returns a Builder that writes index files with write. opts may be nil.
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
	return &Builder{
		opts:  o,
		write: write,
		an:    newAnalyzer(o.Language),
		terms: make(map[string]*raw),
		words: make(map[string]*word),
	}
}

// File sizes: of the first file of each kind, and the maximum.
const (
	leastRowShard  = 8 << 10
	leastTermShard = 16 << 10
	largestShard   = 64 << 10
	sizeStep       = 1000 // files after which the size doubles
)

// shardBytes returns the approximate size of the nth file of its kind.
func (o *Options) shardBytes(n, least int) int {
	if o.ShardBytes > 0 {
		return o.ShardBytes
	}
	const most = 8 // keeps the shift within an int
	return min(largestShard, least<<min(most, n/sizeStep))
}

// weights are the weights of a term in one page.
type weights struct {
	// page is the weight of the term on the whole page.
	page     int
	title    int // number of words in the title, if the term is among them
	sections []sectionWeight
}

type sectionWeight struct{ section, weight int }

// Add appends a page. It returns only errors of write.
func (b *Builder) Add(p Page) error {
	if b.closed {
		return errors.New("the index is closed")
	}
	number := len(b.pages)
	found := make(map[string]*weights)
	s := span{
		first: len(b.sections),
		count: len(p.Sections),
	}
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
		length := count(section.Heading, i,
			weighsHeading) + count(section.Text, i, weighsText)
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

// add adds the weight of one occurrence to the page, and to its section unless that is
// negative.
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
	last := len(w.sections) - 1
	if last >= 0 && w.sections[last].section == section {
		w.sections[last].weight += weight
		return
	}
	w.sections = append(w.sections, sectionWeight{section, weight})
}

// note counts a word as written.
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

// keep records the weights of a term in a page.
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
		slices.SortStableFunc(w.sections, func(a, b sectionWeight) int {
			return b.weight - a.weight
		})
		w.sections = w.sections[:kHeard]
		slices.SortFunc(w.sections, func(a, b sectionWeight) int {
			return a.section - b.section
		})
	}
	r.data = binary.AppendUvarint(r.data, uint64(len(w.sections)))
	before := 0
	for _, s := range w.sections {
		r.data = binary.AppendUvarint(r.data, uint64(s.section-before))
		r.data = binary.AppendUvarint(r.data, uint64(s.weight))
		before = s.section
	}
}

// Close writes the remaining files, the head last. It returns only errors of write. After
// Close, only [Builder.Words] may be used.
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
	b.head.Language = b.an.lang.Code
	b.head.Hint = b.opts.Hint
	b.head.Pages, b.head.Sections = len(b.pages), len(b.sections)
	return b.write(HeadName, encode(&b.head))
}

// writeTerms writes the postings in shards of terms in order, so that a query loads only
// those that it needs.
func (b *Builder) writeTerms() error {
	shard := make(map[string]string)
	size := 0
	first := ""
	flush := func() error {
		if len(shard) == 0 {
			return nil
		}
		data := encode(&termShard{Terms: shard})
		name := shardName("terms", len(b.head.Terms))
		b.head.Terms = append(b.head.Terms, shardOf(first, data))
		shard = make(map[string]string)
		size = 0
		return b.write(name, data)
	}
	for _, term := range slices.Sorted(maps.Keys(b.terms)) {
		postings := base64.RawStdEncoding.EncodeToString(b.postings(b.terms[term]))
		b.terms[term] = nil // frees its memory
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

// postings encodes the entries of a term: for each page, the distance from the previous
// page, its score, the number of sections, and for each section the distance from the
// previous one and the score.
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
			sections = append(sections, sectionWeight{at, int(score(idf,
				read.next(), length))})
		}
		slices.SortStableFunc(sections, func(a, b sectionWeight) int {
			return b.weight - a.weight
		})
		sections = sections[:min(len(sections), kMost)]
		slices.SortFunc(sections, func(a, b sectionWeight) int {
			return a.section - b.section
		})
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

// score returns the BM25 score of one term, as an integer.
func score(idf float64, weight int, length float64) uint64 {
	w := float64(weight)
	return max(1, uint64(math.Round(scale*idf*w*(k1+1)/(w+k1*(1-b+b*length)))))
}

// uvarints decodes numbers encoded by this package.
type uvarints []byte

func (u *uvarints) next() int {
	v, n := binary.Uvarint(*u)
	*u = (*u)[n:]
	return int(v)
}

// Words returns at most limit words that deserve a stored answer, best first: words of
// titles and headings, and words that distinguish pages.
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
	slices.SortFunc(all,
		func(a, b ranked) int {
			return cmp.Or(cmp.Compare(b.rank, a.rank), strings.Compare(a.word, b.word))
		})
	words := make([]string, 0, min(len(all), max(0, limit)))
	for _, r := range all[:cap(words)] {
		words = append(words, r.word)
	}
	return words
}

// writeWords writes the words for correcting typing errors, most frequent first.
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
