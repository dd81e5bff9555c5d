package tree

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// jsonReader reads JSON, or JSONC if comments is set.
type jsonReader struct {
	// text is read from at; place is the line and column of an earlier position, to count
	// on from there.
	text []byte
	at   int
	// comments allows comments and trailing commas.
	comments bool
	limits   limits
	// nodes counts for the limit.
	nodes    int
	problems []Problem
	place    cursor
}

// parseJSON reads JSON, with comments and trailing commas if permitted. Errors are found
// in one pass; the first that prevents reading on ends it.
func parseJSON(text []byte, comments bool, l limits) (root *Node, problems []Problem) {
	r := &jsonReader{
		text:     text,
		comments: comments,
		limits:   l,
		place: cursor{
			line:   1,
			column: 1,
		},
	}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		r.at = 3
		r.place.at = 3
	}
	f := catch(func() {
		r.space()
		root = r.value(nil, 0)
		r.space()
		if r.at < len(r.text) {
			panic(failure(r.at, "text after the end of the value", ""))
		}
	})
	if f != nil {
		return nil, []Problem{f.Problem}
	}
	return root, r.problems
}

// unexpected returns the fault for the character that is next, or for the missing rest.
func (r *jsonReader) unexpected() *fault {
	if r.at >= len(r.text) {
		what := "the file"
		if r.limits.document {
			what = "input"
		}
		return failure(len(r.text), "unexpected end of "+what, "")
	}
	c, _ := utf8.DecodeRune(r.text[r.at:])
	hint := ""
	if c == '\'' {
		hint = "JSON allows only double quotes"
	}
	return failure(r.at, fmt.Sprintf("unexpected character %q", c), hint)
}

// space skips white space, and comments where they are allowed.
func (r *jsonReader) space() {
	for {
		r.at = jsonscan.Space(r.text, r.at)
		rest := r.text[r.at:]
		line := bytes.HasPrefix(rest, []byte("//"))
		block := bytes.HasPrefix(rest, []byte("/*"))
		switch {
		case !line && !block:
			return
		case !r.comments:
			panic(failure(r.at, "JSON does not allow comments", "name the file .jsonc, or remove the comment"))
		case line:
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			r.at += end
		default:
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				panic(failure(r.at, "unterminated comment", ""))
			}
			r.at += end + 4
		}
	}
}

// value reads a value, which must begin at r.at.
func (r *jsonReader) value(at *Path, depth int) *Node {
	if depth > r.limits.depth {
		panic(failure(r.at, r.limits.tooDeep(), ""))
	}
	if r.nodes++; r.limits.document && r.nodes > r.limits.nodes {
		panic(failure(r.at, r.limits.tooMany(), ""))
	}
	if r.at >= len(r.text) {
		panic(r.unexpected())
	}
	start := r.at
	n := r.begin(start)
	switch r.text[start] {
	case '{':
		n.Kind = Object
		r.members(n, at, depth+1)
	case '[':
		n.Kind = Array
		for r.at++; r.next(']', len(n.Items) > 0); {
			n.Items = append(n.Items, r.value(at.Item(len(n.Items)), depth+1))
		}
	case '"':
		n.Kind = String
		n.Text, _ = jsonscan.Unquote(r.scalar())
	case 't', 'f':
		n.Kind = Bool
		n.Text = string(r.scalar())
	case 'n':
		n.Text = string(r.scalar())
	default:
		n.Kind = Number
		n.Text = string(r.scalar())
	}
	n.End = r.at
	return n
}

// scalar reads a string, a number or a word.
func (r *jsonReader) scalar() []byte {
	start := r.at
	end, err := jsonscan.Value(r.text, start)
	if err == nil {
		r.at = end
		return r.text[start:end]
	}
	wrong := (*jsonscan.Error)(nil)
	if !errors.As(err, &wrong) {
		panic(failure(start, err.Error(), ""))
	}
	r.at = wrong.Offset
	if r.at >= len(r.text) || strings.HasPrefix(wrong.Reason, "unexpected") {
		panic(r.unexpected())
	}
	panic(failure(r.at, wrong.Reason, ""))
}

// begin returns a node that begins at an offset.
func (r *jsonReader) begin(at int) *Node {
	n := &Node{Start: at}
	n.Line, n.Column = r.position(at)
	return n
}

// position returns the line and column of an offset, if they are recorded.
func (r *jsonReader) position(at int) (line, column int) {
	if !r.limits.document {
		return 0, 0
	}
	return r.place.move(r.text, at)
}

// members reads the members of the object at r.at.
func (r *jsonReader) members(n *Node, at *Path, depth int) {
	seen := map[string]bool{}
	for r.at++; r.next('}', len(n.Members) > 0); {
		m := Member{KeyStart: r.at}
		m.Line, m.Column = r.position(r.at)
		if r.text[r.at] != '"' {
			panic(r.unexpected())
		}
		m.Key, _ = jsonscan.Unquote(r.scalar())
		m.KeyEnd = r.at
		r.space()
		if r.at >= len(r.text) || r.text[r.at] != ':' {
			panic(r.unexpected())
		}
		r.at++
		r.space()
		below := at.Member(m.Key)
		if seen[m.Key] {
			r.problems = r.limits.repeat(r.problems, m.KeyStart, below)
		}
		seen[m.Key] = true
		m.Value = r.value(below, depth)
		n.Members = append(n.Members, m)
	}
}

// next advances to the next element and reports true, or past the closing bracket. comma
// requires a comma before the element.
func (r *jsonReader) next(closing byte, comma bool) bool {
	r.space()
	trailing := -1
	if comma && r.at < len(r.text) && r.text[r.at] == ',' {
		comma = false
		trailing = r.at
		r.at++
		r.space()
	}
	switch {
	case r.at >= len(r.text):
		panic(r.unexpected())
	case r.text[r.at] == closing && trailing >= 0 && !r.comments:
		panic(failure(trailing, "JSON does not allow a trailing comma",
			"remove the comma, or name the file .jsonc"))
	case r.text[r.at] == closing:
		r.at++
		return false
	case comma:
		missing := r.unexpected()
		missing.Hint = "missing comma before it"
		panic(missing)
	}
	return true
}

// cursor is a place in a text. Offsets only grow, so lines are counted in a single pass.
type cursor struct{ at, line, column int }

// move advances to an offset and returns its line and column.
func (c *cursor) move(text []byte, to int) (line, column int) {
	for c.at < to {
		if text[c.at] == '\n' {
			c.at = c.at + 1
			c.line = c.line + 1
			c.column = 1
			continue
		}
		_, size := utf8.DecodeRune(text[c.at:])
		c.at += size
		c.column++
	}
	return c.line, c.column
}
