package tree

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// jsonReader reads JSON, or JSONC if comments is set.
type jsonReader struct {
	text     []byte
	at       int
	comments bool
	limits   limits
	nodes    int
	problems []Problem
	place    cursor
}

// fault is a problem that aborts reading.
type fault struct{ Problem }

func (f *fault) Error() string { return f.Message }

func parseJSON(text []byte, comments bool, l limits) (*Node, []Problem) {
	r := &jsonReader{text: text, comments: comments, limits: l, place: cursor{line: 1, column: 1}}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		r.at = 3
		r.place.at = 3
	}
	n, err := r.document()
	if f, ok := err.(*fault); ok {
		return nil, []Problem{f.Problem}
	}
	return n, r.problems
}

func (r *jsonReader) document() (*Node, error) {
	if err := r.space(); err != nil {
		return nil, err
	}
	n, err := r.value("", 0)
	if err != nil {
		return nil, err
	}
	if err := r.space(); err != nil {
		return nil, err
	}
	if r.at < len(r.text) {
		return nil, r.fail(r.at, "text after the end of the value", "")
	}
	return n, nil
}

func (r *jsonReader) fail(at int, message, hint string) error {
	return &fault{Problem{Offset: at, Message: message, Hint: hint}}
}

func (r *jsonReader) unexpected() error {
	if r.at >= len(r.text) {
		if r.limits.document {
			return r.fail(len(r.text), "unexpected end of input", "")
		}
		return r.fail(len(r.text), "unexpected end of the file", "")
	}
	c, _ := utf8.DecodeRune(r.text[r.at:])
	hint := ""
	if c == '\'' {
		hint = "JSON has double quotes only"
	}
	return r.fail(r.at, fmt.Sprintf("unexpected character %q", c), hint)
}

// space skips white space, and comments where they are allowed.
func (r *jsonReader) space() error {
	for {
		r.at = jsonscan.Space(r.text, r.at)
		rest := r.text[r.at:]
		line, block := bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*"))
		switch {
		case !line && !block:
			return nil
		case !r.comments:
			return r.fail(r.at, "JSON has no comments", "name the file .jsonc, or take the comment out")
		case line:
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			r.at += end
		default:
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return r.fail(r.at, "the comment is not closed", "")
			}
			r.at += end + 4
		}
	}
}

func (r *jsonReader) value(pointer string, depth int) (*Node, error) {
	if depth > r.limits.depth {
		return nil, r.fail(r.at, r.limits.tooDeep(), "")
	}
	if r.nodes++; r.limits.document && r.nodes > r.limits.nodes {
		return nil, r.fail(r.at, r.limits.tooMany(), "")
	}
	if r.at >= len(r.text) {
		return nil, r.unexpected()
	}
	switch r.text[r.at] {
	case '{':
		return r.object(pointer, depth+1)
	case '[':
		return r.array(pointer, depth+1)
	}
	start := r.at
	end, err := jsonscan.Value(r.text, start)
	if err != nil {
		return nil, r.scanFault(err)
	}
	r.at = end
	n := r.begin(0, start)
	n.End, n.Text = end, string(r.text[start:end])
	switch c := r.text[start]; c {
	case '"':
		n.Kind = String
		n.Text, _ = jsonscan.Unquote(r.text[start:end])
	case 't', 'f':
		n.Kind = Bool
	case 'n':
		n.Kind = Null
	default:
		n.Kind = Number
	}
	return n, nil
}

// begin returns a node that begins at an offset.
func (r *jsonReader) begin(kind Kind, at int) *Node {
	n := &Node{Kind: kind, Start: at}
	if r.limits.document {
		n.Line, n.Column = r.place.move(r.text, at)
	}
	return n
}

func (r *jsonReader) scanFault(err error) error {
	if e, ok := err.(*jsonscan.Error); ok {
		r.at = e.Offset
		if e.Offset >= len(r.text) || bytes.HasPrefix([]byte(e.Reason), []byte("unexpected")) {
			return r.unexpected()
		}
		return r.fail(e.Offset, e.Reason, "")
	}
	return r.fail(r.at, err.Error(), "")
}

func (r *jsonReader) object(pointer string, depth int) (*Node, error) {
	n := r.begin(Object, r.at)
	r.at++
	seen := map[string]bool{}
	for {
		done, err := r.next('}', len(n.Members) > 0)
		if done || err != nil {
			n.End = r.at
			return n, err
		}
		m := Member{KeyStart: r.at}
		if r.limits.document {
			m.Line, m.Column = r.place.move(r.text, r.at)
		}
		if r.text[r.at] != '"' {
			return nil, r.unexpected()
		}
		if m.KeyEnd, err = jsonscan.Value(r.text, r.at); err != nil {
			return nil, r.scanFault(err)
		}
		m.Key, _ = jsonscan.Unquote(r.text[m.KeyStart:m.KeyEnd])
		r.at = m.KeyEnd
		if err := r.space(); err != nil {
			return nil, err
		}
		if r.at >= len(r.text) || r.text[r.at] != ':' {
			return nil, r.unexpected()
		}
		r.at++
		if err := r.space(); err != nil {
			return nil, err
		}
		below := r.limits.below(pointer, m.Key)
		if seen[m.Key] {
			twice := r.limits.duplicate(m.KeyStart, m.Key, below)
			if r.limits.document {
				return nil, &fault{twice}
			}
			r.problems = append(r.problems, twice)
		}
		seen[m.Key] = true
		if m.Value, err = r.value(below, depth); err != nil {
			return nil, err
		}
		n.Members = append(n.Members, m)
	}
}

func (r *jsonReader) array(pointer string, depth int) (*Node, error) {
	n := r.begin(Array, r.at)
	r.at++
	for {
		done, err := r.next(']', len(n.Items) > 0)
		if done || err != nil {
			n.End = r.at
			return n, err
		}
		item, err := r.value(r.limits.below(pointer, strconv.Itoa(len(n.Items))), depth)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
}

// next advances to the next element, or past the closing bracket.
func (r *jsonReader) next(closing byte, comma bool) (done bool, err error) {
	if err := r.space(); err != nil {
		return false, err
	}
	trailing := -1
	if comma && r.at < len(r.text) && r.text[r.at] == ',' {
		comma, trailing = false, r.at
		r.at++
		if err := r.space(); err != nil {
			return false, err
		}
	}
	if r.at >= len(r.text) {
		return false, r.unexpected()
	}
	if r.text[r.at] == closing {
		if trailing >= 0 && !r.comments {
			return false, r.fail(trailing, "JSON has no comma behind the last element",
				"take the comma out, or name the file .jsonc")
		}
		r.at++
		return true, nil
	}
	if comma {
		err := r.unexpected().(*fault)
		err.Hint = "a comma is missing in front of it"
		return false, err
	}
	return false, nil
}

// cursor is a place in a text. Offsets only grow, so lines are counted in a single pass.
type cursor struct{ at, line, column int }

// move advances to an offset and returns its line and column.
func (c *cursor) move(text []byte, to int) (line, column int) {
	for c.at < to {
		if text[c.at] == '\n' {
			c.at, c.line, c.column = c.at+1, c.line+1, 1
			continue
		}
		_, size := utf8.DecodeRune(text[c.at:])
		c.at += size
		c.column++
	}
	return c.line, c.column
}
