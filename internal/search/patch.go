package search

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
)

// ErrRebuild means that the changes of pages change more than a few files of the index, or that
// the index and its [Builder.Counts] do not fit together.
var ErrRebuild = errors.New("the search index must be built again")

// PageChange is a page of an index whose text has changed.
type PageChange struct {
	// Number is that of the page: how many pages were added before it.
	Number int
	// Old is the analysis that the index was built with, and New has the Rows too.
	Old, New *Analysis
}

// Counts returns what [Patch] must know about an index beside its files: how often each word is
// used. It may be called after Close.
func (b *Builder) Counts() []byte {
	words := make([]int32, 0, len(b.words))
	for n := range b.words {
		if b.words[n].pages > 0 {
			words = append(words, int32(n))
		}
	}
	slices.SortFunc(words, func(x, y int32) int {
		return cmp.Or(b.termTexts.compare(int(b.words[x].term), int(b.words[y].term)),
			b.wordTexts.compare(int(x), int(y)))
	})
	out := binary.AppendUvarint(nil, uint64(b.opts.TermBytes))
	out = binary.AppendUvarint(out, uint64(b.termSize))
	for _, n := range words {
		w := b.words[n]
		out = appendBytes(appendBytes(out, b.termTexts.at(int(w.term))), b.wordTexts.at(int(n)))
		out = binary.AppendUvarint(out, uint64(w.pages))
	}
	return out
}

// wordCount is on how many pages a word of a term is.
type wordCount struct {
	term, text string
	pages      int
}

func appendCount(out []byte, w wordCount) []byte {
	out = appendBytes(appendBytes(out, w.term), w.text)
	return binary.AppendUvarint(out, uint64(w.pages))
}

// patch is a change of an index.
type patch struct {
	read func(name string) ([]byte, error)
	head *head
	// terms are the new postings of the changed pages, by term and page; nil for a page that does
	// not have the term any more. words are the changes of counts.
	terms map[string]map[int][]byte
	words map[wordCount]int // with pages 0
	// spelling is the most frequent word of each term that is in terms or in words.
	spelling map[string]wordCount

	files    map[string][]byte
	growth   int
	postings []byte
}

// Patch returns the files of an index that change with some of its pages, and its new counts. The
// files are those that a Builder writes for the pages; read returns the present ones. It returns
// ErrRebuild if they cannot be derived from these.
func Patch(read func(name string) ([]byte, error), counts []byte, changes []PageChange) (
	files map[string][]byte, after []byte, err error,
) {
	p := &patch{
		read:     read,
		terms:    make(map[string]map[int][]byte),
		words:    make(map[wordCount]int),
		spelling: make(map[string]wordCount),
		files:    make(map[string][]byte),
	}
	data, err := read(HeadName)
	if err != nil {
		return nil, nil, err
	}
	if p.head, err = decode[head](data); err != nil {
		return nil, nil, err
	}
	if err := p.head.prepare(); err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		if err := p.page(c); err != nil {
			return nil, nil, err
		}
	}
	if after, err = p.count(counts); err != nil {
		return nil, nil, err
	}
	if err := p.writeTerms(); err != nil {
		return nil, nil, err
	}
	termBytes, n := binary.Uvarint(after)
	size, m := binary.Uvarint(after[n:])
	if termFiles(int(size)+p.growth, int(termBytes)) != p.head.Terms {
		return nil, nil, ErrRebuild
	}
	grown := binary.AppendUvarint(binary.AppendUvarint(nil, termBytes), size+uint64(p.growth))
	after = append(grown, after[n+m:]...)
	p.files[HeadName] = encode(p.head)
	return p.files, after, nil
}

// page notes what changes with a page, and replaces its lengths and rows.
func (p *patch) page(c PageChange) error {
	if c.Number < 0 || c.Number >= p.head.Pages || c.Old.units() != c.New.units() ||
		len(c.Old.lengths) != len(c.New.lengths) {
		return ErrRebuild
	}
	old := make(map[string]string)
	c.Old.eachTerm(func(term, data []byte) { old[string(term)] = string(data) })
	change := func(term string, data []byte) {
		if p.terms[term] == nil {
			p.terms[term] = make(map[int][]byte)
		}
		p.terms[term][c.Number] = data
	}
	c.New.eachTerm(func(term, data []byte) {
		before, had := old[string(term)]
		delete(old, string(term))
		if !had || before != string(data) {
			change(string(term), data)
		}
	})
	for term := range old {
		change(term, nil)
	}
	c.Old.eachWord(func(text, term []byte, _ int) { p.words[wordCount{string(term), string(text), 0}]-- })
	c.New.eachWord(func(text, term []byte, _ int) { p.words[wordCount{string(term), string(text), 0}]++ })
	return errors.Join(p.lengths(c), p.rows(c))
}

// lengths replaces the lengths of a page in the head.
func (p *patch) lengths(c PageChange) error {
	data, err := base64.RawStdEncoding.DecodeString(p.head.Sections)
	if err != nil {
		return err
	}
	at := 0
	for range c.Number {
		count, n := binary.Uvarint(data[at:])
		at += n + 1 + int(count)
	}
	if !bytes.HasPrefix(data[at:], c.Old.lengths) {
		return ErrRebuild // another index
	}
	copy(data[at:], c.New.lengths)
	p.head.Sections = base64.RawStdEncoding.EncodeToString(data)
	return nil
}

// file returns a file, as it is changed so far.
func (p *patch) file(name string) ([]byte, error) {
	if data, ok := p.files[name]; ok {
		return data, nil
	}
	return p.read(name)
}

// rows replaces the rows of a page.
func (p *patch) rows(c PageChange) error {
	unit := p.head.layout.unit[c.Number]
	for rest := c.New.Rows; len(rest) > 0; unit++ {
		text, after, ok := cutBytes(rest)
		if !ok {
			return ErrRebuild
		}
		rest = after
		number, place := p.head.rowFileOf(unit)
		name := fileName("pages", number)
		data, err := p.file(name)
		if err != nil {
			return err
		}
		var doc struct {
			Of   string            `json:"of"`
			Rows []json.RawMessage `json:"rows"`
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			return err
		}
		if doc.Of != p.head.Of || place >= len(doc.Rows) {
			return ErrRebuild
		}
		doc.Rows[place] = text
		out := []byte(p.head.rowsStart())
		for i, row := range doc.Rows {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, row...)
		}
		p.files[name] = append(out, rowsEnd...)
	}
	return nil
}

// count returns the counts after the changes, with the present size, and finds the most frequent
// words of the changed terms.
func (p *patch) count(counts []byte) ([]byte, error) {
	var changes []wordCount // with the change of pages
	for w, by := range p.words {
		if by != 0 {
			changes = append(changes, wordCount{w.term, w.text, by})
			p.spelling[w.term] = wordCount{}
		}
	}
	for term := range p.terms {
		p.spelling[term] = wordCount{}
	}
	order.By(changes, func(x, y wordCount) int {
		return cmp.Or(strings.Compare(x.term, y.term), strings.Compare(x.text, y.text))
	})
	_, n := binary.Uvarint(counts)
	_, m := binary.Uvarint(counts[max(0, n):])
	if n <= 0 || m <= 0 {
		return nil, ErrRebuild
	}
	out := append(make([]byte, 0, len(counts)+1<<10), counts[:n+m]...)
	keep := func(w wordCount) {
		if w.pages <= 0 {
			return
		}
		out = appendCount(out, w)
		if best, ok := p.spelling[w.term]; ok && (w.pages > best.pages || w.pages == best.pages && w.text < best.text) {
			p.spelling[w.term] = w
		}
	}
	for rest := counts[n+m:]; len(rest) > 0; {
		term, after, ok := cutBytes(rest)
		text, after, ok2 := cutBytes(after)
		pages, k := binary.Uvarint(after)
		if !ok || !ok2 || k <= 0 {
			return nil, ErrRebuild
		}
		whole := rest[:len(rest)-len(after)+k]
		rest = after[k:]
		for len(changes) > 0 && less(changes[0], term, text) < 0 {
			keep(changes[0])
			changes = changes[1:]
		}
		if len(changes) > 0 && less(changes[0], term, text) == 0 {
			keep(wordCount{changes[0].term, changes[0].text, changes[0].pages + int(pages)})
			changes = changes[1:]
			continue
		}
		if _, ok := p.spelling[string(term)]; ok {
			keep(wordCount{string(term), string(text), int(pages)})
			continue
		}
		out = append(out, whole...)
	}
	for _, w := range changes {
		keep(w)
	}
	return out, nil
}

// less compares a word with a term and a text.
func less(w wordCount, term, text []byte) int {
	switch {
	case w.term < string(term):
		return -1
	case w.term > string(term):
		return 1
	}
	return strings.Compare(w.text, string(text))
}

// writeTerms changes the lines of terms.
func (p *patch) writeTerms() error {
	for _, term := range slices.Sorted(maps.Keys(p.spelling)) {
		home, own := p.head.termFileOf(term), p.head.ownFileOf(term)
		lines, err := p.lines(home)
		if err != nil {
			return err
		}
		_, postings, known := lines.line(term)
		postings, err = p.replaced(term, postings, known)
		if err != nil {
			return err
		}
		line := ""
		if postings != "" {
			spelling := ""
			if best := p.spelling[term]; best.pages > 0 {
				spelling = spell(term, best.text)
			}
			line = fmt.Sprintf("\n%s %s ", term, spelling)
			p.put(home, lines, term, line+postings)
		} else {
			p.put(home, lines, term, "")
		}
		if own == home {
			continue
		}
		if lines, err = p.lines(own); err != nil {
			return err
		}
		if line != "" {
			line += elsewhere
		}
		p.put(own, lines, term, line)
	}
	return nil
}

// lines returns a file of terms.
func (p *patch) lines(number int) (*termFile, error) {
	data, err := p.file(fileName("terms", number))
	if err != nil {
		return nil, err
	}
	f, err := decode[termFile](data)
	if err == nil && f.Of != p.head.Of {
		err = ErrRebuild
	}
	return f, err
}

// put replaces, adds or removes the line of a term.
func (p *patch) put(number int, f *termFile, term, line string) {
	rest := f.Terms
	at := 0
	for rest != "" {
		end := strings.IndexByte(rest[1:], '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		other, _, _ := strings.Cut(rest[1:end], " ")
		if other >= term {
			if other == term {
				rest = rest[end:]
			}
			break
		}
		at += end
		rest = rest[end:]
	}
	f.Terms = f.Terms[:at] + line + rest
	p.files[fileName("terms", number)] = encode(&termFile{Of: f.Of, Terms: f.Terms})
}

// replaced returns the postings of a term with those of the changed pages, or "" if no page has
// the term.
func (p *patch) replaced(term, postings string, known bool) (string, error) {
	changed := p.terms[term]
	if len(changed) == 0 && known {
		return postings, nil
	}
	numbers := slices.Sorted(maps.Keys(changed))
	var data []byte
	pages, last, before := 0, -1, 0
	add := func(page int, encoded []byte) {
		if encoded == nil {
			return
		}
		data = append(binary.AppendUvarint(data, uint64(page-last)), encoded...)
		last = page
		pages++
	}
	flush := func(until int) {
		for len(numbers) > 0 && numbers[0] < until {
			add(numbers[0], changed[numbers[0]])
			numbers = numbers[1:]
		}
	}
	if known {
		old, err := base64.RawStdEncoding.DecodeString(postings)
		if err != nil {
			return "", err
		}
		_, n := binary.Uvarint(old)
		before = termWeight(len(term), len(old)-n)
		var one []byte
		err = eachPosting(postings, &p.head.layout, &p.postings, func(of posting) {
			flush(of.page)
			if len(numbers) > 0 && numbers[0] == of.page {
				add(of.page, changed[of.page])
				numbers = numbers[1:]
				return
			}
			one = appendPosting(one[:0], 0, of)
			add(of.page, one[1:])
		})
		if err != nil {
			return "", err
		}
	}
	flush(p.head.Pages)
	p.growth -= before
	if pages == 0 {
		return "", nil
	}
	p.growth += termWeight(len(term), len(data))
	return base64.RawStdEncoding.EncodeToString(append(binary.AppendUvarint(nil, uint64(pages)), data...)), nil
}
