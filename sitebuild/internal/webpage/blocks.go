package webpage

import (
	"cmp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// writer writes the content of a page as Markdown.
type writer struct {
	// page receives the headings and anchors.
	page *Page
	// mainTitle is the first h1, and firstTitle the first heading of any level.
	mainTitle, firstTitle string
	// parts are the blocks that are finished, inner those of lists and quotes that are open.
	parts []string
	// line is the text between two blocks.
	line strings.Builder
	// nested counts the lists, quotes and tables around the current block; in them,
	// headings are bold text.
	nested, depth int
	ids           []string // since the last block
	// inHeading is true in headings, whose links are text.
	inHeading bool
}

// maxNested is how deeply lists and quotes may be nested; those below are flattened.
const maxNested = 20

// text returns the Markdown of everything written.
func (w *writer) text() string {
	w.flush()
	if len(w.parts) == 0 {
		return ""
	}
	return strings.Join(w.parts, "\n\n") + "\n"
}

// add finishes a block.
func (w *writer) add(block string) {
	w.flush()
	if block = strings.Trim(block, "\n"); strings.TrimSpace(block) != "" {
		w.parts = append(w.parts, block)
		w.ids = nil
	}
}

// flush finishes the text between two blocks.
func (w *writer) flush() {
	text := tidy(w.line.String())
	w.line.Reset()
	if strings.Trim(text, "/|\\•·:, ") != "" { // not only what separates links or tabs
		w.parts = append(w.parts, protectStart(text))
		w.ids = nil
	}
}

// inside returns the blocks that write adds, as one text.
func (w *writer) inside(write func()) string {
	w.flush()
	outer := w.parts
	w.parts = nil
	w.nested++
	write()
	w.flush()
	w.nested--
	text := strings.Join(w.parts, "\n\n")
	w.parts = outer
	return text
}

// blocks writes the children of a node.
func (w *writer) blocks(n *html.Node) {
	if w.depth++; w.depth < maxDepth {
		for c := range n.ChildNodes() {
			w.block(c)
		}
	}
	w.depth--
}

// block writes a node.
func (w *writer) block(n *html.Node) {
	if n.Type == html.TextNode {
		w.line.WriteString(escape(n.Data))
		return
	}
	if n.Type != html.ElementNode || isJunk(n) {
		return
	}
	w.note(n)
	if title, ok := noteOf(n); ok {
		w.admonition(n, title)
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n)
	case atom.Pre:
		w.code(n)
	case atom.Table:
		w.table(n)
	case atom.Ul, atom.Ol, atom.Menu:
		if n.DataAtom == atom.Ul && w.nested == 0 && hasSections(n) {
			w.blocks(n)
			return
		}
		w.list(n)
	case atom.Dl:
		w.definitions(n)
	case atom.Blockquote:
		w.add(prefixed(w.inside(func() { w.blocks(n) }), "> ", "> "))
	case atom.Hr:
		w.flush()
	case atom.Summary:
		w.flush()
		if hasHeading(n) {
			w.blocks(n)
			return
		}
		w.add(bold(w.inlineOf(n)))
	case atom.Br:
		w.line.WriteString("\\\n")
	default:
		if isInline(n) && !hasBlocks(n, 0) {
			w.inline(&w.line, n)
			return
		}
		if isInline(n) {
			w.blocks(n)
			return
		}
		w.flush()
		w.blocks(n)
		w.flush()
	}
}

// note keeps the ids to which links can lead.
func (w *writer) note(n *html.Node) {
	for _, name := range []string{"id", "name"} {
		id := attr(n, name)
		if usableID(id) && (name == "id" || n.DataAtom == atom.A) {
			w.page.Anchors = append(w.page.Anchors, id)
			if !isHeading(n) {
				w.ids = append(w.ids, id)
			}
		}
	}
}

// usableID reports whether links can lead to an id.
func usableID(id string) bool {
	return id != "" && len(id) <= 300 && !strings.ContainsAny(id, " \t\n#")
}

// heading writes a heading, with the id of itself, of what it contains, or of the section
// that it begins.
func (w *writer) heading(n *html.Node) {
	w.flush()
	w.inHeading = true
	text := strings.ReplaceAll(w.inlineOf(n), "\\\n", " ")
	w.inHeading = false
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return
	}
	w.firstTitle = cmp.Or(w.firstTitle, plain(n))
	if n.DataAtom == atom.H1 {
		w.mainTitle = cmp.Or(w.mainTitle, plain(n))
	}
	if w.nested > 0 {
		w.add(bold(text))
		return
	}
	level, _ := strconv.Atoi(n.Data[1:])
	w.page.HeadingIDs = append(w.page.HeadingIDs, w.headingID(n))
	w.add(strings.Repeat("#", level) + " " + text)
}

// headingID returns the id by which links lead to a heading, or "".
func (w *writer) headingID(n *html.Node) string {
	if id := attr(n, "id"); usableID(id) {
		return id
	}
	up := n.Parent
	if up != nil && firstElement(up) == n && usableID(attr(up, "id")) {
		return attr(up, "id")
	}
	for c := range n.Descendants() {
		for _, name := range []string{"id", "name"} {
			if id := attr(c, name); usableID(id) && !within(c, atom.Button) && c.DataAtom != atom.Button {
				return id
			}
		}
	}
	if len(w.ids) > 0 { // the section around a title page, or an empty anchor before the heading
		return w.ids[len(w.ids)-1]
	}
	return ""
}

// firstElement returns the first element in n, or nil.
func firstElement(n *html.Node) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode {
			return c
		}
	}
	return nil
}

// code writes preformatted text as a fenced block.
func (w *writer) code(n *html.Node) {
	text := strings.Trim(codeText(n), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.add(fence + languageOf(n) + "\n" + text + "\n" + fence)
}

// codeText returns the text of code as it stands.
func codeText(n *html.Node) string {
	var b strings.Builder
	addCode(&b, n, 0)
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

// addCode writes the text of code.
func addCode(b *strings.Builder, n *html.Node, depth int) {
	switch {
	case depth > maxDepth || n.Type == html.ElementNode && isJunk(n):
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
	case n.DataAtom == atom.Br:
		b.WriteByte('\n')
	default:
		for c := range n.ChildNodes() {
			addCode(b, c, depth+1)
		}
		// Some highlighters put each line into a block, without line breaks between them.
		if n.DataAtom == atom.Div && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
	}
}

// languagePrefixes are what stands before the language in a class.
var languagePrefixes = []string{"language-", "lang-", "highlight-", "brush:", "sourceCode-"}

// languageOf returns the language of code: that in a class of the block, of what it contains
// or of the two elements around it, or "".
func languageOf(pre *html.Node) string {
	near := []*html.Node{pre, firstElement(pre), pre.Parent}
	if pre.Parent != nil {
		near = append(near, pre.Parent.Parent)
	}
	for _, n := range near {
		if n == nil {
			continue
		}
		if lang := cleanLanguage(attr(n, "data-lang")); lang != "" {
			return lang
		}
		for class := range strings.FieldsSeq(attr(n, "class")) {
			for _, prefix := range languagePrefixes {
				if rest, ok := strings.CutPrefix(class, prefix); ok {
					return cleanLanguage(rest)
				}
			}
		}
		if n == pre && (hasClass(n, "rust")) {
			return "rust"
		}
	}
	return ""
}

// cleanLanguage returns the name of a language, or "" if it is none.
func cleanLanguage(name string) string {
	switch name {
	case "default", "text", "none", "plaintext", "notranslate", "source", "plain":
		return ""
	case "python3", "pycon", "pycon3", "ipython3":
		return "python"
	}
	if len(name) > 20 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#-_.") != "" {
		return ""
	}
	return name
}

// hasHeading reports whether a node contains a heading.
func hasHeading(n *html.Node) bool {
	for c := range n.Descendants() {
		if isHeading(c) {
			return true
		}
	}
	return false
}

// hasSections reports whether a list only arranges sections: an item begins with a heading,
// or with a section that does.
func hasSections(list *html.Node) bool {
	for item := range list.ChildNodes() {
		first := firstElement(item)
		for range 3 {
			if first == nil || isHeading(first) {
				break
			}
			first = firstElement(first)
		}
		if first != nil && isHeading(first) {
			return true
		}
	}
	return false
}

// list writes a list.
func (w *writer) list(n *html.Node) {
	number := 1
	start, err := strconv.Atoi(attr(n, "start"))
	if err == nil && start >= 0 && start < 1_000_000 {
		number = start
	}
	var items []string
	w.flush()
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || isJunk(c) {
			continue
		}
		text := w.inside(func() {
			w.note(c)
			w.blocks(c)
		})
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if strings.TrimSpace(text) != "" {
			items = append(items, w.item(mark, text))
		}
	}
	w.add(strings.Join(items, between(items)))
}

// item returns the text of a list item, flat if it is nested too deeply.
func (w *writer) item(mark, text string) string {
	if w.nested > maxNested {
		return text
	}
	return prefixed(text, mark, strings.Repeat(" ", len(mark)))
}

// between returns what stands between the items of a list: an empty line if one of them has
// several blocks.
func between(items []string) string {
	for _, item := range items {
		if strings.Contains(item, "\n\n") {
			return "\n\n"
		}
	}
	return "\n"
}

// prefixed returns text with first before its first line, and rest before the others.
func prefixed(text, first, rest string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		prefix := rest
		if i == 0 {
			prefix = first
		} else {
			b.WriteByte('\n')
		}
		if line == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		b.WriteString(prefix)
		b.WriteString(line)
	}
	return b.String()
}

// definitions writes a definition list as a list, with the terms in bold.
func (w *writer) definitions(n *html.Node) {
	w.flush()
	var items []string
	var term []string
	finish := func(text string) {
		head := strings.Join(term, "\\\n")
		term = nil
		if head != "" && text != "" {
			head += "\n\n"
		}
		if head+text != "" {
			items = append(items, w.item("- ", head+text))
		}
	}
	for _, c := range definitionParts(n) {
		w.note(c)
		if c.DataAtom == atom.Dt {
			text := tidy(w.inlineOf(c))
			if text != "" {
				term = append(term, bold(text))
			}
			continue
		}
		finish(w.inside(func() { w.blocks(c) }))
	}
	finish("")
	w.add(strings.Join(items, "\n\n"))
}

// definitionParts returns the terms and definitions of a list, also those in a div.
func definitionParts(n *html.Node) []*html.Node {
	var parts []*html.Node
	for c := range n.ChildNodes() {
		switch {
		case c.Type != html.ElementNode || isJunk(c):
		case c.DataAtom == atom.Div:
			for inner := range c.ChildNodes() {
				if inner.DataAtom == atom.Dt || inner.DataAtom == atom.Dd {
					parts = append(parts, inner)
				}
			}
		default:
			parts = append(parts, c)
		}
	}
	return parts
}

// noteClasses are the classes of notes, warnings and tips, with their titles.
var noteClasses = map[string]string{
	"admonition": "", "theme-admonition": "", "custom-block": "", "admonitionblock": "", "alert": "",
	"starlight-aside": "", "markdown-alert": "", "admonition-block": "",
	"note": "Note", "warning": "Warning", "caution": "Caution", "important": "Important", "tip": "Tip",
	"danger": "Danger", "info": "Info", "hint": "Hint", "attention": "Attention", "seealso": "See also",
	"deprecated": "Deprecated", "versionadded": "", "versionchanged": "",
}

// noteOf reports whether an element is a note, and its title if its class is one.
func noteOf(n *html.Node) (title string, ok bool) {
	switch n.DataAtom {
	case atom.Div, atom.Aside, atom.Blockquote, atom.Section:
	default:
		return "", false
	}
	for class := range strings.FieldsSeq(attr(n, "class")) {
		text, known := noteClasses[strings.TrimPrefix(class, "markdown-alert-")]
		ok = ok || known
		if title == "" {
			title = text
		}
	}
	return title, ok && !hasClass(n, "versionadded", "versionchanged", "deprecated")
}

// titleClasses are the classes of a note's own title.
var titleClasses = []string{"admonition-title", "custom-block-title", "title", "starlight-aside__title",
	"markdown-alert-title", "admonition-heading", "alert-heading"}

// admonition writes a note as a quote with its title in bold.
func (w *writer) admonition(n *html.Node, title string) {
	own := noteTitle(n)
	if own != nil {
		if text := plain(own); text != "" {
			title = text
		}
		own.Parent.RemoveChild(own)
	}
	text := w.inside(func() { w.blocks(n) })
	if text == "" {
		return
	}
	if title != "" {
		title = strings.ToUpper(title[:1]) + title[1:]
		text = bold(escape(title)) + "\n\n" + text
	}
	w.add(prefixed(text, "> ", "> "))
}

// noteTitle returns the element with a note's own title, or nil.
func noteTitle(n *html.Node) *html.Node {
	for c := range n.Descendants() {
		if c.Type != html.ElementNode {
			continue
		}
		if hasClass(c, titleClasses...) || hasClass(c, "icon") && c.DataAtom == atom.Td ||
			(c.DataAtom == atom.H3 || c.DataAtom == atom.H5) && c.Parent == n {
			return c
		}
	}
	return nil
}
