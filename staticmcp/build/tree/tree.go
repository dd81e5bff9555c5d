// Package tree reads a JSON or YAML document as ordered nodes that know where
// they stand.
//
//	root, err := tree.Parse("openapi.yaml", data)
//	title := root.Get("info", "title").String()
//
// A generic decoder gives maps, which forget both the order that an author chose
// and the lines that a message has to name. [Node] keeps both, and writes itself
// as JSON again. Reading nodes that are not there is allowed everywhere: the nil
// Node is a value of no kind.
package tree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Kind is what a [Node] is.
type Kind uint8

// The kinds. None is that of the nil Node.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the word of JSON Schema for a kind, or "nothing".
func (k Kind) String() string {
	return [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}[k]
}

// Node is one value of a document. It must not be changed once parsed, and is
// then safe for concurrent use. In a YAML document that uses aliases a Node can
// stand in several places; there is never a circle.
type Node struct {
	Kind Kind
	// Text is a string, or the JSON literal of a boolean, a number or null.
	Text string
	// Members are those of an object, in the order of the text. No name is there
	// twice.
	Members []Member
	// Items are the elements of an array.
	Items []*Node
	// Line and Column are where it begins, from 1; the column counts characters.
	Line, Column int
}

// Member is a named value of an object.
type Member struct {
	Name string
	// Line and Column are where the name begins.
	Line, Column int
	Value        *Node
}

// Error is what is wrong with a document, and where.
type Error struct {
	Line, Column int // 0 when there is no telling
	Message      string
}

// Error returns the message with its place.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// The limits of a document. One that exceeds them is an error.
const (
	// MaxBytes is the length of its text.
	MaxBytes = 64 << 20
	// MaxDepth is how deeply arrays and objects nest.
	MaxDepth = 200
	// MaxNodes is how many nodes it has, those of YAML aliases counted wherever
	// they stand.
	MaxNodes = 5_000_000
)

// Parse reads a document. One whose name ends in .json is JSON, one in .yaml or
// .yml is YAML, of which the first document counts; any other is JSON if it
// begins with a brace or a bracket. The error is an [*Error].
func Parse(name string, data []byte) (*Node, error) {
	if len(data) > MaxBytes {
		return nil, &Error{Message: fmt.Sprintf("the document has more than %d MiB", MaxBytes>>20)}
	}
	text := trimBOM(data)
	if isJSON(name, text) {
		return parseJSON(text)
	}
	return parseYAML(text)
}

func trimBOM(data []byte) []byte {
	if len(data) >= 3 && string(data[:3]) == "\ufeff" {
		return data[3:]
	}
	return data
}

func isJSON(name string, text []byte) bool {
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, ".json"):
		return true
	case strings.HasSuffix(lower, ".yaml"), strings.HasSuffix(lower, ".yml"):
		return false
	}
	i := jsonscan.Space(text, 0)
	return i < len(text) && (text[i] == '{' || text[i] == '[')
}

// Get returns the value at the end of a path of member names, or nil.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		m := n.Member(name)
		if m == nil {
			return nil
		}
		n = m.Value
	}
	return n
}

// Member returns the member of an object with that name, or nil.
func (n *Node) Member(name string) *Member {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Name == name {
			return &n.Members[i]
		}
	}
	return nil
}

// At returns the value that a JSON pointer (RFC 6901) names, or nil.
func (n *Node) At(pointer string) *Node {
	if pointer == "" {
		return n
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch n.kind() {
		case Object:
			n = n.Get(token)
		case Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
		default:
			return nil
		}
	}
	return n
}

func (n *Node) kind() Kind {
	if n == nil {
		return None
	}
	return n.Kind
}

// Is reports whether the node is of that kind. The nil Node is of kind None.
func (n *Node) Is(k Kind) bool { return n.kind() == k }

// String returns the text of a string, a number or a boolean, and "" for any
// other kind.
func (n *Node) String() string {
	switch n.kind() {
	case String, Number, Bool:
		return n.Text
	}
	return ""
}

// True reports whether the node is the boolean true.
func (n *Node) True() bool { return n.kind() == Bool && n.Text == "true" }

// Elements returns the elements of an array, and nothing for any other kind.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Fields returns the members of an object, and nothing for any other kind.
func (n *Node) Fields() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// Strings returns the texts of the scalars in an array, or of the one scalar
// that stands in its place.
func (n *Node) Strings() []string {
	if text := n.String(); text != "" {
		return []string{text}
	}
	var list []string
	for _, item := range n.Elements() {
		if text := item.String(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// AppendJSON appends the node as JSON without white space. The nil Node is null.
func (n *Node) AppendJSON(dst []byte) []byte {
	switch n.kind() {
	case None, Null:
		return append(dst, "null"...)
	case String:
		return jsonscan.AppendQuote(dst, n.Text)
	case Array:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsonscan.AppendQuote(dst, m.Name), ':')
			dst = m.Value.AppendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, n.Text...)
}

// measure checks the limits that only a finished document shows. seen holds the
// sizes of the nodes that stand in several places.
func (n *Node) measure(depth int, seen map[*Node]int) (int, error) {
	if n == nil || n.Kind < Array {
		return 1, nil
	}
	if depth >= MaxDepth {
		return 0, &Error{n.Line, n.Column, fmt.Sprintf("arrays and objects nest deeper than %d", MaxDepth)}
	}
	if size, ok := seen[n]; ok {
		return size, nil
	}
	size := 1
	add := func(child *Node) error {
		s, err := child.measure(depth+1, seen)
		if size += s; err == nil && size > MaxNodes {
			err = &Error{Message: fmt.Sprintf("the document has more than %d values", MaxNodes)}
		}
		return err
	}
	for _, item := range n.Items {
		if err := add(item); err != nil {
			return 0, err
		}
	}
	for _, m := range n.Members {
		if err := add(m.Value); err != nil {
			return 0, err
		}
	}
	seen[n] = size
	return size, nil
}

// located returns err as an *Error.
func located(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{Message: err.Error()}
}
