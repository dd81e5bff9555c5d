package webpage

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// selector selects elements by their tag, id, class and role, each of which may be empty.
type selector struct {
	tag             atom.Atom
	id, class, role string
}

// matches reports whether an element is selected.
func (s selector) matches(n *html.Node) bool {
	return n.Type == html.ElementNode &&
		(s.tag == 0 || n.DataAtom == s.tag) &&
		(s.id == "" || attr(n, "id") == s.id) &&
		(s.class == "" || hasClass(n, s.class)) &&
		(s.role == "" || attr(n, "role") == s.role)
}

// find returns the first selected element below root, or nil.
func (s selector) find(root *html.Node) *html.Node {
	for n := range root.Descendants() {
		if s.matches(n) {
			return n
		}
	}
	return nil
}

// generator is a program that renders documentation.
type generator struct {
	// name is how the program names itself in the meta element generator.
	name string
	// marks are elements that only its pages have, for those that do not name it.
	marks []selector
	// content are the elements that have the content, the first that exists counts.
	content []selector
	// heading is the element with the title, where that is outside of the content.
	heading []selector
}

// generators are the programs whose pages are recognized.
var generators = []generator{
	{
		name:    "docusaurus",
		marks:   []selector{{id: "__docusaurus"}},
		content: []selector{{class: "theme-doc-markdown"}, {tag: atom.Article}},
	},
	{
		name:    "vitepress",
		marks:   []selector{{class: "VPDoc"}, {class: "vp-doc"}},
		content: []selector{{class: "vp-doc"}, {tag: atom.Main}},
	},
	{
		name:  "mkdocs",
		marks: []selector{{class: "md-content"}, {class: "wy-nav-content"}},
		content: []selector{{class: "md-content__inner"}, {tag: atom.Div, role: "main"},
			{tag: atom.Main}},
	},
	{
		name:  "sphinx",
		marks: []selector{{class: "sphinxsidebar"}, {id: "searchbox"}, {class: "sphinxsidebarwrapper"}},
		content: []selector{{tag: atom.Article, role: "main"}, {class: "body", role: "main"},
			{role: "main"}, {class: "body"}},
	},
	{
		name:    "antora",
		marks:   []selector{{tag: atom.Article, class: "doc"}},
		content: []selector{{tag: atom.Article, class: "doc"}},
	},
	{
		name:    "asciidoctor",
		content: []selector{{id: "content"}},
		heading: []selector{{id: "header"}},
	},
	{
		name:    "javadoc",
		marks:   []selector{{class: "contentContainer"}, {class: "flex-content"}},
		content: []selector{{tag: atom.Main}, {role: "main"}, {class: "contentContainer"}},
	},
	{
		name:    "doxygen",
		marks:   []selector{{class: "memitem"}, {class: "headertitle"}},
		content: []selector{{class: "contents"}},
		heading: []selector{{class: "headertitle"}},
	},
	{
		name:    "rustdoc",
		marks:   []selector{{class: "rustdoc"}},
		content: []selector{{id: "main-content"}, {id: "main"}, {class: "content"}},
	},
	{
		name:    "mdbook",
		marks:   []selector{{id: "page-wrapper"}},
		content: []selector{{tag: atom.Main}},
	},
	{
		name:  "hugo",
		marks: []selector{{class: "td-content"}},
		content: []selector{
			{class: "td-content"},
			{tag: atom.Main},
			{tag: atom.Article},
		},
	},
	{
		name:    "gi-docgen",
		content: []selector{{id: "main"}, {class: "content"}},
	},
	{
		name:    "node",
		marks:   []selector{{id: "apicontent"}},
		content: []selector{{id: "apicontent"}},
	},
	{
		name:    "docbook",
		marks:   []selector{{class: "navheader"}},
		content: []selector{{tag: atom.Body}},
	},
}

// anyContent are the elements of the content on pages of unknown origin.
var anyContent = []selector{{tag: atom.Main}, {role: "main"}, {tag: atom.Article}, {id: "main-content"},
	{id: "content"}}

// generatorOf returns the generator of a page, or nil. named is what the page says.
func generatorOf(root *html.Node, named string) *generator {
	for i, g := range generators {
		if named != "" && strings.HasPrefix(named, g.name) {
			return &generators[i]
		}
	}
	for i, g := range generators {
		for _, s := range g.marks {
			if s.find(root) != nil {
				return &generators[i]
			}
		}
	}
	return nil
}

// contentOf returns the element with the content of a page.
func contentOf(root *html.Node, g *generator) *html.Node {
	var places []selector
	if g != nil {
		places = g.content
	}
	for _, s := range places {
		if found := s.find(root); found != nil {
			return found
		}
	}
	for _, s := range anyContent {
		if found := s.find(root); found != nil && weigh(found, 0, make(map[*html.Node]int)) > 0 {
			return found
		}
	}
	body := selector{tag: atom.Body}.find(root)
	if body == nil {
		return root
	}
	return densest(body)
}

// densest descends to the part of a page with most of the text outside of links.
func densest(n *html.Node) *html.Node {
	weights := make(map[*html.Node]int)
	weigh(n, 0, weights)
	for {
		whole := weights[n]
		var heavy *html.Node
		for c := range n.ChildNodes() {
			// A heading beside the heavy part is part of the content.
			if isHeading(c) {
				heavy = nil
				break
			}
			if c.Type == html.ElementNode && 10*weights[c] > 9*whole && whole > 0 {
				heavy = c
			}
		}
		if heavy == nil || isBlockOfText(heavy) {
			return n
		}
		n = heavy
	}
}

// isBlockOfText reports whether an element is itself content, not a container.
func isBlockOfText(n *html.Node) bool {
	switch n.DataAtom {
	case atom.P, atom.Pre, atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Blockquote:
		return true
	}
	return false
}

// weigh returns the number of bytes of text outside of links and of what is not content, and
// notes that of each element below n.
func weigh(n *html.Node, depth int, weights map[*html.Node]int) int {
	switch {
	case depth > maxDepth || n.Type == html.ElementNode && (n.DataAtom == atom.A || isJunk(n)):
		return 0
	case n.Type == html.TextNode:
		return len(strings.TrimSpace(n.Data))
	}
	sum := 0
	for c := range n.ChildNodes() {
		sum += weigh(c, depth+1, weights)
	}
	weights[n] = sum
	return sum
}

// headingOutside returns the element with the title of a page whose content has none, or
// nil.
func headingOutside(root, content *html.Node, g *generator) *html.Node {
	if g == nil {
		return nil
	}
	for _, s := range g.heading {
		found := s.find(root)
		if found == nil {
			continue
		}
		for n := range found.Descendants() {
			if n.DataAtom == atom.H1 || hasClass(n, "title") {
				return asHeading(n)
			}
		}
	}
	return nil
}

// asHeading returns a heading of the first level, in an element of its own, with the content
// of n.
func asHeading(n *html.Node) *html.Node {
	h := &html.Node{Type: html.ElementNode, Data: "h1", DataAtom: atom.H1}
	for c := range n.ChildNodes() {
		h.AppendChild(clone(c, 0))
	}
	box := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	box.AppendChild(h)
	return box
}

// clone copies a node with what is below it.
func clone(n *html.Node, depth int) *html.Node {
	c := &html.Node{
		Type:     n.Type,
		Data:     n.Data,
		DataAtom: n.DataAtom,
		Attr:     n.Attr,
	}
	if depth < maxDepth {
		for child := range n.ChildNodes() {
			c.AppendChild(clone(child, depth+1))
		}
	}
	return c
}

// junkClasses are the classes of elements that are not content: navigation, links of a
// heading to itself and its number, buttons, line numbers, and texts for screen readers that repeat others.
var junkClasses = wordSet(
	"headerlink", "header-anchor", "hash-link", "anchor-link", "permalink", "heading-anchor", "anchorjs-link",
	"section-number",
	"navheader", "navfooter", "breadcrumb", "breadcrumbs", "theme-doc-breadcrumbs", "wy-breadcrumbs",
	"sphinxsidebar", "md-sidebar", "md-source-file", "md-content__button", "md-feedback", "rst-footer-buttons",
	"toc", "tocnav", "table-of-contents", "contents-toc", "theme-doc-toc-mobile", "pagination-nav",
	"theme-doc-footer", "theme-edit-this-page", "edit-this-page", "edit-page-link", "prev-next-buttons",
	"prev-next-area", "VPDocFooter", "VPDocAside", "page-nav", "prev-next", "docs-nav",
	"linenos", "linenodiv", "lineno", "line-numbers", "gutter", "copybtn", "copy-button",
	"topNav", "bottomNav", "subNav", "sub-nav", "legalCopy", "legal-copy", "navPadding", "src-link", "srclink",
	"notable-traits-tooltiptext", "out-of-band", "hideme", "collapse-toggle", "sr-only", "visually-hidden",
	"visuallyhidden", "show-sr",
	"picker-header", "alt-docs", "mobile-nav-trigger", "nav-chapters", "dynheader-toggle")

// junkIDs are the ids of elements that are not content.
var junkIDs = wordSet("toc", "toctitle", "table-of-contents", "nav-path", "sidebar", "navigation", "side-nav",
	"gtoc")

// isJunk reports whether an element is not content.
func isJunk(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Nav, atom.Button, atom.Svg,
		atom.Iframe, atom.Object, atom.Select, atom.Textarea, atom.Dialog, atom.Head:
		return true
	case atom.Form:
		m := measure(n) // some hosts put whole pages into a form
		if !m.heading && m.text <= littleText {
			return true
		}
	case atom.Footer:
		return !within(n, atom.Blockquote)
	case atom.Input:
		return attr(n, "type") != "checkbox"
	}
	switch attr(n, "role") {
	case "navigation", "search", "doc-toc", "tooltip":
		return true
	}
	if hasAnyClass(n, junkClasses) && !isHeading(n) || isSmallJunk(n) ||
		hasAttr(n, "hidden") && attr(n, "hidden") != "until-found" {
		return true
	}
	if junkIDs[attr(n, "id")] &&
		n.DataAtom != atom.Section &&
		!isHeading(n) &&
		!isSectionBox(n) {
		return true
	}
	return n.DataAtom == atom.A &&
		attr(n, "aria-hidden") == "true" &&
		attr(n, "href") != ""
}

// littleText is the most text outside of links, in bytes, that the labels of a form have. Lists of
// related pages have less, and controls hardly any.
const (
	littleText = 200
	listText   = 80
	buttonText = 40
)

// isSmallJunk reports whether an element is not content by its class and its size: the words are also
// classes of content.
func isSmallJunk(n *html.Node) bool {
	switch {
	case hasClass(n, "related"):
		return measure(n).text <= listText
	case hasClass(n, "copy", "src") && !isBlockOfText(n) && !isHeading(n):
		m := measure(n)
		return !m.heading && !m.block && m.text+m.linked <= buttonText
	}
	return false
}

// measures are what an element contains.
type measures struct {
	// heading and block report whether there is a heading, and another block of text.
	heading, block bool
	// text is the number of bytes of text outside of links, and linked of that in links.
	text, linked int
	left         int // nodes that may still be visited
}

// measure returns what an element contains, except what people enter. What is too large to be visited is
// text.
func measure(n *html.Node) *measures {
	m := &measures{left: 2000}
	for c := range n.ChildNodes() {
		if m.left < 0 {
			break
		}
		m.add(c, false, 0)
	}
	if m.left < 0 {
		m.text += 1 << 20
	}
	return m
}

// add adds a node, which is in a link or not.
func (m *measures) add(n *html.Node, inLink bool, depth int) {
	if m.left--; m.left < 0 || depth > maxDepth {
		return
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Nav, atom.Button, atom.Svg, atom.Select,
		atom.Textarea:
		return
	case atom.A:
		inLink = true
	}
	m.heading = m.heading || isHeading(n)
	m.block = m.block || isBlockOfText(n)
	switch {
	case n.Type == html.TextNode && inLink:
		m.linked += len(strings.TrimSpace(n.Data))
	case n.Type == html.TextNode:
		m.text += len(strings.TrimSpace(n.Data))
	}
	for c := range n.ChildNodes() {
		if m.left < 0 {
			return
		}
		m.add(c, inLink, depth+1)
	}
}

// wordSet returns a set of words.
func wordSet(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return set
}

// hasAnyClass reports whether an element has a class of a set.
func hasAnyClass(n *html.Node, set map[string]bool) bool {
	for class := range strings.FieldsSeq(attr(n, "class")) {
		if set[class] {
			return true
		}
	}
	return false
}

// isSectionBox reports whether an element begins with a heading, as the section about a
// sidebar does.
func isSectionBox(n *html.Node) bool {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode {
			return c.DataAtom == atom.H1 || c.DataAtom == atom.H2 && attr(n, "id") != "toc"
		}
	}
	return false
}

// isHeading reports whether a node is h1 to h6.
func isHeading(n *html.Node) bool {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}
