package tree

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Error is a problem in a document, with its position.
type Error struct {
	Line, Column int // 0 if unknown
	// Message states the fault without the position or the name of the document.
	Message string
}

// Error returns the message with its position.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// MaxDocument limits the bytes of a text that [ReadDocument] reads.
const MaxDocument = 64 << 20

// ReadDocument reads a JSON or YAML document, such as an OpenAPI description. Names that
// end in .json are JSON; names that end in .yaml or .yml are YAML, of which only the first
// document is read. Any other document is JSON if it begins with a brace or a bracket,
// else YAML. Names in an object are unique, values have a line and a column, and aliases
// share their nodes, which must not be modified. A document has up to [MaxDocument] bytes,
// 200 levels and 5,000,000 values. The error is an [*Error].
func ReadDocument(name string, data []byte) (*Node, error) {
	if len(data) > MaxDocument {
		return nil, &Error{Message: fmt.Sprintf("the document has more than %d MiB", MaxDocument>>20)}
	}
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	l := limits{
		depth:    199,
		nodes:    5_000_000,
		document: true,
	}
	var root *Node
	var problems []Problem
	switch {
	case isJSON(name, text):
		root, problems = parseJSON(text, false, l)
	case !utf8.Valid(text):
		return nil, &Error{Message: "the text is not UTF-8"}
	default:
		root, problems = parseYAML(text, l)
	}
	if len(problems) == 0 {
		return root, nil
	}
	p := problems[0]
	if p.Offset == unplaced {
		return nil, &Error{Message: p.Message}
	}
	c := cursor{
		line:   1,
		column: 1,
	}
	line, column := c.move(text, p.Offset)
	return nil, &Error{line, column, p.Message}
}

// isJSON decides by the name, otherwise by the first character: YAML contains JSON, but
// its errors would mislead.
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
		switch {
		case n.Is(Object):
			n = n.Get(token)
		case n.Is(Array):
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
	line = n.Line
	column = n.Column
	// The steps are name, ["name"] and [0]. The pattern is compiled here as only mistakes need it.
	pathSteps := regexp.MustCompile(`\.?([^.\[\]]+)|\[("(?:[^"\\]|\\.)*")\]|\[([^\]"]*)\]`)
	for _, step := range pathSteps.FindAllStringSubmatch(path, -1) {
		name := cmp.Or(step[1], step[3])
		if quoted, err := strconv.Unquote(step[2]); err == nil {
			name = quoted
		}
		if i, err := strconv.Atoi(step[3]); err == nil && n.Is(Array) && i < len(n.Items) {
			n = n.Items[i]
			line = n.Line
			column = n.Column
			continue
		}
		m := n.Member(name)
		if m == nil {
			break
		}
		n = m.Value
		line = m.Line
		column = m.Column
	}
	return line, column
}

// Is reports whether the node is of kind k. A nil node is of none.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// String returns the text of a string, number or boolean, and "" for other kinds.
func (n *Node) String() string {
	if n.Is(String) || n.Is(Number) || n.Is(Bool) {
		return n.Text
	}
	return ""
}

// True reports whether the node is the boolean true.
func (n *Node) True() bool { return n.Is(Bool) && n.Text == "true" }

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
