package webpage

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isInline reports whether an element is part of a line of text.
func isInline(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn,
		atom.Em, atom.Font, atom.I, atom.Img, atom.Input, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Math,
		atom.Picture, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup,
		atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr, atom.Source, atom.Ruby, atom.Rt, atom.Rp:
		return true
	}
	return n.DataAtom == 0 // an element of the site's own, or of MathML
}

// hasBlocks reports whether an element contains blocks, as a link around a card does.
func hasBlocks(n *html.Node, depth int) bool {
	if depth > maxDepth || n.DataAtom == atom.Math {
		return false
	}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode &&
			!isJunk(c) &&
			c.DataAtom != atom.Br &&
			(!isInline(c) || hasBlocks(c, depth+1)) {
			return true
		}
	}
	return false
}

// inlineOf returns what a node contains as one line of Markdown.
func (w *writer) inlineOf(n *html.Node) string {
	var b strings.Builder
	w.inlines(&b, n)
	return b.String()
}

// inlines writes the children of a node into a line.
func (w *writer) inlines(b *strings.Builder, n *html.Node) {
	if w.depth++; w.depth < maxDepth {
		for c := range n.ChildNodes() {
			w.inline(b, c)
		}
	}
	w.depth--
}

// inline writes a node into a line.
func (w *writer) inline(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(escape(n.Data))
		return
	}
	if n.Type != html.ElementNode || isJunk(n) {
		return
	}
	w.note(n)
	switch n.DataAtom {
	case atom.Br:
		b.WriteString("\\\n")
	case atom.Code, atom.Tt, atom.Kbd, atom.Samp:
		codeSpan(b, codeText(n))
	case atom.Strong, atom.B:
		marked(b, "**", w.inlineOf(n))
	case atom.Em, atom.I, atom.Cite, atom.Var, atom.Dfn:
		marked(b, "*", w.inlineOf(n))
	case atom.Del, atom.S, atom.Strike:
		marked(b, "~~", w.inlineOf(n))
	case atom.Sup:
		text := w.inlineOf(n)
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(strings.TrimSpace(text), "[") {
			b.WriteString("^" + text)
		}
	case atom.Q:
		b.WriteString("\"" + w.inlineOf(n) + "\"")
	case atom.A:
		w.link(b, n)
	case atom.Img:
		image(b, n)
	case atom.Input:
		mark := "[ ] "
		if hasAttr(n, "checked") {
			mark = "[x] "
		}
		b.WriteString(mark)
	case atom.Math:
		codeSpan(b, formula(n))
	case atom.Pre:
		codeSpan(b, strings.Join(strings.Fields(codeText(n)), " "))
	default:
		w.inlines(b, n)
		if !isInline(n) { // a block where there can be none
			b.WriteByte(' ')
		}
	}
}

// link writes a link. One without a target or to the heading that it stands in is text.
func (w *writer) link(b *strings.Builder, n *html.Node) {
	text := w.inlineOf(n)
	bare := strings.TrimSpace(text)
	target := strings.TrimSpace(attr(n, "href"))
	switch {
	case bare == "¶" || bare == "§" || bare == "#" || bare == "\\#" || bare == "🔗":
		return
	case w.inHeading:
		if endsInWord(b.String()) && !strings.HasPrefix(text, " ") {
			b.WriteByte(' ') // names in a row, which only the style sheet separates
		}
		b.WriteString(text)
		return
	case target == "" || bare == "" || strings.ContainsAny(bare, "\n") || !isLink(target):
		b.WriteString(text)
		return
	}
	b.WriteString(text[:strings.Index(text, bare)] + "[" + strings.ReplaceAll(bare, "](", "] (") + "](" +
		destination(target) + ")" + text[strings.Index(text, bare)+len(bare):])
}

// isLink reports whether a target is an address, not a script.
func isLink(target string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "", "http", "https", "mailto", "ftp", "tel":
		return true
	}
	return false
}

// destination returns the target of a link as Markdown has it.
func destination(target string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "", "\t", "",
		"\\", "%5C", "`", "%60").Replace(target)
}

// image writes a picture, unless it is a decoration.
func image(b *strings.Builder, n *html.Node) {
	target := strings.TrimSpace(attr(n, "src"))
	alt := strings.Join(strings.Fields(attr(n, "alt")), " ")
	if strings.HasPrefix(target, "data:") || target == "" || !isLink(target) {
		b.WriteString(escape(alt))
		return
	}
	b.WriteString("![" + escape(alt) + "](" + destination(target) + ")")
}

// formula returns the TeX source of a formula, otherwise its text.
func formula(n *html.Node) string {
	for c := range n.Descendants() {
		if c.Data == "annotation" && strings.Contains(attr(c, "encoding"), "tex") {
			return strings.Join(strings.Fields(plain(c)), " ")
		}
	}
	return plain(n)
}

// codeSpan writes code within a line.
func codeSpan(b *strings.Builder, text string) {
	bare := strings.Join(strings.Fields(text), " ")
	if bare == "" {
		return
	}
	mark := "`"
	for strings.Contains(bare, mark) {
		mark += "`"
	}
	if strings.HasPrefix(bare, "`") || strings.HasSuffix(bare, "`") {
		bare = " " + bare + " "
	}
	before, after := spacesAround(text)
	// Code that directly follows other code would join it.
	if before == "" && strings.HasSuffix(b.String(), "`") {
		before = "\u200b"
	}
	b.WriteString(before + mark + bare + mark + after)
}

// marked writes text between marks, with the spaces around it outside of them.
func marked(b *strings.Builder, mark, text string) {
	bare := strings.TrimSpace(text)
	if bare == "" {
		b.WriteString(text)
		return
	}
	// Marks within a word, or beside others, would not be read as such.
	before, after := spacesAround(text)
	if strings.HasPrefix(bare, "*") || strings.HasSuffix(bare, "*") || strings.Contains(bare, "\n\n") ||
		before == "" && endsInWord(b.String()) {
		b.WriteString(text)
		return
	}
	b.WriteString(before + mark + bare + mark + after)
}

// endsInWord reports whether a text ends in a letter, digit or mark.
func endsInWord(text string) bool {
	if text == "" {
		return false
	}
	last := text[len(text)-1]
	return last == '*' || last == '_' || last == '`' || last >= 0x80 ||
		'0' <= last && last <= '9' || 'a' <= last|0x20 && last|0x20 <= 'z'
}

// spacesAround returns a space for each end of a text that has one.
func spacesAround(text string) (before, after string) {
	if strings.TrimLeft(text, " \t\n\r") != text {
		before = " "
	}
	if strings.TrimRight(text, " \t\n\r") != text {
		after = " "
	}
	return before, after
}

// bold returns a line in bold.
func bold(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasPrefix(text, "**") || strings.Contains(text, "**") {
		return text
	}
	return "**" + text + "**"
}

// escaper escapes what Markdown would read as markup, or documents as attributes.
var escaper = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "[", "\\[", "]", "\\]", "<", "\\<", "{", "\\{",
	"\u00a0", " ", "\u200b", "")

// escape returns text of a page as Markdown.
func escape(text string) string {
	if strings.ContainsAny(text, "\\`*[]<{\u00a0\u200b") {
		text = escaper.Replace(text)
	}
	if strings.ContainsAny(text, "_~&") {
		text = escapeWords(text)
	}
	return text
}

// escapeWords escapes underscores and tildes at the edges of words, where they are markup,
// and what looks like a character reference.
func escapeWords(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '_' && (i == 0 || i == len(text)-1 || !isWord(text[i-1]) || !isWord(text[i+1])),
			c == '~' && i+1 < len(text) && text[i+1] == '~',
			c == '&' && i+1 < len(text) && (isWord(text[i+1]) || text[i+1] == '#'):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// isWord reports whether a byte is part of a word.
func isWord(c byte) bool {
	return c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// tidy joins the white space of a text, and keeps the line breaks that the page has.
func tidy(text string) string {
	if !strings.ContainsAny(text, "\n\t\r") && !strings.Contains(text, "  ") {
		return strings.TrimSpace(text)
	}
	lines := strings.Split(text, "\\\n")
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\\\n")
}

// protectStart escapes what would make a paragraph a heading, a list, a quote or a rule.
func protectStart(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		digits := strings.TrimLeft(line, "0123456789")
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, ">"), strings.HasPrefix(line, "+ "),
			strings.HasPrefix(line, "- "), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "~~~"),
			strings.Trim(line, "-") == "", strings.Trim(line, "=") == "", strings.Trim(line, "+") == "":
			lines[i] = "\\" + line
		case digits != line && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")):
			lines[i] = line[:len(line)-len(digits)] + "\\" + digits
		}
	}
	return strings.Join(lines, "\n")
}
