package search

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
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
	// RowsPerFile is the number of rows in one file: a row is a page, or 8 sections of a
	// long one. Use more for short pages. Default: 1. It doubles after each thousand files.
	RowsPerFile int
	// TermBytes is the approximate size of a file of terms. Default: 12 KiB.
	TermBytes int
	// MaxSectionText is the number of bytes of a section's text that are kept for
	// snippets; the whole text is searchable. Default: 3,000.
	MaxSectionText int
	// Synonyms are groups of words or phrases with the same meaning for these pages. A
	// query with one of them also finds pages with the others.
	Synonyms [][]string
	// Pins are pages that come first for queries that contain some words.
	Pins []Pin
}

// Pin puts a page first for queries that contain all words of a phrase.
type Pin struct {
	// Phrase is what users search for, and Page the ID of the page.
	Phrase, Page string
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
	// Anchors are the texts of links to the page, from other pages.
	Anchors []string
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

// Weights of a word by where it occurs.
const (
	weighsText    = 1
	weighsHeading = 4
	weighsKeyword = 5
	weighsTitle   = 10
	weighsID      = 4
	weighsAnchor  = 2
)

// Limits of what is kept for one page and term.
const (
	maxAnchors = 20 // texts of links to a page
	maxFolders = 4  // nesting of folders that searches can be limited to
	maxPins    = 1000

	maxSynonyms = 1000 // groups of the owner
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
	terms map[string]*raw
	words map[string]*word

	ids      []string
	numbers  map[string]int // of pages, by ID
	sections []byte         // as in the head
	folders  map[string]*folder

	// rows are those that are not in a file yet: files know the list of all pages.
	rows   []rowsOf
	head   head
	closed bool

	counter *counter // of [Builder.Analyze]
	// termSize is the size of all terms and postings, which determines the number of their files.
	termSize int
}

// folder collects the pages in and below a folder, or below a page.
type folder struct {
	data   []byte
	last   int
	nested bool // some page is below it
}

// raw is the data of a term before all pages are known.
type raw struct {
	pages int // number of pages with the term
	last  int // the last of them, plus one
	data  []byte
	// word is the most frequent word of the term, which is on the number of pages in on.
	word string
	on   int
}

// word holds the counts of a word as written.
type word struct {
	// pages counts the pages with the word.
	pages int
	// weight is the word's total weight in titles and headings, and term its term.
	weight int
	term   string
}

// NewBuilder returns a Builder that writes index files with write. opts may be nil.
func NewBuilder(opts *Options, write Write) *Builder {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.RowsPerFile <= 0 {
		o.RowsPerFile = 1
	}
	if o.TermBytes <= 0 {
		o.TermBytes = 12 << 10
	}
	if o.MaxSectionText <= 0 {
		o.MaxSectionText = 3_000
	}
	an := newAnalyzer(o.Language)
	an.known = make(map[string][]token)
	return &Builder{
		opts:  o,
		write: write,
		an:    an,
		terms: make(map[string]*raw),
		words: make(map[string]*word),

		numbers: make(map[string]int),
		folders: make(map[string]*folder),
	}
}

// Add appends a page. It returns only errors of write.
func (b *Builder) Add(p Page) error { return b.AddAnalysis(p.ID, b.Analyze(p), nil) }

// AddAnalysis appends the page with an ID, whose analysis is by a Builder with the same options.
// If rows is not nil, it appends the [Analysis.Rows] that the analysis lacks; it is called by
// Close, which reuses what it returns. AddAnalysis returns only errors of write.
func (b *Builder) AddAnalysis(id string, a *Analysis, rows func([]byte) ([]byte, error)) error {
	if b.closed {
		return errors.New("the index is closed")
	}
	number := len(b.ids)
	b.sections = append(b.sections, a.lengths...)
	b.numbers[id] = number
	b.ids = append(b.ids, id)
	b.addFolders(id, number)
	a.eachTerm(func(term, data []byte) { b.keep(term, number, data) })
	a.eachWord(b.note)
	b.rows = append(b.rows, rowsOf{
		units: a.units(),
		text:  a.Rows,
		load:  rows,
	})
	return nil
}

// addFolders notes that a page is in and below the folders of its ID.
func (b *Builder) addFolders(id string, number int) {
	for i, depth := 0, 0; i <= len(id) && depth < maxFolders; i++ {
		if i < len(id) && id[i] != '/' {
			continue
		}
		f := b.folders[id[:i]]
		if f == nil {
			f = &folder{}
			b.folders[id[:i]] = f
		}
		f.data = binary.AppendUvarint(f.data, uint64(number+1-f.last))
		f.last = number + 1
		f.nested = f.nested || i < len(id)
		depth++
	}
}

// note counts a word of a page.
func (b *Builder) note(text, term []byte, weight int) {
	w := b.words[string(text)]
	if w == nil {
		w = &word{term: string(term)}
		b.words[string(text)] = w
	}
	w.pages++
	w.weight += weight
}

// keep records the posting of a term in a page.
func (b *Builder) keep(term []byte, page int, data []byte) {
	r := b.terms[string(term)]
	if r == nil {
		r = &raw{}
		b.terms[string(term)] = r
	}
	r.data = binary.AppendUvarint(r.data, uint64(page+1-r.last))
	r.data = append(r.data, data...)
	r.pages++
	r.last = page + 1
}

// Close writes the files, the head last. It returns only errors of write. After Close,
// only [Builder.Words] may be used, which returns the same words as before.
func (b *Builder) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	b.spellTerms()
	b.head = head{
		Format:      format,
		Language:    b.an.lang.Code,
		Hint:        b.opts.Hint,
		Pages:       len(b.ids),
		Sections:    base64.RawStdEncoding.EncodeToString(b.sections),
		Terms:       b.termFiles(),
		Spread:      spread,
		RowsPerFile: b.opts.RowsPerFile,
		Folders:     b.encodeFolders(),
	}
	b.addSynonyms()
	b.addPins()
	b.head.Of = b.identify()
	if err := b.head.prepare(); err != nil {
		return err
	}
	if err := errors.Join(b.writeRows(), b.writeTerms()); err != nil {
		return err
	}
	b.terms = nil
	b.counter = nil
	return b.write(HeadName, encode(&b.head))
}

// spellTerms determines how to write each term: as the word that is on most pages.
func (b *Builder) spellTerms() {
	for text, w := range b.words {
		r := b.terms[w.term]
		if r != nil && (w.pages > r.on || w.pages == r.on && text < r.word) {
			r.word = text
			r.on = w.pages
		}
	}
}

// termFiles returns the number of files of terms.
func (b *Builder) termFiles() int {
	b.termSize = 0
	for term, r := range b.terms {
		b.termSize += termWeight(term, len(r.data))
	}
	return termFiles(b.termSize, b.opts.TermBytes)
}

// termWeight returns the size of a term with postings of that many bytes in a file.
func termWeight(term string, postings int) int {
	return len(term) + base64.RawStdEncoding.EncodedLen(postings) + 6
}

// termFiles returns the number of files for terms of that size: a power of two, so that it
// changes rarely.
func termFiles(size, termBytes int) int {
	files := 1
	for files < maxTermFiles && size > files*termBytes {
		files *= 2
	}
	return files
}

const maxTermFiles = 4096

// encodeFolders returns the folders and the pages that have others below them.
func (b *Builder) encodeFolders() map[string]string {
	out := make(map[string]string)
	for name, f := range b.folders {
		if f.nested {
			out[name] = base64.RawStdEncoding.EncodeToString(f.data)
		}
	}
	return out
}

// addSynonyms adds the groups of synonyms, as terms: the owner's first, as a word belongs
// to the first group that has it.
func (b *Builder) addSynonyms() {
	own := b.opts.Synonyms[:min(len(b.opts.Synonyms), maxSynonyms)]
	for i, group := range slices.Concat(own, thesaurus(b.an.lang.Code)) {
		var members []string
		for _, phrase := range group {
			member := strings.Join(b.an.phrase(phrase), " ")
			if member != "" && len(members) < maxMembers && !slices.Contains(members, member) {
				members = append(members, member)
			}
		}
		if len(members) < 2 {
			continue
		}
		b.head.Synonyms = append(b.head.Synonyms, members)
		if i < len(own) {
			b.head.OwnSynonyms++
		}
	}
}

// addPins adds the pins whose page exists.
func (b *Builder) addPins() {
	for _, p := range b.opts.Pins[:min(len(b.opts.Pins), maxPins)] {
		terms := b.an.phrase(p.Phrase)
		if number, ok := b.numbers[p.Page]; ok && len(terms) > 0 {
			b.head.Pins = append(b.head.Pins, pin{strings.Join(terms, " "), number})
		}
	}
}

// phrase returns the terms of a phrase that a query looks up.
func (a *analyzer) phrase(text string) []string {
	var terms []string
	a.tokens(text, func(t token) {
		if !t.stop && !t.compound {
			terms = append(terms, t.term)
		}
	})
	return terms
}

// identify returns the value of Of: a checksum of all that other files rely on.
func (b *Builder) identify() string {
	var list strings.Builder
	fmt.Fprintf(&list, "%s %d %d %d", b.head.Language, b.head.Terms, b.head.Spread, b.head.RowsPerFile)
	for at := b.sections; len(at) > 0; {
		count, n := binary.Uvarint(at)
		at = at[n+1+int(count):]
		fmt.Fprintf(&list, " %d", count)
	}
	for _, id := range b.ids {
		list.WriteString("\n" + id)
	}
	homes, _ := json.Marshal(b.head.Synonyms)
	list.Write(homes)
	return sum([]byte(list.String()))
}

// rowsOf are the rows of a page: text, or what load appends if that is nil.
type rowsOf struct {
	units int
	text  []byte
	load  func([]byte) ([]byte, error)
}

// rowsStart returns what precedes the rows in a file, and rowsEnd is what follows them.
func (h *head) rowsStart() string {
	return `{"of":` + string(jsonscan.AppendQuote(nil, h.Of)) + `,"rows":[`
}

const rowsEnd = "]}\n"

// writeRows writes the displayed data of all pages.
func (b *Builder) writeRows() error {
	start := b.head.rowsStart()
	doc := []byte(start)
	file, unit := 0, 0
	var loaded []byte // the rows of a page, copied to doc
	flush := func() error {
		if len(doc) == len(start) {
			return nil
		}
		done := append(doc, rowsEnd...)
		doc = append(make([]byte, 0, len(done)), start...)
		return b.write(fileName("pages", file), done)
	}
	for i := range b.rows {
		r := b.rows[i]
		b.rows[i] = rowsOf{} // frees its text
		if r.load != nil {
			var err error
			if r.text, err = r.load(loaded[:0]); err != nil {
				return err
			}
			loaded = r.text
		}
		for range r.units {
			if next, _ := b.head.rowFileOf(unit); next != file {
				if err := flush(); err != nil {
					return err
				}
				file = next
			}
			size, n := binary.Uvarint(r.text)
			if n <= 0 || size > uint64(len(r.text)-n) {
				return errors.New("the stored rows of a page are incomplete")
			}
			if len(doc) > len(start) {
				doc = append(doc, ',')
			}
			doc = append(doc, r.text[n:n+int(size)]...)
			r.text = r.text[n+int(size):]
			unit++
		}
	}
	b.rows = nil
	return flush()
}

// writeTerms writes the postings, divided among files so that a query loads only those that
// it needs.
func (b *Builder) writeTerms() error {
	files := make([]strings.Builder, b.head.Terms)
	for _, term := range slices.Sorted(maps.Keys(b.terms)) {
		r := b.terms[term]
		b.terms[term] = nil // frees its memory
		data := append(binary.AppendUvarint(nil, uint64(r.pages)), r.data...)
		postings := base64.RawStdEncoding.EncodeToString(data)
		spelling := ""
		if r.word != "" {
			spelling = spell(term, r.word)
		}
		home := b.head.termFileOf(term)
		fmt.Fprintf(&files[home], "\n%s %s %s", term, spelling, postings)
		if own := b.head.ownFileOf(term); own != home {
			fmt.Fprintf(&files[own], "\n%s %s %s", term, spelling, elsewhere)
		}
	}
	for i := range files {
		data := encode(&termFile{Of: b.head.Of, Terms: files[i].String()})
		if err := b.write(fileName("terms", i), data); err != nil {
			return err
		}
	}
	return nil
}

// Words returns at most limit words that deserve a stored answer, best first: words of
// titles and headings, and words that distinguish pages.
func (b *Builder) Words(limit int) []string {
	type ranked struct {
		word string
		rank float64
	}
	var all []ranked
	n := float64(len(b.ids))
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
