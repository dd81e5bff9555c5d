package search

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
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
	// TempFile creates a file for postings of many pages, whose name is removed once it is closed.
	// Default: they stay in memory.
	TempFile func() (*os.File, error)
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

// Write stores an index file under its name. It may retain data. After an error it is not
// called again.
type Write func(name string, data []byte) error

// Weights of a word by where it occurs.
const (
	weighsText    = 1
	weighsHeading = 2
	weighsWhole   = 4 // of the term for a heading as a whole
	weighsKeyword = 5
	weighsTitle   = 10
	weighsID      = 4
	weighsAnchor  = 2
	// weighsLead is added for the first leadWords words of the texts of a page, which usually say
	// what it is about.
	weighsLead = 2
	leadWords  = 40
)

// Limits of what is kept for one page and term.
const (
	maxAnchors = 20 // texts of links to a page
	maxFolders = 4  // nesting of folders that searches can be limited to
	maxPins    = 1000

	maxSynonyms = 1000 // groups of the owner
)

// Builder writes an index. It keeps the terms in memory until Close, and their postings, about 8 bytes
// for each distinct word of each page, unless these move to [Options.TempFile]. It is not safe for
// concurrent use.
type Builder struct {
	// opts are complete, and write receives each file of the index when it is done.
	opts  Options
	write Write
	an    *analyzer

	// terms and words are numbered: terms[n] is that of termTexts.at(n). The words are those of the
	// texts, for corrections. One that is on no page was only analyzed.
	termTexts, wordTexts texts
	terms                []raw
	words                []word
	postings             blocks
	posting              []byte // the last one
	spilled              spilled
	// pieces are the words as they are in texts, and tokens their tokens: those of a piece end
	// where tokenEnds says.
	pieces    texts
	tokens    []numbered
	tokenEnds []int32

	ids      []string
	numbers  map[string]int // of pages, by ID
	sections []byte         // as in the head
	folders  map[string]*folder
	links    [][]string // IDs of the pages that each page links to

	// rows are those that are not in a file yet: files know the list of all pages.
	rows   []rowsOf
	head   head
	closed bool

	counter *counter // of [Builder.Analyze]
	// encodedRow and encodedRows are the last ones, whose memory is used again.
	encodedRow  bytes.Buffer
	encodedRows []byte
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
	pages    int32 // number of pages with the term
	last     int32 // the last of them, plus one
	postings list
	// word is the most frequent word of the term, plus one, which is on the number of pages in on.
	word, on int32
}

// word holds the counts of a word as written.
type word struct {
	// pages counts the pages with the word, and term is its term.
	pages, term int32
	// weight is the word's total weight in titles and headings.
	weight int
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
	b := &Builder{
		opts:  o,
		write: write,
		an:    newAnalyzer(o.Language),

		spilled: spilled{limit: spillSlabs},

		numbers: make(map[string]int),
		folders: make(map[string]*folder),
	}
	b.an.stemOf = b.stemOf
	return b
}

// Add appends a page. It is an error after Close.
func (b *Builder) Add(p Page) error { return b.AddAnalysis(p.ID, b.Analyze(p), nil) }

// AddAnalysis appends the page with an ID, whose analysis is by a Builder with the same options.
// If rows is not nil, it appends the [Analysis.Rows] that the analysis lacks; it is called by
// Close, which reuses what it returns. AddAnalysis is an error after Close.
func (b *Builder) AddAnalysis(id string, a *Analysis, rows func([]byte) ([]byte, error)) error {
	if b.closed {
		return errors.New("the index is closed")
	}
	number := len(b.ids)
	b.sections = append(b.sections, a.lengths...)
	b.numbers[id] = number
	b.ids = append(b.ids, id)
	b.addFolders(id, number)
	numbers := a.numbersIn(b)
	i := 0
	a.eachTerm(func(term, data []byte) {
		n := 0
		if numbers != nil {
			n = int(numbers.terms[i])
			i++
		} else {
			n = b.term(term)
		}
		b.keep(&b.terms[n], number, data)
	})
	b.spill()
	i = 0
	a.eachWord(func(text, term []byte, weight int) {
		n := 0
		if numbers != nil {
			n = int(numbers.words[i])
			i++
		} else {
			n = b.word(text, term)
		}
		b.words[n].pages++
		b.words[n].weight += weight
	})
	b.rows = append(b.rows, rowsOf{
		units: a.units(),
		text:  a.Rows,
		load:  rows,
	})
	return nil
}

// Link notes that the page added last links to the pages with some IDs, which may be added later. Those that
// are not in the index do not matter.
func (b *Builder) Link(to []string) {
	b.links = append(b.links, make([][]string, len(b.ids)-len(b.links))...)
	b.links[len(b.ids)-1] = to
}

// encodeLinks returns the links of all pages for the head.
func (b *Builder) encodeLinks() string {
	to := make([][]int32, len(b.ids))
	for from, ids := range b.links {
		for _, id := range ids {
			page, ok := b.numbers[id]
			if known := len(to[page]); ok && page != from && (known == 0 || to[page][known-1] != int32(from)) {
				to[page] = append(to[page], int32(from))
			}
		}
	}
	return encodeLinks(to)
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

// term returns the number of a term.
func (b *Builder) term(text []byte) int {
	n := b.termTexts.number(text)
	if n == len(b.terms) {
		b.terms = append(b.terms, raw{})
	}
	return n
}

// word returns the number of a word with a term.
func (b *Builder) word(text, term []byte) int {
	n := b.wordTexts.number(text)
	if n == len(b.words) {
		b.words = append(b.words, word{term: int32(b.term(term))})
	}
	return n
}

// stemOf returns the term of a word that has a number.
func (b *Builder) stemOf(text string) (term string, ok bool) {
	n := b.wordTexts.known([]byte(text))
	if n < 0 {
		return "", false
	}
	return string(b.termTexts.at(int(b.words[n].term))), true
}

// keep records the posting of a term in a page.
func (b *Builder) keep(r *raw, page int, data []byte) {
	b.posting = binary.AppendUvarint(b.posting[:0], uint64(page+1-int(r.last)))
	b.posting = append(b.posting, data...)
	b.postings.append(&r.postings, b.posting)
	r.pages++
	r.last = int32(page + 1)
}

// Close writes the files, the head last. It returns only errors of write and of files. After Close,
// only [Builder.Words] may be used, which returns the same words as before.
func (b *Builder) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	defer b.Release()
	b.pieces, b.tokens, b.tokenEnds, b.counter = texts{}, nil, nil, nil // no page is analyzed after this
	b.encodedRow, b.encodedRows = bytes.Buffer{}, nil
	b.spellTerms()
	b.head = head{
		Format:      format,
		Language:    b.an.lang.Code,
		Hint:        b.opts.Hint,
		Pages:       len(b.ids),
		Sections:    base64.RawStdEncoding.EncodeToString(b.sections),
		Links:       b.encodeLinks(),
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
	if err := b.writeRows(); err != nil {
		return err
	}
	if err := b.writeTerms(); err != nil {
		return err
	}
	b.terms = nil
	b.postings = blocks{}
	return b.write(HeadName, encode(&b.head))
}

// spellTerms determines how to write each term: as the word that is on most pages.
func (b *Builder) spellTerms() {
	for n := range b.words {
		w := &b.words[n]
		r := &b.terms[w.term]
		if w.pages > r.on || w.pages > 0 && w.pages == r.on && b.wordTexts.compare(n, int(r.word)-1) < 0 {
			r.word = int32(n + 1)
			r.on = w.pages
		}
	}
}

// termFiles returns the number of files of terms.
func (b *Builder) termFiles() int {
	b.termSize = 0
	for n := range b.terms {
		if r := &b.terms[n]; r.pages > 0 {
			b.termSize += termWeight(len(b.termTexts.at(n)), b.postingsSize(n))
		}
	}
	return termFiles(b.termSize, b.opts.TermBytes)
}

// termWeight returns the size, in a file, of a term of that many bytes with its postings.
func termWeight(term, postings int) int {
	return term + base64.RawStdEncoding.EncodedLen(postings) + 6
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

// termLine is a line in a file of terms. One that is not of the term's own file says so.
type termLine struct {
	file, term int32
	elsewhere  bool
}

// termLines returns the lines of all files, in order.
func (b *Builder) termLines() []termLine {
	lines := make([]termLine, 0, len(b.terms)+len(b.terms)/64)
	for n := range b.terms {
		if b.terms[n].pages == 0 {
			continue
		}
		term := string(b.termTexts.at(n))
		home := b.head.termFileOf(term)
		lines = append(lines, termLine{int32(home), int32(n), false})
		if own := b.head.ownFileOf(term); own != home {
			lines = append(lines, termLine{int32(own), int32(n), true})
		}
	}
	slices.SortFunc(lines, func(x, y termLine) int {
		return cmp.Or(cmp.Compare(x.file, y.file), b.termTexts.compare(int(x.term), int(y.term)))
	})
	return lines
}

// writeTerms writes the postings, divided among files so that a query loads only those that
// it needs.
func (b *Builder) writeTerms() error {
	lines := b.termLines()
	var text, data []byte
	for file := range b.head.Terms {
		text = text[:0]
		for ; len(lines) > 0 && int(lines[0].file) == file; lines = lines[1:] {
			n := int(lines[0].term)
			r := &b.terms[n]
			text = append(append(append(text, '\n'), b.termTexts.at(n)...), ' ')
			if r.word > 0 {
				text = append(text, spell(string(b.termTexts.at(n)), string(b.wordTexts.at(int(r.word)-1)))...)
			}
			text = append(text, ' ')
			if lines[0].elsewhere {
				text = append(text, elsewhere...)
				continue
			}
			var err error
			if data, err = b.appendPostings(binary.AppendUvarint(data[:0], uint64(r.pages)), n); err != nil {
				return err
			}
			text = base64.RawStdEncoding.AppendEncode(text, data)
		}
		if err := b.write(fileName("terms", file), encode(&termFile{Of: b.head.Of, Terms: string(text)})); err != nil {
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
	for i := range b.words {
		w := &b.words[i]
		if w.pages == 0 {
			continue
		}
		idf := math.Log(1 + (n-float64(w.pages)+0.5)/(float64(w.pages)+0.5))
		all = append(all, ranked{string(b.wordTexts.at(i)), float64(w.weight+int(w.pages)) * idf})
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
