package search

import (
	"bytes"
	"cmp"
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
	// numbers are those of terms and words, in that order.
	numbers *numbers
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

// numbers are those of the terms and words of a page in a Builder.
type numbers struct {
	of           *Builder
	terms, words []int32
}

// numbersIn returns the numbers of the terms and words in b, or nil if they are unknown.
func (a *Analysis) numbersIn(b *Builder) *numbers {
	if a.numbers != nil && a.numbers.of == b {
		return a.numbers
	}
	return nil
}

// numbered is a token with the numbers that a Builder has for its term and its word. The word is
// -1 if it is not counted.
type numbered struct {
	term, word     int32
	compound, stop bool
}

// numbered returns a token with its numbers.
func (b *Builder) numbered(t token) numbered {
	n := numbered{int32(b.term([]byte(t.term))), -1, t.compound, t.stop}
	if !t.stop && !t.compound && len(t.word) >= 2 {
		n.word = int32(b.word([]byte(t.word), []byte(t.term)))
	}
	return n
}

// eachToken calls visit for each token of a text, in order. The tokens of a word are kept, as
// texts repeat most of their words.
func (b *Builder) eachToken(text string, visit func(numbered)) {
	pieces(text, func(piece string, _ int, unspaced bool) {
		if unspaced {
			pairs(piece, 0, func(t token) { visit(b.numbered(t)) })
			return
		}
		if len(piece) > maxWord || len(b.tokenEnds) >= maxStems && b.pieces.known([]byte(piece)) < 0 {
			b.an.word(piece, 0, func(t token) { visit(b.numbered(t)) })
			return
		}
		n := b.pieces.number([]byte(piece))
		if n == len(b.tokenEnds) {
			b.an.word(piece, 0, func(t token) { b.tokens = append(b.tokens, b.numbered(t)) })
			b.tokenEnds = append(b.tokenEnds, int32(len(b.tokens)))
		}
		start := int32(0)
		if n > 0 {
			start = b.tokenEnds[n-1]
		}
		for _, t := range b.tokens[start:b.tokenEnds[n]] {
			visit(t)
		}
	})
}

// headingOf returns the term for a heading: its terms as a query for it has them.
func (b *Builder) headingOf(text string) string {
	var terms []string
	seen := make(map[int32]bool)
	b.eachToken(text, func(t numbered) {
		if !seen[t.term] && !t.stop && !t.compound {
			terms = append(terms, string(b.termTexts.at(int(t.term))))
		}
		seen[t.term] = true
	})
	return headingTerm(terms)
}

// counter counts the terms and words of a page. Its fields are reused for the next page.
type counter struct {
	b *Builder
	// at is where a term or a word is in terms or words, plus one, by its number.
	termAt, wordAt []int32
	terms          []weights
	words          []counted // in the order of the page
	lead           int       // words of the page's texts that still count as its beginning
	encoded        []byte    // the last analysis
	order          []sorted  // of its terms
}

// sorted is a term in the order of an analysis: its beginning as a number, and its place in terms.
type sorted struct {
	beginning uint64
	at        int
}

// weights are the weights of a term in one page.
type weights struct {
	term int32
	// page is the weight of the term on the whole page.
	page     int
	title    int // number of words in the title, if the term is among them
	sections []sectionWeight
}

// counted is a word of one page.
type counted struct {
	word   int32
	weight int
}

// Analyze returns what a page contributes to the index.
func (b *Builder) Analyze(p Page) *Analysis {
	if b.counter == nil {
		b.counter = &counter{b: b}
	}
	c := b.counter
	c.reset()
	words := c.count(p.Title, -1, weighsTitle)
	for i := range c.terms {
		c.terms[i].title = max(1, words)
	}
	c.whole(p.Title, -1, weighsTitle)
	c.count(p.ID, -1, weighsID)
	for _, k := range p.Keywords {
		c.count(k, -1, weighsKeyword)
	}
	for _, a := range p.Anchors[:min(len(p.Anchors), maxAnchors)] {
		c.count(a, -1, weighsAnchor)
	}
	p.Sections = p.Sections[:min(len(p.Sections), maxSections)]
	lengths := make([]byte, len(p.Sections))
	length := 0
	c.lead = leadWords
	for i, section := range p.Sections {
		n := c.count(section.Heading, i, weighsHeading) + c.count(section.Text, i, weighsText)
		c.whole(section.Heading, i, weighsWhole)
		lengths[i] = lengthCode(n)
		length += n
	}
	a := &Analysis{Rows: b.rowsOf(p)}
	a.lengths = binary.AppendUvarint(nil, uint64(len(lengths)))
	a.lengths = append(append(a.lengths, lengthCode(length)), lengths...)
	c.encode(a)
	return a
}

// reset prepares the counter for another page.
func (c *counter) reset() {
	for i := range c.terms {
		c.termAt[c.terms[i].term] = 0
	}
	for i := range c.words {
		c.wordAt[c.words[i].word] = 0
	}
	c.terms = c.terms[:0]
	c.words = c.words[:0]
}

// count adds the terms of a text, and returns its length in words. section is negative for a
// text outside of sections.
func (c *counter) count(text string, section, weight int) (length int) {
	inText := weight == weighsText
	c.b.eachToken(text, func(t numbered) {
		leads := inText && c.lead > 0
		if !t.compound {
			length++
			if leads {
				c.lead--
			}
		}
		if t.word >= 0 {
			c.note(t.word, weight)
		}
		if t.stop && inText {
			return
		}
		w := c.weightsOf(t.term)
		w.add(section, weight)
		if leads {
			w.page += weighsLead
		}
	})
	return length
}

// whole adds the term for a title or heading as a whole.
func (c *counter) whole(text string, section, weight int) {
	if term := c.b.headingOf(text); term != "" {
		c.weightsOf(int32(c.b.term([]byte(term)))).add(section, weight)
	}
}

// place returns the place of a number in a list, plus one.
func place(list *[]int32, number int32) *int32 {
	if int(number) >= len(*list) {
		*list = append(*list, make([]int32, int(number)+1-len(*list))...)
	}
	return &(*list)[number]
}

// weightsOf returns the weights of a term, until the next call.
func (c *counter) weightsOf(term int32) *weights {
	at := place(&c.termAt, term)
	if *at == 0 {
		n := len(c.terms)
		if n < cap(c.terms) {
			c.terms = c.terms[:n+1]
		} else {
			c.terms = append(c.terms, weights{})
		}
		w := &c.terms[n]
		*w = weights{term: term, sections: w.sections[:0]}
		*at = int32(n + 1)
	}
	return &c.terms[*at-1]
}

// note counts a word as written.
func (c *counter) note(word int32, weight int) {
	at := place(&c.wordAt, word)
	if *at == 0 {
		c.words = append(c.words, counted{word: word})
		*at = int32(len(c.words))
	}
	if weight > weighsText {
		c.words[*at-1].weight += weight
	}
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

// encode sets the terms and words of an analysis.
func (c *counter) encode(a *Analysis) {
	order := c.order[:0]
	for i := range c.terms {
		order = append(order, sorted{c.b.termTexts.beginning(int(c.terms[i].term)), i})
	}
	c.order = order
	slices.SortFunc(order, func(x, y sorted) int {
		if x.beginning != y.beginning {
			return cmp.Compare(x.beginning, y.beginning)
		}
		return c.b.termTexts.compare(int(c.terms[x.at].term), int(c.terms[y.at].term))
	})
	a.numbers = &numbers{c.b, make([]int32, len(c.terms)), make([]int32, len(c.words))}
	var data []byte
	out := c.encoded[:0]
	for i, s := range order {
		w := &c.terms[s.at]
		a.numbers.terms[i] = w.term
		slices.SortStableFunc(w.sections, func(a, b sectionWeight) int { return b.weight - a.weight })
		w.sections = w.sections[:min(len(w.sections), kMost)]
		slices.SortFunc(w.sections, func(a, b sectionWeight) int { return a.section - b.section })
		data = appendPosting(data[:0], 0, posting{0, w.page, w.title, w.sections})
		out = appendBytes(out, c.b.termTexts.at(int(w.term)))
		out = appendBytes(out, data[1:]) // without the distance, which is one byte
	}
	a.terms = bytes.Clone(out)
	out = out[:0]
	for i, w := range c.words {
		a.numbers.words[i] = w.word
		out = appendBytes(out, c.b.wordTexts.at(int(w.word)))
		out = appendBytes(out, c.b.termTexts.at(int(c.b.words[w.word].term)))
		out = binary.AppendUvarint(out, uint64(w.weight))
	}
	a.words = bytes.Clone(out)
	c.encoded = out
}

// rowsOf returns the displayed data of a page.
func (b *Builder) rowsOf(p Page) []byte {
	out := b.encodedRows[:0]
	var text []byte
	for first := 0; first == 0 || first < len(p.Sections); first += perUnit {
		r := row{
			ID:       p.ID,
			Title:    p.Title,
			Link:     p.Link,
			First:    first,
			Sections: make([]sectionRow, 0, perUnit),
		}
		for _, s := range p.Sections[first:min(len(p.Sections), first+perUnit)] {
			text = appendWords(text[:0], s.Text, b.opts.MaxSectionText)
			r.Sections = append(r.Sections, sectionRow{
				Slug:    s.Slug,
				Heading: s.Heading,
				Text:    clip(string(text), b.opts.MaxSectionText),
			})
		}
		b.encodedRow.Reset()
		encodeTo(&b.encodedRow, &r)
		out = appendBytes(out, bytes.TrimSuffix(b.encodedRow.Bytes(), []byte("\n")))
	}
	b.encodedRows = out
	return bytes.Clone(out)
}

// appendWords appends the words of a text with a space between them, until they have more than
// enough bytes.
func appendWords(out []byte, text string, enough int) []byte {
	for word := range strings.FieldsSeq(text) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		if out = append(out, word...); len(out) > enough {
			break
		}
	}
	return out
}
