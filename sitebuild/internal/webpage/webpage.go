// Package webpage reads the pages of a rendered documentation site: HTML becomes Markdown
// with the headings, code, tables, lists, notes and links of the page, and without what
// surrounds its content.
//
// The content is where the generator of the page puts it, see [generators], otherwise the
// main element, otherwise the part of the page with most text outside of links. Headings
// keep their ids, so that links to the public page are exact.
package webpage

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page is what is read from an HTML page.
type Page struct {
	// Title is that of the first heading, otherwise that of the browser's window without the
	// name of the site.
	Title string
	// Description, Language and Canonical are what the page says about itself, or empty.
	// Language is a code such as "en", Canonical the address of the page.
	Description, Language, Canonical string
	// Next is the address of the page that follows in reading order, or empty.
	Next string
	// Generator is the program that made the page: one of those in [generators], or empty.
	Generator string
	// Markdown is the content. HeadingIDs are the ids of its headings, in order; a heading
	// without one has an empty string. A heading in a list, a quote or a table is bold text and
	// has none.
	Markdown   string
	HeadingIDs []string
	// Anchors are all ids of the content, to which links can lead.
	Anchors []string
	// Unlisted is true for pages without content of their own: those that lead elsewhere, and
	// those that their author keeps from search engines.
	Unlisted bool
}

// Read reads an HTML page in UTF-8. The time is at most proportional to its size and to the
// depth of its elements, which is bounded. The error reports HTML that cannot be
// parsed, such as elements nested too deeply.
func Read(source []byte) (*Page, error) {
	root, err := html.Parse(bytes.NewReader(source))
	if err != nil {
		return nil, fmt.Errorf("the page cannot be read as HTML: %w", err)
	}
	p := &Page{}
	p.readHead(root)
	openTabs(root)
	g := generatorOf(root, p.Generator)
	if g != nil {
		p.Generator = g.name
	}
	content := contentOf(root, g)
	w := &writer{page: p}
	heading := headingOutside(root, content, g)
	if heading != nil {
		w.blocks(heading)
	}
	w.blocks(content)
	p.Markdown = w.text()
	p.Title = titleOf(w, p.Title)
	return p, nil
}

// titleOf returns the title of a page: that of its first main heading, of its first heading,
// or of the window without the name of the site. It is empty if the page has none.
func titleOf(w *writer, window string) string {
	if title := cmp.Or(w.mainTitle, w.firstTitle); title != "" {
		return title
	}
	if strings.HasPrefix(window, "<no title>") { // of Sphinx
		return ""
	}
	for _, mark := range []string{" — ", " – ", " | ", " · ", " :: ", " - "} {
		if i := strings.LastIndex(window, mark); i > 0 {
			return strings.TrimSpace(window[:i])
		}
	}
	return window
}

// readHead reads what the page says about itself.
func (p *Page) readHead(root *html.Node) {
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Html:
			p.Language = attr(n, "lang")
		case atom.Title:
			if p.Title == "" && !within(n, atom.Svg) {
				p.Title = plain(n)
			}
		case atom.Meta:
			p.readMeta(n)
		case atom.Link:
			switch strings.ToLower(attr(n, "rel")) {
			case "canonical":
				p.Canonical = attr(n, "href")
			case "next":
				p.Next = attr(n, "href")
			}
		case atom.Body:
			return
		}
	}
}

// readMeta reads a meta element.
func (p *Page) readMeta(n *html.Node) {
	content := strings.Join(strings.Fields(attr(n, "content")), " ")
	switch strings.ToLower(attr(n, "name")) {
	case "description":
		p.Description = content
	case "generator":
		name, _, _ := strings.Cut(strings.ToLower(content), " ")
		p.Generator = name
	case "robots":
		p.Unlisted = p.Unlisted || strings.Contains(strings.ToLower(content), "noindex")
	}
	if strings.EqualFold(attr(n, "property"), "og:description") && p.Description == "" {
		p.Description = content
	}
	if strings.EqualFold(attr(n, "http-equiv"), "refresh") {
		p.Unlisted = p.Unlisted || strings.Contains(strings.ToLower(content), "url=")
	}
}

// Links returns the targets of all links of a page, as they stand, also of those outside of
// its content, and the address in its base element, or "": links are relative to it. The time is
// proportional to the size of the page.
func Links(source []byte) (links []string, base string) {
	tokens := html.NewTokenizer(bytes.NewReader(source))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return links, base
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokens.TagName()
			isBase := string(name) == "base"
			if !isBase && string(name) != "a" && string(name) != "area" {
				continue
			}
			for more {
				var key, value []byte
				key, value, more = tokens.TagAttr()
				switch target := string(bytes.TrimSpace(value)); {
				case string(key) != "href":
				case !isBase:
					links = append(links, target)
				case base == "":
					base = target
				}
			}
		}
	}
}

// attr returns an attribute of an element, or "".
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// hasAttr reports whether an element has an attribute.
func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// hasClass reports whether an element has one of the classes.
func hasClass(n *html.Node, classes ...string) bool {
	for have := range strings.FieldsSeq(attr(n, "class")) {
		for _, want := range classes {
			if have == want {
				return true
			}
		}
	}
	return false
}

// within reports whether an element with that tag contains n.
func within(n *html.Node, tag atom.Atom) bool {
	for up := range n.Ancestors() {
		if up.DataAtom == tag {
			return true
		}
	}
	return false
}

// plain returns the text of a node on one line, without markup and links to itself.
func plain(n *html.Node) string {
	var b strings.Builder
	addPlain(&b, n, 0)
	return strings.Join(strings.Fields(b.String()), " ")
}

// addPlain writes the text of a node.
func addPlain(b *strings.Builder, n *html.Node, depth int) {
	switch {
	case depth > maxDepth:
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
	case n.Type == html.ElementNode && isJunk(n):
	case n.DataAtom == atom.Br:
		b.WriteByte(' ')
	default:
		for c := range n.ChildNodes() {
			addPlain(b, c, depth+1)
		}
	}
}

// maxDepth is how deeply elements may be nested; those below have no text.
const maxDepth = 400
