// Package tree parses a JSON or YAML document into ordered nodes with their positions.
//
//	root, err := tree.Parse("openapi.yaml", data)
//	title := root.Get("info", "title").String()
//
// A generic decoder returns maps, which lose the order of members and the line numbers
// needed for error messages. [Node] keeps both, and encodes itself as JSON. Reading
// missing nodes is safe: all methods work on a nil Node, which has the kind None.
package tree

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Kind is the kind of a [Node].
type Kind uint8

// The kinds. None is the kind of the nil Node.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the JSON Schema name of a kind, or "nothing".
func (k Kind) String() string {
	return [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}[k]
}

// Node is a value of a document. It must not be modified after parsing, and is then safe
// for concurrent use. In a YAML document with aliases, a Node can occur in several
// places, but never inside itself.
type Node struct {
	Kind Kind
	// Text is the value of a string, or the JSON literal of a boolean, number or null.
	Text string
	// Members are the members of an object, in document order. Names are unique.
	Members []Member
	// Items are the elements of an array.
	Items []*Node
	// Line and Column locate the start of the value, from 1; Column counts characters.
	Line, Column int
}

// Member is a named value of an object.
type Member struct {
	Name string
	// Line and Column locate the start of the name.
	Line, Column int
	Value        *Node
}

// Error is a problem in a document, with its position.
type Error struct {
	Line, Column int // 0 if unknown
	Message      string
}

// Error returns the message with its position.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Limits of a document. Exceeding one is an error.
const (
	// MaxBytes limits the size of the text.
	MaxBytes = 64 << 20
	// MaxDepth limits the nesting of arrays and objects.
	MaxDepth = 200
	// MaxNodes limits the number of nodes, with those of YAML aliases counted at every
	// use.
	MaxNodes = 5_000_000
)

// Parse parses a document. Names that end in .json are JSON; names that end in .yaml or
// .yml are YAML, of which only the first document is read. Any other document is JSON if
// it begins with a brace or a bracket, else YAML. The error is an [*Error].
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

// Get returns the value at a path of member names, or nil.
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

// At returns the value at a JSON pointer (RFC 6901), or nil.
func (n *Node) At(pointer string) *Node {
	if pointer == "" {
		return n
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = jsonscan.UnescapeToken(token)
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

// Locate returns the position of the value at a path such as inputs[2].name, the form of
// package schema, or of its nearest existing ancestor. The position of a member is that of
// its name.
func (n *Node) Locate(path string) (line, column int) {
	if n == nil {
		return 0, 0
	}
	line, column = n.Line, n.Column
	// The steps are name, ["name"] and [0]. The pattern is compiled here as only mistakes need it.
	pathSteps := regexp.MustCompile(`\.?([^.\[\]]+)|\[("(?:[^"\\]|\\.)*")\]|\[([^\]"]*)\]`)
	for _, step := range pathSteps.FindAllStringSubmatch(path, -1) {
		name := cmp.Or(step[1], step[3])
		if quoted, err := strconv.Unquote(step[2]); err == nil {
			name = quoted
		}
		if i, err := strconv.Atoi(step[3]); err == nil && n.Is(Array) && i < len(n.Items) {
			n = n.Items[i]
			line, column = n.Line, n.Column
			continue
		}
		m := n.Member(name)
		if m == nil {
			break
		}
		n, line, column = m.Value, m.Line, m.Column
	}
	return line, column
}

func (n *Node) kind() Kind {
	if n == nil {
		return None
	}
	return n.Kind
}

// Is reports whether the node is of kind k. The nil Node is of kind None.
func (n *Node) Is(k Kind) bool { return n.kind() == k }

// String returns the text of a string, number or boolean, and "" for other kinds.
func (n *Node) String() string {
	switch n.kind() {
	case String, Number, Bool:
		return n.Text
	}
	return ""
}

// True reports whether the node is the boolean true.
func (n *Node) True() bool { return n.kind() == Bool && n.Text == "true" }

// Elements returns the elements of an array, and nil for other kinds.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Fields returns the members of an object, and nil for other kinds.
func (n *Node) Fields() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// Strings returns the texts of the scalars in an array, or of a single scalar.
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

// measure verifies the limits that require the complete document, and returns the number
// of nodes. seen caches the sizes of shared nodes.
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
