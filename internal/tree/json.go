package tree

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// jsonReader reads JSON, or JSONC if comments is set.
type jsonReader struct {
	text     []byte
	at       int
	comments bool
	problems []Problem
}

// fault is a problem that aborts reading.
type fault struct{ Problem }

func (f *fault) Error() string { return f.Message }

func parseJSON(text []byte, comments bool) (*Node, []Problem) {
	r := &jsonReader{text: text, comments: comments}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		r.at = 3
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
	if depth > maxDepth {
		return nil, r.fail(r.at, "nested too deeply", "")
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
	n := &Node{Start: start, End: end, Text: string(r.text[start:end])}
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
	n := &Node{Kind: Object, Start: r.at}
	r.at++
	seen := map[string]bool{}
	for {
		done, err := r.next('}', len(n.Members) > 0)
		if done || err != nil {
			n.End = r.at
			return n, err
		}
		m := Member{KeyStart: r.at}
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
		below := pointerTo(pointer, m.Key)
		if seen[m.Key] {
			r.problems = append(r.problems, duplicate(m.KeyStart, m.Key, below))
		}
		seen[m.Key] = true
		if m.Value, err = r.value(below, depth); err != nil {
			return nil, err
		}
		n.Members = append(n.Members, m)
	}
}

func duplicate(at int, key, pointer string) Problem {
	return Problem{Offset: at, Message: fmt.Sprintf("the name %q is given twice", key),
		Hint: "most readers would use the last one only; give each its own name", Duplicate: true, Pointer: pointer}
}

func (r *jsonReader) array(pointer string, depth int) (*Node, error) {
	n := &Node{Kind: Array, Start: r.at}
	r.at++
	for {
		done, err := r.next(']', len(n.Items) > 0)
		if done || err != nil {
			n.End = r.at
			return n, err
		}
		item, err := r.value(fmt.Sprintf("%s/%d", pointer, len(n.Items)), depth)
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
