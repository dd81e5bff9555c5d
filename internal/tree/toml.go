package tree

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlReader builds the tree from the expressions of the parser.
type tomlReader struct {
	// text is the whole file, which offsets refer to.
	text  []byte
	skip  int // bytes of a byte order mark
	nodes int

	// The remaining fields detect duplicate names (TOML 1.0, "Table").
	forms    map[*Node]tomlForm
	named    map[*Node]map[string]*Node // the members of each table
	under    *Path                      // the current table
	problems []Problem
	starts   []int // of the expressions read so far
	headers  []int // the headers among them, by index
	spoilt   []int // those with a duplicate name, by index
}

// tomlForm is how a table was created, which determines what may be added to it.
type tomlForm uint8

const (
	implied tomlForm = iota // by a header of a table below it
	headed                  // by its own header
	dotted                  // by a dotted key
	inline                  // in braces
	listed                  // a list of tables, by headers
)

// parseTOML reads a text. The go-toml decoder detects every fault but stops at the first
// one; the expression parser continues and knows positions. The decoder therefore runs
// first, and if it only reports a duplicate name, the parser finds all duplicates.
func parseTOML(text []byte) (*Node, []Problem) {
	r := &tomlReader{
		text:  text,
		forms: map[*Node]tomlForm{},
		named: map[*Node]map[string]*Node{},
	}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		r.skip = 3
	}
	body := text[r.skip:]
	fault := r.decode(body)
	if fault != nil && !fault.Duplicate {
		return nil, []Problem{*fault}
	}
	root, failed := r.read(body)
	switch {
	case failed != nil:
		return nil, append(r.problems, *failed)
	case fault == nil:
		return root, nil
	case r.problems == nil: // a rule of the decoder that the parser lacks
		return nil, []Problem{*fault}
	}
	// Consequences of the duplicates were already reported.
	second := r.decode(r.without(body))
	if second != nil && !second.Duplicate {
		return nil, append(r.problems, *second)
	}
	return root, r.problems
}

// decode returns the fault at which the decoder stops, or nil.
func (r *tomlReader) decode(body []byte) *Problem {
	var whole map[string]any
	if err := toml.Unmarshal(body, &whole); err != nil {
		p := r.syntax(err)
		return &p
	}
	return nil
}

// read builds the tree and records duplicate names.
func (r *tomlReader) read(body []byte) (root *Node, failed *Problem) {
	f := catch(func() { root, failed = r.expressions(body) })
	if f != nil {
		return nil, &f.Problem
	}
	return root, failed
}

// expressions reads all headers and keys. The library's decoder would lose their order and
// positions.
func (r *tomlReader) expressions(body []byte) (*Node, *Problem) {
	root := &Node{Kind: Object}
	table := root
	p := &unstable.Parser{}
	p.Reset(body)
	for p.NextExpression() {
		e := p.Expression()
		before := len(r.problems)
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			r.begin(e)
			r.headers = append(r.headers, len(r.starts)-1)
			table = r.table(root, e)
		case unstable.KeyValue:
			r.begin(e)
			r.keyValue(table, e, r.under, 0)
		}
		if len(r.problems) > before {
			r.spoilt = append(r.spoilt, len(r.starts)-1)
		}
	}
	if err := p.Error(); err != nil {
		failed := r.syntax(err)
		var parsing *unstable.ParserError
		if errors.As(err, &parsing) && len(parsing.Highlight) > 0 {
			failed.Offset = int(p.Range(parsing.Highlight).Offset) + r.skip
		}
		return nil, &failed
	}
	return root, nil
}

// begin records the start of an expression, which has a line to itself.
func (r *tomlReader) begin(e *unstable.Node) {
	keys := e.Key()
	keys.Next()
	start, _ := r.span(keys.Node())
	line := bytes.LastIndexByte(r.text[:start], '\n') + 1
	r.starts = append(r.starts, max(r.skip, line))
}

// without returns the text with duplicates blanked: for a table, all of its content.
func (r *tomlReader) without(body []byte) []byte {
	out := bytes.Clone(body)
	for _, i := range r.spoilt {
		next := i + 1
		if slices.Contains(r.headers, i) {
			for next < len(r.starts) && !slices.Contains(r.headers, next) {
				next++
			}
		}
		end := len(r.text)
		if next < len(r.starts) {
			end = r.starts[next]
		}
		for k := r.starts[i] - r.skip; k < end-r.skip; k++ {
			if out[k] != '\n' {
				out[k] = ' '
			}
		}
	}
	return out
}

// twice records a duplicate name.
func (r *tomlReader) twice(key *unstable.Node, at *Path) {
	start, _ := r.span(key)
	r.problems = definitions().repeat(r.problems, start, at)
}

// syntax converts an error of the library into a problem with its offset.
func (r *tomlReader) syntax(err error) Problem {
	var decoding *toml.DecodeError
	text := strings.TrimPrefix(err.Error(), "toml: ")
	if !errors.As(err, &decoding) {
		return Problem{Message: text}
	}
	line, column := decoding.Position()
	starts := lineStarts(r.text)
	at := len(r.text)
	if 1 <= line && line <= len(starts) {
		at = min(len(r.text), starts[line-1]+column-1)
		if line == 1 {
			at = min(len(r.text), at+r.skip)
		}
	}
	twice := strings.Contains(text, "already") ||
		strings.Contains(text, "duplicate") ||
		strings.Contains(text, "should be a table")
	var name *Path
	for _, key := range decoding.Key() {
		name = name.Member(key)
	}
	return Problem{
		Offset:    at,
		Message:   text,
		Duplicate: twice,
		at:        name,
	}
}

// span returns the range of a parser node in the text.
func (r *tomlReader) span(n *unstable.Node) (start, end int) {
	start = int(n.Raw.Offset) + r.skip
	return start, start + int(n.Raw.Length)
}

// add appends a member.
func (r *tomlReader) add(n *Node, key *unstable.Node, value *Node) *Node {
	if r.named[n] == nil {
		r.named[n] = map[string]*Node{}
	}
	r.named[n][string(key.Data)] = value
	start, end := r.span(key)
	n.Members = append(n.Members, Member{
		Key:      string(key.Data),
		Value:    value,
		KeyStart: start,
		KeyEnd:   end,
	})
	return value
}

// descend returns the table called key in n, which is at the path at, and the path
// of that table. A missing table is created. In a list of tables, it is the last one. If
// the name is taken by another kind of value, the result is a separate table, so that its
// content is checked too.
func (r *tomlReader) descend(
	n *Node,
	at *Path,
	key *unstable.Node,
	form tomlForm,
) (*Node, *Path) {
	at = at.Member(string(key.Data))
	child := r.named[n][string(key.Data)]
	switch {
	case child == nil:
	case form == implied && r.forms[child] == listed:
		last := len(child.Items) - 1
		return child.Items[last], at.Item(last)
	case child.Kind == Object &&
		(r.forms[child] == dotted || form == implied && r.forms[child] != inline):
		return child, at
	default:
		r.twice(key, at)
	}
	start, _ := r.span(key)
	made := &Node{
		Kind:  Object,
		Start: start,
	}
	r.forms[made] = form
	return r.add(n, key, made), at
}

// table returns the table that a header begins.
func (r *tomlReader) table(root *Node, e *unstable.Node) *Node {
	n := root
	var at *Path
	keys := e.Key()
	for keys.Next() {
		switch key := keys.Node(); {
		case !keys.IsLast():
			n, at = r.descend(n, at, key, implied)
		case e.Kind == unstable.Table:
			n, at = r.header(n, at, key)
		default:
			n, at = r.item(n, at, key)
		}
	}
	r.under = at
	return n
}

// header returns the table that a header in single brackets begins.
func (r *tomlReader) header(n *Node, at *Path, key *unstable.Node) (*Node, *Path) {
	at = at.Member(string(key.Data))
	child := r.named[n][string(key.Data)]
	if child == nil || child.Kind != Object || r.forms[child] != implied {
		if child != nil {
			r.twice(key, at)
		}
		start, _ := r.span(key)
		child = r.add(n, key, &Node{
			Kind:  Object,
			Start: start,
		})
	}
	r.forms[child] = headed
	return child, at
}

// item returns the table that a header in double brackets begins.
func (r *tomlReader) item(n *Node, at *Path, key *unstable.Node) (*Node, *Path) {
	at = at.Member(string(key.Data))
	start, _ := r.span(key)
	list := r.named[n][string(key.Data)]
	if list == nil || r.forms[list] != listed {
		if list != nil {
			r.twice(key, at)
		}
		list = r.add(n, key, &Node{
			Kind:  Array,
			Start: start,
		})
		r.forms[list] = listed
	}
	made := &Node{
		Kind:  Object,
		Start: start,
	}
	r.forms[made] = headed
	list.Items = append(list.Items, made)
	return made, at.Item(len(list.Items) - 1)
}

// keyValue adds a value to the table n, which is at the path at.
func (r *tomlReader) keyValue(n *Node, e *unstable.Node, at *Path, depth int) {
	keys := e.Key()
	for keys.Next() {
		key := keys.Node()
		if !keys.IsLast() {
			n, at = r.descend(n, at, key, dotted)
			continue
		}
		at = at.Member(string(key.Data))
		_, end := r.span(key)
		value := r.value(e.Value(), at, depth+1)
		if value.Start < end {
			value.Start = end
		}
		if r.named[n][string(key.Data)] != nil {
			r.twice(key, at)
		}
		r.add(n, key, value)
	}
}

// value converts a value. Dates become strings, as JSON has none.
func (r *tomlReader) value(v *unstable.Node, at *Path, depth int) *Node {
	n := &Node{
		Kind: String,
		Text: string(v.Data),
	}
	n.Start, n.End = r.span(v)
	if r.nodes++; r.nodes > definitions().nodes || depth > definitions().depth {
		panic(failure(n.Start, definitions().tooMany(), ""))
	}
	switch v.Kind {
	case unstable.Bool:
		n.Kind = Bool
	case unstable.Integer:
		i, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 0, 64)
		if err == nil {
			n.Kind = Number
			n.Text = strconv.FormatInt(i, 10)
		}
	case unstable.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Text, "_", ""), 64)
		if err == nil && !strings.ContainsAny(n.Text, "in") {
			n.Kind = Number
			n.Text = strconv.FormatFloat(f, 'g', -1, 64)
		}
	case unstable.Array:
		n.Kind = Array
		n.Text = ""
		children := v.Children()
		for children.Next() {
			if children.Node().Kind == unstable.Comment {
				continue
			}
			n.Items = append(n.Items, r.value(children.Node(), at.Item(len(n.Items)), depth+1))
		}
	case unstable.InlineTable:
		n.Kind = Object
		n.Text = ""
		r.forms[n] = inline
		children := v.Children()
		for children.Next() {
			if children.Node().Kind == unstable.Comment {
				continue
			}
			r.keyValue(n, children.Node(), at, depth+1)
		}
	}
	return n
}
