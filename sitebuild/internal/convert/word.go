package convert

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// word reads a document of Word: Office Open XML, ECMA-376 part 1, transitional and strict.
type word struct {
	// files are the parts of the package by their names, without a leading slash.
	files  map[string]*zip.File
	limit  int64 // of each file, unpacked
	styles map[string]style
	lists  map[string]list // by their number
	// related has the targets of the relationships of the document, by kind and id.
	related map[string]map[string]string
	notes   map[string]*node // footnotes and endnotes, by kind and id

	parts   []part           // what is read so far
	size    int64            // of their text
	used    []string         // notes in the order of their marks
	numbers map[string]int   // of these notes
	count   map[string][]int // the last number of each level, by the counter of the list
	drop    string           // the large first letter of the next paragraph
}

// part is a block of the document.
type part struct {
	kind partKind
	html string
	// level is that of a heading, from 1, or of an item of a list, from 0; list is the number
	// of its list, ordered whether it has numbers, and number its own.
	level, number int
	list          string // its id
	ordered       bool
	ids           []string // bookmarks
}

// partKind is the kind of a block.
type partKind int

// The kinds of blocks.
const (
	plainPart partKind = iota
	titlePart
	headingPart
	itemPart
	codePart
	quotePart
)

// style is what a style of paragraphs or runs says about its text.
type style struct {
	// name is the name that Word shows, in lower case, and parent the id of the style it is based on.
	name, parent string
	outline      int // level of a heading, from 1, or 0
	list         string
	listLevel    int
	format       format
}

// list is a list. Those that count on from each other have the same counter.
type list struct {
	// levels are those of the numbering definition, the outermost first.
	levels  []listLevel
	counter string
}

// listLevel is one level of a list.
type listLevel struct {
	ordered bool
	start   int    // the number of the first item
	style   string // of the paragraphs which are on this level
}

// format is how text looks.
type format struct {
	bold, italic, strike, code, up, down bool
	link                                 string
}

// readWord reads a document of Word. Headings, lists, tables, links, notes and code keep
// their structure; deleted text, comments and tables of contents are left out.
func readWord(name string, data []byte, limit int64) (*Document, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		if bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")) {
			return nil, errors.New("it is encrypted, or of a Word before 2007; save it as .docx without a password")
		}
		return nil, fmt.Errorf("it is not a Word document: %w", err)
	}
	w := &word{
		files:   make(map[string]*zip.File),
		limit:   4 * limit, // markup takes most of it
		notes:   make(map[string]*node),
		numbers: make(map[string]int),
		count:   make(map[string][]int),
	}
	for _, f := range archive.File {
		w.files[strings.TrimPrefix(path.Clean("/"+f.Name), "/")] = f
	}
	packaged, err := w.relationships("_rels/.rels")
	if err != nil {
		return nil, err
	}
	main := cmp.Or(target(packaged, "officeDocument", ""), "word/document.xml")
	if w.files[main] == nil {
		return nil, errors.New("it is not a Word document: it has no " + main)
	}
	if err := w.readParts(main); err != nil {
		return nil, err
	}
	err = w.each(main, "body", func(n *node) error {
		w.block(n)
		if w.size > limit {
			return fmt.Errorf("its text has more than %d bytes", limit)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	properties, err := w.properties()
	if err != nil {
		return nil, err
	}
	body, title := w.page(cmp.Or(properties["title"], nameTitle(name)))
	switch {
	case body == "":
		return &Document{}, nil
	case w.size > limit:
		return nil, fmt.Errorf("its text has more than %d bytes", limit)
	}
	return &Document{HTML: page(title, properties["description"], properties["language"], body)}, nil
}

// readParts reads the files that the main one refers to.
func (w *word) readParts(main string) error {
	dir := path.Dir(main)
	var err error
	relationships := path.Join(dir, "_rels", path.Base(main)+".rels")
	if w.related, err = w.relationships(relationships); err != nil {
		return err
	}
	if err := w.readStyles(target(w.related, "styles", dir)); err != nil {
		return err
	}
	if err := w.readLists(target(w.related, "numbering", dir)); err != nil {
		return err
	}
	for _, kind := range []string{"footnote", "endnote"} {
		err := w.each(target(w.related, kind+"s", dir), kind+"s", func(n *node) error {
			if t := n.attr("type"); t == "" || t == "normal" {
				w.notes[kind+n.attr("id")] = n
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// relationships returns the targets in a file of relationships, by kind and id.
func (w *word) relationships(file string) (map[string]map[string]string, error) {
	targets := make(map[string]map[string]string)
	err := w.each(file, "Relationships", func(n *node) error {
		kind := path.Base(n.attr("Type"))
		if targets[kind] == nil {
			targets[kind] = make(map[string]string)
		}
		targets[kind][n.attr("Id")] = n.attr("Target")
		return nil
	})
	return targets, err
}

// target returns the name of the only file of a kind, or "". Names are relative to dir unless
// they begin with a slash.
func target(related map[string]map[string]string, kind, dir string) string {
	for _, name := range related[kind] {
		if !strings.HasPrefix(name, "/") {
			name = path.Join(dir, name)
		}
		return strings.TrimPrefix(path.Clean("/"+name), "/")
	}
	return ""
}

// properties returns the title, description and language of the document.
func (w *word) properties() (map[string]string, error) {
	values := make(map[string]string)
	err := w.each("docProps/core.xml", "coreProperties", func(n *node) error {
		values[local(n.name)] = strings.Join(strings.Fields(n.allText()), " ")
		return nil
	})
	return values, err
}

// readStyles reads the styles, which say what a heading is.
func (w *word) readStyles(file string) error {
	w.styles = make(map[string]style)
	return w.each(file, "styles", func(n *node) error {
		if n.name != "w:style" {
			return nil
		}
		s := style{
			name:   strings.ToLower(n.child("w:name").attr("val")),
			parent: n.child("w:basedOn").attr("val"),
			format: formatOf(n.child("w:rPr")),
		}
		if level, found := strings.CutPrefix(s.name, "heading "); found {
			s.outline, _ = strconv.Atoi(level)
		} else if level, err := strconv.Atoi(n.child("w:pPr").child("w:outlineLvl").attr("val")); err == nil {
			s.outline = level + 1
		}
		if s.outline > 9 || s.outline < 0 {
			s.outline = 0
		}
		numbers := n.child("w:pPr").child("w:numPr")
		s.list = numbers.child("w:numId").attr("val")
		s.listLevel, _ = strconv.Atoi(numbers.child("w:ilvl").attr("val"))
		if isCodeStyle(s.name) {
			s.format.code = true
		}
		w.styles[n.attr("styleId")] = s
		return nil
	})
}

// isCodeStyle reports whether a style of that name is for code.
func isCodeStyle(name string) bool {
	switch name {
	case "code", "source code", "code block", "codeblock", "html preformatted", "preformatted text", "preformatted",
		"macro text", "listing", "verbatim char", "html code", "inline code", "code char", "html typewriter",
		"html sample", "html keyboard":
		return true
	}
	return false
}

// find returns the first answer of a style or the styles it is based on.
func (w *word) find(id string, answer func(s style) bool) (style, bool) {
	for range 20 { // styles can be based on each other in a circle
		s, ok := w.styles[id]
		if !ok {
			break
		}
		if answer(s) {
			return s, true
		}
		id = s.parent
	}
	return style{}, false
}

// readLists reads which lists have numbers.
func (w *word) readLists(file string) error {
	w.lists = make(map[string]list)
	abstract := make(map[string][]listLevel)
	return w.each(file, "numbering", func(n *node) error {
		switch n.name {
		case "w:abstractNum":
			var levels []listLevel
			for _, level := range n.kids {
				if level.name == "w:lvl" && len(levels) < maxListLevels {
					kind := level.child("w:numFmt").attr("val")
					start, err := strconv.Atoi(level.child("w:start").attr("val"))
					if err != nil || start < 0 || start > 1_000_000 {
						start = 1
					}
					levels = append(levels, listLevel{
						ordered: kind != "bullet" && kind != "none",
						start:   start,
						style:   level.child("w:pStyle").attr("val"),
					})
				}
			}
			abstract[n.attr("abstractNumId")] = levels
		case "w:num":
			id := n.child("w:abstractNumId").attr("val")
			l := list{slices.Clone(abstract[id]), "abstract " + id}
			for _, kid := range n.kids {
				at, err := strconv.Atoi(kid.attr("ilvl"))
				start, err2 := strconv.Atoi(kid.child("w:startOverride").attr("val"))
				if kid.name == "w:lvlOverride" &&
					err == nil &&
					err2 == nil &&
					at >= 0 &&
					at < len(l.levels) {
					l.levels[at].start = min(max(start, 0), 1_000_000)
					l.counter = "own " + n.attr("numId")
				}
			}
			w.lists[n.attr("numId")] = l
		}
		return nil
	})
}

// maxListLevels is how many levels a list can have, by ECMA-376.
const maxListLevels = 9

// block reads a child of the body, of a cell or of a note.
func (w *word) block(n *node) {
	switch n.name {
	case "w:p":
		w.paragraph(n)
	case "w:tbl":
		w.add(part{html: w.table(n)})
	case "w:sdt":
		if n.child("w:sdtPr").child("w:docPartObj").child("w:docPartGallery").attr("val") != "Table of Contents" {
			w.blocks(n.child("w:sdtContent"))
		}
	case "w:customXml", "w:smartTag", "w:ins", "w:moveTo":
		w.blocks(n)
	}
}

// blocks reads the children of an element.
func (w *word) blocks(n *node) {
	for _, kid := range n.list() {
		w.block(kid)
	}
}

// add adds a block.
func (w *word) add(p part) {
	if strings.TrimSpace(p.html) == "" {
		return
	}
	w.size += int64(len(p.html))
	w.parts = append(w.parts, p)
}

// paragraph reads a paragraph, and after it the text boxes which are anchored in it.
func (w *word) paragraph(n *node) {
	properties := n.child("w:pPr")
	id := properties.child("w:pStyle").attr("val")
	named, _ := w.find(id, func(s style) bool { return s.name != "" })
	if strings.HasPrefix(named.name, "toc ") || named.name == "toc heading" {
		return
	}
	line := &runs{word: w}
	if w.drop != "" {
		line.add(w.drop, format{})
		w.drop = ""
	}
	line.read(n, format{})
	if frame := properties.child("w:framePr").attr("dropCap"); frame == "drop" || frame == "margin" {
		w.drop = line.text()
		return
	}
	p := part{ids: line.ids}
	level := 0
	s, ok := w.find(id, func(s style) bool {
		return s.outline > 0
	})
	if ok {
		level = s.outline
	}
	if own, err := strconv.Atoi(properties.child("w:outlineLvl").attr("val")); err == nil {
		level = own + 1
	}
	quote, _ := w.find(id, func(s style) bool {
		return s.name == "quote" || s.name == "intense quote" || s.name == "block text"
	})
	code, _ := w.find(id, func(s style) bool { return s.format.code })
	switch list, depth, isItem := w.listOf(properties, id); {
	case named.name == "title":
		p.kind = titlePart
		p.html = line.html(true)
	case level >= 1 && level <= 9:
		p.kind = headingPart
		p.level = level
		p.html = line.html(true)
	case code.name != "" || line.allCode():
		p.kind = codePart
		p.html = html.EscapeString(line.text())
	case isItem:
		p.kind = itemPart
		p.list = list
		p.level = depth
		p.ordered, p.number = w.number(list, depth)
		p.html = line.html(false)
	case quote.name != "":
		p.kind = quotePart
		p.html = line.html(false)
	default:
		p.html = line.html(false)
	}
	w.add(p)
	for _, box := range line.boxes {
		w.blocks(box)
	}
}

// listOf returns the list of a paragraph and its level in it.
func (w *word) listOf(properties *node, id string) (list string, level int, ok bool) {
	numbers := properties.child("w:numPr")
	list = numbers.child("w:numId").attr("val")
	own, err := strconv.Atoi(numbers.child("w:ilvl").attr("val"))
	hasLevel := err == nil
	s, found := w.find(id, func(s style) bool { return s.list != "" })
	if list == "" && found {
		list = s.list
	}
	if list == "" || list == "0" || w.lists[list].levels == nil { // 0 takes a paragraph out of its list
		return "", 0, false
	}
	level = own
	if !hasLevel {
		level = s.listLevel
		for i, l := range w.lists[list].levels {
			if l.style != "" && l.style == id {
				level = i
			}
		}
	}
	return list, min(max(level, 0), maxListLevels-1), true
}

// number returns whether a level of a list has numbers, and the number of its next item.
func (w *word) number(id string, level int) (ordered bool, number int) {
	l := w.lists[id]
	start := 1
	if level < len(l.levels) {
		ordered = l.levels[level].ordered
		start = l.levels[level].start
	}
	counts := w.count[l.counter]
	if counts == nil {
		counts = make([]int, maxListLevels)
		w.count[l.counter] = counts
	}
	counts[level]++
	clear(counts[level+1:])
	return ordered, start + counts[level] - 1
}

// tableCell is a cell of a table, which may span columns and rows.
type tableCell struct {
	html          string
	isHead        bool
	columns, rows int
}

// maxTableSpan is how many columns a cell may span.
const maxTableSpan = 50

// table returns a table as HTML. Cells are read as documents of their own.
func (w *word) table(n *node) string {
	var rows [][]*tableCell
	var above []*tableCell // the cell that can continue downwards, by column, or nil
	for _, row := range n.list() {
		if row.name != "w:tr" || row.child("w:trPr").child("w:del") != nil {
			continue
		}
		var cells []*tableCell
		column := 0
		for _, c := range row.cells() {
			properties := c.child("w:tcPr")
			width, _ := strconv.Atoi(properties.child("w:gridSpan").attr("val"))
			width = min(max(width, 1), maxTableSpan)
			for len(above) < column+width {
				above = append(above, nil)
			}
			merge := properties.child("w:vMerge")
			if merge != nil && merge.attr("val") != "restart" && above[column] != nil {
				above[column].rows++
				column += width
				continue
			}
			this := &tableCell{
				html:    w.inner(c),
				isHead:  len(rows) == 0 || row.child("w:trPr").child("w:tblHeader") != nil,
				columns: width,
				rows:    1,
			}
			cells = append(cells, this)
			for i := range width {
				above[column+i] = nil
				if merge != nil {
					above[column+i] = this
				}
			}
			column += width
		}
		rows = append(rows, cells)
	}
	return tableHTML(rows)
}

// tableHTML returns the rows of a table as HTML.
func tableHTML(rows [][]*tableCell) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<table>\n")
	for _, cells := range rows {
		b.WriteString("<tr>")
		for _, c := range cells {
			tag := "td"
			if c.isHead {
				tag = "th"
			}
			fmt.Fprintf(&b, `<%s colspan="%d" rowspan="%d">%s</%s>`, tag, c.columns, c.rows, c.html, tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
	return b.String()
}

// inner returns the blocks of an element as HTML, without adding them.
func (w *word) inner(n *node) string {
	before, size := w.parts, w.size
	w.parts = nil
	w.blocks(n)
	body := w.body(w.parts, 0)
	w.parts, w.size = before, size
	return body
}

// page returns the body of the page and its title: that of its title or only main heading,
// otherwise the one given, under which the other headings stand.
func (w *word) page(title string) (body, used string) {
	if len(w.parts) == 0 {
		return "", ""
	}
	top, first := 0, -1
	for i, p := range w.parts {
		if p.kind == headingPart && p.level == 1 {
			top++
		}
		if p.kind == titlePart && first < 0 {
			first = i
		}
	}
	shift := 1
	head := ""
	switch {
	case first >= 0:
	case top == 1 && w.parts[0].kind == headingPart:
		shift = 0
	default:
		head = "<h1>" + html.EscapeString(title) + "</h1>\n"
	}
	body = head + w.body(w.parts, shift)
	if len(w.used) == 0 {
		return body, title
	}
	var b strings.Builder
	b.WriteString(body + "<p><b>Notes</b></p>\n<ol>\n")
	for i := 0; i < len(w.used); i++ { // notes may have notes
		note := w.inner(w.notes[w.used[i]])
		w.size += int64(len(note))
		b.WriteString("<li>" + note + "</li>\n")
	}
	b.WriteString("</ol>\n")
	return b.String(), title
}

// body returns blocks as HTML. The levels of headings are raised by shift.
func (w *word) body(parts []part, shift int) string {
	var b strings.Builder
	var lists []openList
	for i, p := range parts {
		if p.kind != itemPart {
			lists = closeLists(&b, lists, 0)
		}
		anchors := ""
		for _, id := range p.ids {
			anchors += `<a id="` + html.EscapeString(id) + `"></a>`
		}
		switch p.kind {
		case titlePart:
			b.WriteString("<h1>" + anchors + p.html + "</h1>\n")
		case headingPart:
			tag := fmt.Sprintf("h%d", min(p.level+shift, 6))
			b.WriteString("<" + tag + ">" + anchors + p.html + "</" + tag + ">\n")
		case codePart:
			if i == 0 || parts[i-1].kind != codePart {
				b.WriteString("<pre>")
			}
			b.WriteString(p.html)
			if i+1 == len(parts) || parts[i+1].kind != codePart {
				b.WriteString("</pre>")
			}
			b.WriteByte('\n')
		case quotePart:
			b.WriteString("<blockquote><p>" + anchors + p.html + "</p></blockquote>\n")
		case itemPart:
			lists = openItem(&b, lists, p)
			b.WriteString(anchors + p.html)
		default:
			if strings.HasPrefix(p.html, "<table>") {
				b.WriteString(p.html)
			} else {
				b.WriteString("<p>" + anchors + p.html + "</p>\n")
			}
		}
	}
	closeLists(&b, lists, 0)
	return b.String()
}

// openList is a list whose end tag is to be written.
type openList struct {
	// level is the depth of the list, id its number in the file, and end the end tag.
	level int
	id    string
	end   string
}

// openItem begins an item of a list, after which only the item's text is to be written.
func openItem(b *strings.Builder, lists []openList, p part) []openList {
	lists = closeLists(b, lists, p.level+1)
	n := len(lists)
	if n > 0 && lists[n-1].level == p.level {
		if lists[n-1].id == p.list {
			b.WriteString("</li>\n<li>")
			return lists
		}
		lists = closeLists(b, lists, p.level)
	}
	start, end := "<ul>", "</ul>"
	if p.ordered {
		start = fmt.Sprintf(`<ol start="%d">`, p.number)
		end = "</ol>"
	}
	b.WriteString("\n" + start + "<li>")
	return append(lists, openList{p.level, p.list, end})
}

// closeLists closes the lists on a level and those below it.
func closeLists(b *strings.Builder, lists []openList, level int) []openList {
	for n := len(lists); n > 0 && lists[n-1].level >= level; n-- {
		b.WriteString("</li>" + lists[n-1].end + "\n")
		lists = lists[:n-1]
	}
	return lists
}

// each calls visit with each child of the first element called parent of a file, without its
// prefix, one after the other, so that a long document need not be in memory as a tree. A file that is missing has
// none.
func (w *word) each(file, parent string, visit func(n *node) error) error {
	f := w.files[file]
	if f == nil {
		return nil
	}
	stream, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer stream.Close()
	data, err := fsutil.ReadLimited(stream, w.limit)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	reader := &nodeReader{decoder: d}
	inside := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if !inside {
				inside = t.Name.Local == parent
				continue
			}
			n, err := reader.node(t, 0)
			if err == nil {
				err = visit(n)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		case xml.EndElement:
			if inside {
				return nil
			}
		}
	}
}
