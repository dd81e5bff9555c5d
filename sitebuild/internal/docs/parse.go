package docs

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// parsed is what is extracted from the syntax tree of a document.
type parsed struct {
	// headings and anchors are what links can lead to.
	headings []heading
	breaks   lineBreaks // of the body, computed on first use
	code     []span     // ranges of code in the source, in order
	anchors  []string
	lead     lead
	// pieces are the plain texts, in order, with their offsets.
	pieces []textPiece
}

// heading is a heading with its position in the source.
type heading struct {
	// level is 1 to 6, and text is without markup.
	level int
	text  string
	// name is the text with all its spaces, and source its last line as it is in the file, from
	// which generators make ids.
	name, source string
	id           string // if the author wrote one
	at, body     int    // where its line begins and ends
}

// span is a range of bytes in the source.
type span struct{ start, end int }

// textPiece is a plain text with its position in the source.
type textPiece struct {
	// at is the offset in the source, for findings about the text.
	at   int
	text string
}

// markdown parses documents. It is safe for concurrent use.
type markdown struct{ plain, mdx parser.Parser }

// newMarkdown returns the parsers for Markdown and MDX.
func newMarkdown() *markdown {
	return &markdown{
		plain: newParser(true),
		mdx:   newParser(false),
	}
}

// newParser returns a CommonMark parser; the one for MDX does not support indented code,
// because components are indented. Tables are parsed as paragraphs, without the library's
// extensions: compiling their regular expressions would cost a third of a millisecond at
// every start of the program. See untabled.
func newParser(indentedCode bool) parser.Parser {
	var blocks []util.PrioritizedValue
	for _, b := range parser.DefaultBlockParsers() {
		if b.Priority == 500 && !indentedCode {
			continue
		}
		blocks = append(blocks, b)
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		parser.WithHeadingAttribute())
}

// parse parses a document.
func (m *markdown) parse(source string, mdx bool) *parsed {
	p := m.plain
	if mdx {
		p = m.mdx
	}
	src := []byte(source)
	balanceRows(src, source)
	boundMarks(src)
	w := &walker{
		src:    src,
		source: source,
		out:    &parsed{},
		tag:    " ",
	}
	_ = ast.Walk(p.Parse(text.NewReader(src)), w.visit) // visit never fails
	w.flush()
	return w.out
}

// balanceRows blanks the backticks in table cells that are not closed within the cell. In
// a paragraph they would turn the following cells and rows into code. text is src as a string.
func balanceRows(src []byte, text string) {
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if mark := fenceMark(line); mark != "" {
			at = fenceEnd(text, next, mark)
			continue
		}
		if strings.HasPrefix(strings.TrimLeft(line, " "), "|") {
			cell := at
			for i := range len(line) + 1 {
				if i == len(line) || line[i] == '|' && line[max(0, i-1)] != '\\' {
					balance(src, text, cell, at+i)
					cell = at + i + 1
				}
			}
		}
		at = next
	}
}

const (
	// maxNesting is how many quotes and lists may be nested on a line.
	maxNesting = 50
	// maxMarks is how many marks of one kind a block of lines may have.
	maxMarks = 1000
)

// boundMarks blanks marks for which the parser takes quadratic time: quotes and lists
// that open on one line beyond maxNesting, and, within a block of lines, brackets and
// emphasis marks beyond maxMarks. The text and all offsets stay unchanged.
func boundMarks(src []byte) {
	many := countEach(src, "[]") > maxMarks || countEach(src, "*_<") > maxMarks
	var brackets, emphasis int
	for start := 0; start < len(src); {
		end := len(src)
		if n := bytes.IndexByte(src[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := src[start:end]
		boundNesting(line)
		start = end + 1
		if !many {
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 {
			brackets = 0
			emphasis = 0
		}
		for i, c := range line {
			switch c {
			case '[', ']':
				if brackets++; brackets > maxMarks {
					line[i] = ' '
				}
			case '*', '_', '<':
				if emphasis++; emphasis > maxMarks {
					line[i] = ' '
				}
			}
		}
	}
}

// countEach returns how many bytes of src are among marks.
func countEach(src []byte, marks string) (n int) {
	for i := range len(marks) {
		n += bytes.Count(src, []byte{marks[i]})
	}
	return n
}

// boundNesting blanks the marks of quotes and lists at the start of a line beyond
// maxNesting.
func boundNesting(line []byte) {
	for i, depth := 0, 0; i < len(line); i++ {
		start := i
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			continue
		case '0' <= c && c <= '9':
			for i+1 < len(line) && '0' <= line[i] && line[i] <= '9' {
				i++
			}
			if line[i] != '.' && line[i] != ')' {
				return
			}
		case c != '>' && c != '-' && c != '+' && c != '*':
			return
		}
		if depth++; depth > maxNesting {
			for ; start <= i; start++ {
				line[start] = ' '
			}
		}
	}
}

// balance blanks the backticks in one cell that are not closed.
func balance(src []byte, text string, start, end int) {
	for i := start; i < end; i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			run := len(text[i:end]) - len(strings.TrimLeft(text[i:end], "`"))
			closed := i + codeSpan(text[i:end], 0)
			if closed == i+run {
				for j := i; j < closed; j++ {
					src[j] = ' '
				}
			}
			i = closed - 1
		}
	}
}

// walker collects the result of parse.
type walker struct {
	// src is the body, source the same as a string; both share offsets.
	src    []byte
	source string
	out    *parsed
	buf    bytes.Buffer // the text of the current block
	at     int          // where it begins
	links  []span       // those of buf that are in links; the end of an open one is -1
	tag    string       // what an HTML tag is in buf
}

// tagMark is what an HTML tag is in the text of a heading: a space there, and nothing in its id. No
// text has one, as Markdown forbids it.
const tagMark = "\x00"

// visit is the callback of [ast.Walk].
func (w *walker) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch n.Type() {
	case ast.TypeBlock:
		return w.block(n, entering), nil
	case ast.TypeInline:
		w.inline(n, entering)
	}
	return ast.WalkContinue, nil
}

// block collects what a block contributes to the result.
func (w *walker) block(n ast.Node, entering bool) ast.WalkStatus {
	if !entering {
		wanted := w.out.lead.wants(n.Kind())
		outside := ""
		if wanted {
			outside = w.outsideLinks()
		}
		if n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock {
			untabled(&w.buf)
		}
		if wanted {
			text := strings.Join(strings.Fields(w.buf.String()), " ")
			w.out.lead.add(n, text, outside)
		}
		w.flush()
		return ast.WalkContinue
	}
	switch b := n.(type) {
	case *ast.Heading:
		w.flush()
		if b.Parent().Kind() != ast.KindDocument {
			return ast.WalkContinue // in a quote or a list: no section begins there
		}
		w.heading(b)
		return ast.WalkSkipChildren
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.flush()
		w.lines(n, true)
		w.flush()
		return ast.WalkSkipChildren
	case *ast.HTMLBlock:
		w.flush()
		w.lines(n, false)
		w.flush()
		return ast.WalkSkipChildren
	}
	if n.Lines() != nil && n.Lines().Len() > 0 {
		w.flush()
		w.at = n.Lines().At(0).Start
	}
	return ast.WalkContinue
}

// lines collects the lines of code or HTML, after flush.
func (w *walker) lines(n ast.Node, code bool) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	w.at = lines.At(0).Start
	for i := range lines.Len() {
		s := lines.At(i)
		w.buf.Write(s.Value(w.src))
	}
	if code {
		w.out.code = append(w.out.code, span{w.at, lines.At(lines.Len() - 1).Stop})
		return
	}
	text := w.buf.String()
	w.buf.Reset()
	w.anchorsIn(text)
	w.buf.WriteString(stripTags(text))
}

var (
	tags    = lazyregexp.New(`</?[A-Za-z][^<>]*>|<![^<>]*>`)
	htmlIDs = lazyregexp.New(`\s(?:id|name)=["']([^"']+)["']`)
)

// stripTags returns the text of HTML.
func stripTags(text string) string {
	return html.UnescapeString(tags().ReplaceAllString(text, " "))
}

// anchorsIn collects the ids in a piece of HTML, to which links can lead.
func (w *walker) anchorsIn(text string) {
	for _, m := range htmlIDs().FindAllStringSubmatch(text, -1) {
		w.out.anchors = append(w.out.anchors, m[1])
	}
}

// explicitID matches an id at the end of a heading that the parser did not recognize.
var explicitID = lazyregexp.New(`\s*\{:?\s*#([^\s{}]+)[^{}]*\}\s*$`)

// explicitIDOf returns the match of explicitID in the text of a heading, or nil.
func explicitIDOf(text string) []string {
	if !strings.HasSuffix(text, "}") { // the space at the end of a text is removed
		return nil
	}
	return explicitID().FindStringSubmatch(text)
}

// heading collects a heading, with the id that its author wrote.
func (w *walker) heading(h *ast.Heading) {
	found := heading{level: h.Level}
	if id, ok := h.AttributeString("id"); ok {
		if raw, ok := id.([]byte); ok {
			found.id = string(raw)
		}
	}
	if h.Lines().Len() == 0 {
		return // an empty heading has no name
	}
	start := h.Lines().At(0).Start
	stop := h.Lines().At(h.Lines().Len() - 1).Stop
	found.at = strings.LastIndexByte(w.source[:start], '\n') + 1
	_, found.body = lineAt(w.source, max(start, stop-1))
	if line, next := lineAt(w.source, min(found.body, len(w.source))); isUnderline(line) &&
		!strings.HasPrefix(strings.TrimLeft(w.source[found.at:], " >"), "#") {
		found.body = next
	}
	sub := &walker{
		src:    w.src,
		source: w.source,
		out:    &parsed{},
		tag:    tagMark,
	}
	_ = ast.Walk(h, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Type() == ast.TypeInline {
			sub.inline(n, entering)
		}
		return ast.WalkContinue, nil
	})
	w.out.code = append(w.out.code, sub.out.code...)
	w.out.anchors = append(w.out.anchors, sub.out.anchors...)
	found.name = strings.TrimSpace(strings.ReplaceAll(sub.buf.String(), tagMark, ""))
	found.text = strings.Join(strings.Fields(strings.ReplaceAll(sub.buf.String(), tagMark, " ")), " ")
	last := h.Lines().At(h.Lines().Len() - 1)
	found.source = strings.TrimSpace(w.source[last.Start:last.Stop])
	if m := explicitIDOf(found.text); m != nil {
		found.text = strings.TrimSuffix(found.text, m[0])
		found.name = found.text
		found.id = m[1]
	}
	w.out.headings = append(w.out.headings, found)
}

// isUnderline reports whether a line underlines the heading above it.
func isUnderline(line string) bool {
	bare := strings.TrimSpace(line)
	return bare != "" && (strings.Trim(bare, "=") == "" || strings.Trim(bare, "-") == "")
}

// link notes that a link begins or ends at the end of the text so far.
func (w *walker) link(begins bool) {
	last := len(w.links) - 1
	open := last >= 0 && w.links[last].end < 0
	switch {
	case begins && !open:
		w.links = append(w.links, span{w.buf.Len(), -1})
	case !begins && open:
		w.links[last].end = w.buf.Len()
	}
}

// outsideLinks returns the text so far without that of links.
func (w *walker) outsideLinks() string {
	text := w.buf.String()
	if len(w.links) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, l := range w.links {
		b.WriteString(text[at:l.start])
		if at = l.end; at < 0 {
			return b.String()
		}
	}
	return b.String() + text[at:]
}

// inline collects texts and links.
func (w *walker) inline(n ast.Node, entering bool) {
	switch n.Kind() {
	case ast.KindLink, ast.KindImage, ast.KindAutoLink:
		w.link(entering)
	}
	if !entering {
		return
	}
	switch i := n.(type) {
	case *ast.Text:
		// The position of code is recorded so that no links are searched in it.
		if n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan {
			w.out.code = append(w.out.code, span{i.Segment.Start, i.Segment.Stop})
			w.buf.Write(i.Segment.Value(w.src))
		} else {
			w.buf.Write(
				util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(i.Segment.Value(w.src)))))
		}
		if i.SoftLineBreak() || i.HardLineBreak() {
			w.buf.WriteByte('\n')
		}
	case *ast.String:
		w.buf.Write(i.Value)
	case *ast.AutoLink:
		w.buf.Write(i.Label(w.src))
	case *ast.RawHTML:
		for j := range i.Segments.Len() {
			s := i.Segments.At(j)
			tag := string(s.Value(w.src))
			w.anchorsIn(tag)
			if strings.HasPrefix(tag, "<a ") || strings.HasPrefix(tag, "</a>") {
				w.link(tag[1] == 'a')
			}
		}
		w.buf.WriteString(w.tag)
	}
}

// rule matches the line of a table below its header.
var rule = lazyregexp.New(`^[ \t|:-]*-[ \t|:-]*$`)

// untabled removes table markup from a text: the rule, and the bars between cells.
func untabled(b *bytes.Buffer) {
	if bytes.IndexByte(b.Bytes(), '|') < 0 {
		return
	}
	text := b.String()
	lines := strings.Split(text, "\n")
	at := -1
	for i, line := range lines {
		if i > 0 && strings.Contains(line, "|") && rule().MatchString(line) {
			at = i
			break
		}
	}
	if at < 0 {
		return
	}
	b.Reset()
	for i, line := range lines {
		switch {
		case i == at:
			continue
		case i >= at-1:
			line = strings.TrimSpace(strings.ReplaceAll(line, "|", " "))
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
}

// flush ends the text of a block.
func (w *walker) flush() {
	if t := bytes.TrimSpace(w.buf.Bytes()); len(t) > 0 {
		w.out.pieces = append(w.out.pieces, textPiece{w.at, string(t)})
	}
	w.buf.Reset()
	w.links = w.links[:0]
}
