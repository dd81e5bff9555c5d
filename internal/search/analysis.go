package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// Analysis is what a page contributes to an index, whatever the other pages are. It depends on
// the page and on the options of its Builder, so it can be stored and used again.
type Analysis struct {
	// lengths are those of the page and of its sections, as in the head.
	lengths []byte
	// terms are the terms with their postings, sorted, and words the words as written.
	terms, words []byte
	// Rows is the displayed data of the page, each row preceded by its length. It is most of an
	// analysis, and is only needed when the index is written.
	Rows []byte
}

// AppendBinary appends the analysis, without its Rows.
func (a *Analysis) AppendBinary(out []byte) ([]byte, error) {
	for _, part := range [][]byte{a.lengths, a.terms, a.words} {
		out = appendBytes(out, part)
	}
	return out, nil
}

// UnmarshalBinary decodes an analysis. It retains data.
func (a *Analysis) UnmarshalBinary(data []byte) error {
	for _, part := range []*[]byte{&a.lengths, &a.terms, &a.words} {
		var ok bool
		if *part, data, ok = cutBytes(data); !ok {
			return errors.New("the analysis of a page is incomplete")
		}
	}
	return nil
}

// appendBytes appends data, preceded by its length.
func appendBytes[T string | []byte](out []byte, data T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(data))), data...)
}

// cutBytes returns what appendBytes appended, and what follows.
func cutBytes(data []byte) (first, rest []byte, ok bool) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(size)], data[n+int(size):], true
}

// units returns the number of rows.
func (a *Analysis) units() int {
	sections, _ := binary.Uvarint(a.lengths)
	return max(1, (int(sections)+perUnit-1)/perUnit)
}

// eachTerm calls visit for each term with its posting, without the distance to the page before.
func (a *Analysis) eachTerm(visit func(term, data []byte)) {
	for rest := a.terms; ; {
		term, after, ok := cutBytes(rest)
		if !ok {
			return
		}
		var data []byte
		if data, rest, ok = cutBytes(after); !ok {
			return
		}
		visit(term, data)
	}
}

// eachWord calls visit for each word as written, with its term and its weight in titles and
// headings.
func (a *Analysis) eachWord(visit func(text, term []byte, weight int)) {
	for rest := a.words; ; {
		text, after, ok := cutBytes(rest)
		if !ok {
			return
		}
		term, after, ok := cutBytes(after)
		if !ok {
			return
		}
		weight, n := binary.Uvarint(after)
		if n <= 0 {
			return
		}
		rest = after[n:]
		visit(text, term, int(weight))
	}
}

// counter counts the terms and words of a page. Its fields are reused for the next page.
type counter struct {
	terms map[string]*weights
	words map[string]*counted
	// order are the words in the order of the page.
	order []*counted

	spareTerms []*weights
	spareWords []*counted
	usedTerms  int
}

// weights are the weights of a term in one page.
type weights struct {
	// page is the weight of the term on the whole page.
	page     int
	title    int // number of words in the title, if the term is among them
	sections []sectionWeight
}

// counted is a word of one page.
type counted struct {
	text, term string
	weight     int
}

// Analyze returns what a page contributes to the index.
func (b *Builder) Analyze(p Page) *Analysis {
	if b.counter == nil {
		b.counter = &counter{
			terms: make(map[string]*weights),
			words: make(map[string]*counted),
		}
	}
	c := b.counter
	c.reset()
	words := c.count(b.an, p.Title, -1, weighsTitle)
	for _, w := range c.terms {
		w.title = max(1, words)
	}
	c.whole(b.an, p.Title, -1, weighsTitle)
	c.count(b.an, p.ID, -1, weighsID)
	for _, k := range p.Keywords {
		c.count(b.an, k, -1, weighsKeyword)
	}
	for _, a := range p.Anchors[:min(len(p.Anchors), maxAnchors)] {
		c.count(b.an, a, -1, weighsAnchor)
	}
	p.Sections = p.Sections[:min(len(p.Sections), maxSections)]
	lengths := make([]byte, len(p.Sections))
	length := 0
	for i, section := range p.Sections {
		n := c.count(b.an, section.Heading, i, weighsHeading) + c.count(b.an, section.Text, i, weighsText)
		c.whole(b.an, section.Heading, i, weighsHeading)
		lengths[i] = lengthCode(n)
		length += n
	}
	a := &Analysis{Rows: b.rowsOf(p)}
	a.lengths = binary.AppendUvarint(nil, uint64(len(lengths)))
	a.lengths = append(append(a.lengths, lengthCode(length)), lengths...)
	a.terms, a.words = c.encode()
	return a
}

// reset prepares the counter for another page.
func (c *counter) reset() {
	clear(c.terms)
	clear(c.words)
	c.order = c.order[:0]
	c.usedTerms = 0
}

// count adds the terms of a text, and returns its length in words. section is negative for a
// text outside of sections.
func (c *counter) count(an *analyzer, text string, section, weight int) (length int) {
	an.tokens(text, func(t token) {
		if !t.compound {
			length++
		}
		c.note(t, weight)
		if t.stop && weight == weighsText {
			return
		}
		c.weightsOf(t.term).add(section, weight)
	})
	return length
}

// whole adds the term for a title or heading as a whole.
func (c *counter) whole(an *analyzer, text string, section, weight int) {
	if term := an.heading(text); term != "" {
		c.weightsOf(term).add(section, weight)
	}
}

// weightsOf returns the weights of a term.
func (c *counter) weightsOf(term string) *weights {
	w := c.terms[term]
	if w == nil {
		w = c.blank()
		c.terms[term] = w
	}
	return w
}

// note counts a word as written.
func (c *counter) note(t token, weight int) {
	if t.stop || t.compound || len(t.word) < 2 {
		return
	}
	w := c.words[t.word]
	if w == nil {
		if len(c.order) == len(c.spareWords) {
			c.spareWords = append(c.spareWords, &counted{})
		}
		w = c.spareWords[len(c.order)]
		*w = counted{text: t.word, term: t.term}
		c.order = append(c.order, w)
		c.words[t.word] = w
	}
	if weight > weighsText {
		w.weight += weight
	}
}

// blank returns weights without content.
func (c *counter) blank() *weights {
	if c.usedTerms == len(c.spareTerms) {
		c.spareTerms = append(c.spareTerms, &weights{})
	}
	w := c.spareTerms[c.usedTerms]
	c.usedTerms++
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

// encode returns the terms and the words as an Analysis has them.
func (c *counter) encode() (terms, words []byte) {
	names := make([]string, 0, len(c.terms))
	for term := range c.terms {
		names = append(names, term)
	}
	slices.Sort(names)
	var data []byte
	for _, term := range names {
		w := c.terms[term]
		slices.SortStableFunc(w.sections, func(a, b sectionWeight) int { return b.weight - a.weight })
		w.sections = w.sections[:min(len(w.sections), kMost)]
		slices.SortFunc(w.sections, func(a, b sectionWeight) int { return a.section - b.section })
		data = appendPosting(data[:0], 0, posting{0, w.page, w.title, w.sections})
		terms = appendBytes(appendBytes(terms, term), data[1:]) // without the distance, which is one byte
	}
	for _, w := range c.order {
		words = appendBytes(appendBytes(words, w.text), w.term)
		words = binary.AppendUvarint(words, uint64(w.weight))
	}
	return bytes.Clone(terms), bytes.Clone(words) // without spare room
}

// rowsOf returns the displayed data of a page.
func (b *Builder) rowsOf(p Page) []byte {
	var out []byte
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
		out = appendBytes(out, bytes.TrimSuffix(encode(&r), []byte("\n")))
	}
	return bytes.Clone(out)
}
