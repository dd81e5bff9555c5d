package convert

import (
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"strings"
)

// node is an element, or text if its name is empty. Its methods may be called for nil.
type node struct {
	name  string // with the usual prefix of its namespace, such as w:p
	text  string
	attrs []xml.Attr
	kids  []*node
}

const (
	// maxXMLDepth is how deeply elements may be nested.
	maxXMLDepth = 200
	// maxNodes is how many elements and texts a file may have. Each takes about 150 bytes.
	maxNodes = 1_000_000
)

// nodeReader reads the elements of one file.
type nodeReader struct {
	// decoder reads the file in a stream: only the elements that are kept take memory.
	decoder *xml.Decoder
	nodes   int // that were read
}

// node reads an element whose start was read.
func (r *nodeReader) node(start xml.StartElement, depth int) (*node, error) {
	if depth > maxXMLDepth {
		return nil, errors.New("its elements are nested too deeply")
	}
	n := &node{name: nameOf(start.Name), attrs: start.Attr}
	for {
		if r.nodes++; r.nodes > maxNodes {
			return nil, fmt.Errorf("more than %d elements", maxNodes)
		}
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			kid, err := r.node(t, depth+1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		case xml.CharData:
			n.kids = append(n.kids, &node{text: string(t)})
		case xml.EndElement:
			return n, nil
		}
	}
}

// nameOf returns a name with the usual prefix of its namespace. Both namespaces of Word, the
// transitional and the strict one, have the prefix w.
func nameOf(name xml.Name) string {
	switch {
	case strings.Contains(name.Space, "wordprocessingml"):
		return "w:" + name.Local
	case strings.Contains(name.Space, "officeDocument") && path.Base(name.Space) == "math":
		return "m:" + name.Local
	case strings.Contains(name.Space, "markup-compatibility"):
		return "mc:" + name.Local
	case strings.Contains(name.Space, "drawingml") && strings.HasSuffix(strings.ToLower(name.Space), "drawing"):
		return "wp:" + name.Local
	case name.Space == "" || strings.HasSuffix(name.Space, "/relationships"):
		return name.Local
	}
	return path.Base(name.Space) + ":" + name.Local
}

// local returns a name without its prefix.
func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// attr returns an attribute by its local name, or "".
func (n *node) attr(local string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.attrs {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// child returns the first child of that name, or nil.
func (n *node) child(name string) *node {
	for _, kid := range n.list() {
		if kid.name == name {
			return kid
		}
	}
	return nil
}

// list returns the children.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.kids
}

// cells returns the cells of a row, also those inside content controls.
func (n *node) cells() []*node {
	var cells []*node
	for _, kid := range n.list() {
		switch kid.name {
		case "w:tc":
			cells = append(cells, kid)
		case "w:sdt":
			cells = append(cells, kid.child("w:sdtContent").cells()...)
		case "w:customXml", "w:ins":
			cells = append(cells, kid.cells()...)
		}
	}
	return cells
}

// allText returns the text of an element and those in it.
func (n *node) allText() string {
	if n == nil {
		return ""
	}
	if n.name == "" {
		return n.text
	}
	var b strings.Builder
	for _, kid := range n.kids {
		b.WriteString(kid.allText())
	}
	return b.String()
}
