package tree

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// jsonReader converts JSON text to nodes.
type jsonReader struct {
	text []byte
	// place, line and column belong to the last node. Offsets only grow, so lines are
	// counted in a single pass.
	place, line, column int
	nodes               int
}

func parseJSON(text []byte) (*Node, error) {
	r := &jsonReader{text: text, line: 1, column: 1}
	n, end, err := r.value(jsonscan.Space(text, 0), 0)
	if err == nil {
		err = jsonscan.End(text, end)
	}
	if err == nil {
		return n, nil
	}
	var syntax *jsonscan.Error
	if !errors.As(err, &syntax) {
		return nil, located(err)
	}
	if syntax.Offset >= r.place {
		r.advance(syntax.Offset)
		return nil, &Error{r.line, r.column, syntax.Reason}
	}
	return nil, &Error{Message: syntax.Reason}
}

func (r *jsonReader) value(i, depth int) (*Node, int, error) {
	if i >= len(r.text) {
		return nil, i, &jsonscan.Error{Offset: i, Reason: "unexpected end of input"}
	}
	r.advance(i)
	if r.nodes++; r.nodes > MaxNodes {
		return nil, i, &Error{r.line, r.column, fmt.Sprintf("the document has more than %d values", MaxNodes)}
	}
	if depth >= MaxDepth {
		return nil, i, &Error{r.line, r.column, fmt.Sprintf("arrays and objects nest deeper than %d", MaxDepth)}
	}
	n := &Node{Line: r.line, Column: r.column}
	var end int
	var err error
	switch r.text[i] {
	case '{':
		n.Kind = Object
		end, err = r.object(n, i, depth)
	case '[':
		n.Kind = Array
		end, err = jsonscan.Array(r.text, i, depth, func(i int) (int, error) {
			child, end, err := r.value(jsonscan.Space(r.text, i), depth+1)
			n.Items = append(n.Items, child)
			return end, err
		})
	default:
		if end, err = jsonscan.ValueAt(r.text, i, depth); err == nil {
			n.scalar(r.text[i:end])
		}
	}
	return n, end, err
}

func (r *jsonReader) object(n *Node, i, depth int) (int, error) {
	var names map[string]bool
	return jsonscan.Object(r.text, i, depth, func(key []byte, i int) (int, error) {
		m := Member{Name: string(key)}
		if names == nil {
			names = make(map[string]bool)
		}
		r.advance(r.keyBefore(i))
		m.Line, m.Column = r.line, r.column
		if names[m.Name] {
			return i, &Error{r.line, r.column, fmt.Sprintf("%q is there twice", m.Name)}
		}
		names[m.Name] = true
		child, end, err := r.value(jsonscan.Space(r.text, i), depth+1)
		m.Value = child
		n.Members = append(n.Members, m)
		return end, err
	})
}

// keyBefore returns the offset of the name of the member whose value is at i.
func (r *jsonReader) keyBefore(i int) int {
	end := i - 1
	for end > r.place && r.text[end] != ':' {
		end--
	}
	for end > r.place && r.text[end] != '"' {
		end--
	}
	for begin := end - 1; begin >= r.place; begin-- {
		if r.text[begin] != '"' {
			continue
		}
		slashes := 0
		for begin-1-slashes >= 0 && r.text[begin-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return begin
		}
	}
	return r.place
}

func (r *jsonReader) advance(to int) {
	for r.place < to {
		if r.text[r.place] == '\n' {
			r.place, r.line, r.column = r.place+1, r.line+1, 1
			continue
		}
		_, size := utf8.DecodeRune(r.text[r.place:])
		r.place += size
		r.column++
	}
}

// scalar sets n to the value of a JSON literal.
func (n *Node) scalar(raw []byte) {
	switch raw[0] {
	case '"':
		n.Kind = String
		n.Text, _ = jsonscan.Unquote(raw)
	case 't', 'f':
		n.Kind, n.Text = Bool, string(raw)
	case 'n':
		n.Kind, n.Text = Null, "null"
	default:
		n.Kind, n.Text = Number, string(raw)
	}
}
