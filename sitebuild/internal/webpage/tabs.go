package webpage

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tabs are the tabs of a page in one list, and the panels that they show.
type tabs struct {
	list           *html.Node
	labels, panels []*html.Node
}

// openTabs makes the panels of all tabs content, each below the label of its tab: browsers
// show one panel at a time and hide the others, such as the commands for other systems.
func openTabs(root *html.Node) {
	var all []*tabs
	byList := make(map[*html.Node]*tabs)
	byBox := make(map[*html.Node]*tabs) // the element that contains the list and the panels
	var labels, panels []*html.Node
	for n := range root.Descendants() {
		switch attr(n, "role") {
		case "tablist":
			if byBox[n.Parent] == nil {
				t := &tabs{list: n}
				all = append(all, t)
				byList[n], byBox[n.Parent] = t, t
			}
		case "tab":
			labels = append(labels, n)
		case "tabpanel":
			show(n)
			panels = append(panels, n)
		}
	}
	for _, n := range labels {
		if t := enclosing(n, byList); t != nil {
			t.labels = append(t.labels, n)
		}
	}
	for _, n := range panels {
		if t := enclosing(n, byBox); t != nil {
			t.panels = append(t.panels, n)
		}
	}
	for _, t := range all {
		if len(t.labels) == len(t.panels) {
			t.label()
		}
	}
}

// enclosing returns the tabs of the nearest element around n that has some.
func enclosing(n *html.Node, tabs map[*html.Node]*tabs) *tabs {
	for n = n.Parent; n != nil; n = n.Parent {
		if t := tabs[n]; t != nil {
			return t
		}
	}
	return nil
}

// show removes what hides an element.
func show(n *html.Node) {
	for i, a := range n.Attr {
		if a.Key == "hidden" {
			n.Attr = append(n.Attr[:i:i], n.Attr[i+1:]...)
			return
		}
	}
}

// label moves the text of each tab into its panel.
func (t *tabs) label() {
	for i, panel := range t.panels {
		var label strings.Builder
		for c := range t.labels[i].ChildNodes() { // the tab itself may be a button, which is not content
			addPlain(&label, c, 0)
		}
		if text := strings.Join(strings.Fields(label.String()), " "); text != "" {
			panel.InsertBefore(paragraph(text), panel.FirstChild)
		}
	}
	t.list.Parent.RemoveChild(t.list)
}

// paragraph returns a paragraph of bold text.
func paragraph(text string) *html.Node {
	bold := &html.Node{Type: html.ElementNode, Data: "strong", DataAtom: atom.Strong}
	bold.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P}
	p.AppendChild(bold)
	return p
}
