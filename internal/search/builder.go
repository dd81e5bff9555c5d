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
	rows   []row
	head   head
	closed bool

	// found and spare are reused for each page: found are the weights of its terms, spare
	// is where they come from.
	found map[string]*weights
	spare []*weights
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
	// pages counts the pages with the word, and last is the latest of them.
	pages int
	last  int
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
	return &Builder{
		opts:  o,
		write: write,
		an:    newAnalyzer(o.Language),
		terms: make(map[string]*raw),
		words: make(map[string]*word),

		numbers: make(map[string]int),
		folders: make(map[string]*folder),
		found:   make(map[string]*weights),
	}
}

// weights are the weights of a term in one page.
type weights struct {
	// page is the weight of the term on the whole page.
	page     int
	title    int // number of words in the title, if the term is among them
	sections []sectionWeight
}

// Add appends a page. It returns only errors of write.
func (b *Builder) Add(p Page) error {
	if b.closed {
		return errors.New("the index is closed")
	}
	number := len(b.ids)
	found := b.found
	clear(found)
	used := 0
	count := func(text string, section, weight int) (length int) {
		b.an.tokens(text, func(t token) {
			if !t.compound {
				length++
			}
			b.note(t, number, weight)
			if t.stop && weight == weighsText {
				return
			}
			w := found[t.term]
			if w == nil {
				w = b.blank(used)
				used++
				found[t.term] = w
			}
			w.add(section, weight)
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
	for _, a := range p.Anchors[:min(len(p.Anchors), maxAnchors)] {
		count(a, -1, weighsAnchor)
	}
	p.Sections = p.Sections[:min(len(p.Sections), maxSections)]
	lengths := make([]byte, len(p.Sections))
	length := 0
	for i, section := range p.Sections {
		n := count(section.Heading, i, weighsHeading) + count(section.Text, i, weighsText)
		lengths[i] = lengthCode(n)
		length += n
	}
	b.sections = binary.AppendUvarint(b.sections, uint64(len(lengths)))
	b.sections = append(append(b.sections, lengthCode(length)), lengths...)
	b.numbers[p.ID] = number
	b.ids = append(b.ids, p.ID)
	b.addFolders(p.ID, number)
	for _, term := range slices.Sorted(maps.Keys(found)) {
		b.keep(term, number, found[term])
	}
	b.addRows(p)
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

// addRows stores the displayed data of a page.
func (b *Builder) addRows(p Page) {
	for first := 0; first == 0 || first < len(p.Sections); first += perUnit {
		r := row{
			ID:       p.ID,
			Title:    p.Title,
			Link:     p.Link,
			First:    first,
			Sections: make([]sectionRow, 0, perUnit),
		}
		for _, s := range p.Sections[first:min(len(p.Sections), first+perUnit)] {
			text := clip(strings.Join(strings.Fields(s.Text), " "), b.opts.MaxSectionText)
			r.Sections = append(r.Sections, sectionRow{Slug: s.Slug, Heading: s.Heading, Text: text})
		}
		b.rows = append(b.rows, r)
	}
}

// blank returns the spare weights with that number, without content.
func (b *Builder) blank(n int) *weights {
	if n == len(b.spare) {
		b.spare = append(b.spare, &weights{})
	}
	w := b.spare[n]
	*w = weights{sections: w.sections[:0]}
	return w
}

// add adds the weight of one occurrence to the page, and to its section unless that is
// negative.
func (w *weights) add(section, weight int) {
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
		w = &word{term: strings.Clone(t.term)}
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
	slices.SortStableFunc(w.sections, func(a, b sectionWeight) int { return b.weight - a.weight })
	w.sections = w.sections[:min(len(w.sections), kMost)]
	slices.SortFunc(w.sections, func(a, b sectionWeight) int { return a.section - b.section })
	r.data = appendPosting(r.data, page+1-r.last, posting{page, w.page, w.title, w.sections})
	r.pages++
	r.last = page + 1
}

// Close writes the files, the head last. It returns only errors of write. After Close,
// only [Builder.Words] may be used.
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
	b.found = nil
	b.spare = nil
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

// termFiles returns the number of files of terms: a power of two, so that it changes
// rarely.
func (b *Builder) termFiles() int {
	size := 0
	for term, r := range b.terms {
		size += len(term) + base64.RawStdEncoding.EncodedLen(len(r.data)) + 6
	}
	files := 1
	for files < maxTermFiles && size > files*b.opts.TermBytes {
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
	fmt.Fprintf(&list, "%s %d %d", b.head.Language, b.head.Terms, b.head.RowsPerFile)
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

// writeRows writes the displayed data of all pages.
func (b *Builder) writeRows() error {
	for at := 0; at < len(b.rows); {
		file, _ := b.head.rowFileOf(at)
		end := at
		for end < len(b.rows) {
			if next, _ := b.head.rowFileOf(end); next != file {
				break
			}
			end++
		}
		if err := b.write(fileName("pages", file), encode(&rowFile{Of: b.head.Of, Rows: b.rows[at:end]})); err != nil {
			return err
		}
		clear(b.rows[at:end]) // frees their texts
		at = end
	}
	b.rows = nil
	return nil
}

// writeTerms writes the postings, each file with the terms that begin alike, so that a
// query loads only those that it needs.
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
		if own := b.head.wordFileOf(term); own != home {
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
