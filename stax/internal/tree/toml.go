package tree

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlReader builds the tree out of the parser's expressions.
type tomlReader struct {
	text  []byte
	skip  int // bytes of a byte order mark
	nodes int
}

func parseTOML(text []byte) (*Node, []Problem) {
	r := &tomlReader{text: text}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		r.skip = 3
	}
	body := text[r.skip:]
	// The decoder knows which tables may not be given twice; the parser of
	// expressions knows places.
	var whole map[string]any
	if err := toml.Unmarshal(body, &whole); err != nil {
		return nil, []Problem{r.syntax(err)}
	}
	root := &Node{Kind: Object}
	table := root
	p := &unstable.Parser{}
	p.Reset(body)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = r.table(root, e)
		case unstable.KeyValue:
			if err := r.keyValue(table, e, 0); err != nil {
				return nil, []Problem{err.(*fault).Problem}
			}
		}
	}
	if err := p.Error(); err != nil {
		return nil, []Problem{r.syntax(err)}
	}
	return root, nil
}

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
	twice := strings.Contains(text, "already") || strings.Contains(text, "duplicate") || strings.Contains(text, "redefin")
	pointer := ""
	for _, key := range decoding.Key() {
		pointer = pointerTo(pointer, key)
	}
	return Problem{Offset: at, Message: text, Duplicate: twice, Pointer: pointer}
}

// span returns the bytes of a node of the parser in our text.
func (r *tomlReader) span(n *unstable.Node) (start, end int) {
	start = int(n.Raw.Offset) + r.skip
	return start, start + int(n.Raw.Length)
}

// descend returns the object called key below n, made if it is missing. Of a
// list of tables it is the last.
func (r *tomlReader) descend(n *Node, key *unstable.Node) *Node {
	name := string(key.Data)
	start, end := r.span(key)
	child := n.Get(name)
	if child == nil {
		child = &Node{Kind: Object, Start: start}
		n.Members = append(n.Members, Member{Key: name, Value: child, KeyStart: start, KeyEnd: end})
	}
	if child.Kind == Array && len(child.Items) > 0 {
		child = child.Items[len(child.Items)-1]
	}
	return child
}

func (r *tomlReader) table(root *Node, e *unstable.Node) *Node {
	n := root
	keys := e.Key()
	for keys.Next() {
		key := keys.Node()
		if e.Kind == unstable.Table || !keys.IsLast() {
			n = r.descend(n, key)
			continue
		}
		name := string(key.Data)
		start, end := r.span(key)
		list := n.Get(name)
		if list == nil {
			list = &Node{Kind: Array, Start: start}
			n.Members = append(n.Members, Member{Key: name, Value: list, KeyStart: start, KeyEnd: end})
		}
		n = &Node{Kind: Object, Start: start}
		list.Items = append(list.Items, n)
	}
	return n
}

func (r *tomlReader) keyValue(n *Node, e *unstable.Node, depth int) error {
	keys := e.Key()
	for keys.Next() {
		key := keys.Node()
		if !keys.IsLast() {
			n = r.descend(n, key)
			continue
		}
		start, end := r.span(key)
		value, err := r.value(e.Value(), depth+1)
		if err != nil {
			return err
		}
		if value.Start < end {
			value.Start = end
		}
		n.Members = append(n.Members, Member{Key: string(key.Data), Value: value, KeyStart: start, KeyEnd: end})
	}
	return nil
}

func (r *tomlReader) value(v *unstable.Node, depth int) (*Node, error) {
	n := &Node{Kind: String, Text: string(v.Data)}
	n.Start, n.End = r.span(v)
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, &fault{Problem{Offset: n.Start, Message: "too many values, or nested too deeply"}}
	}
	switch v.Kind {
	case unstable.Bool:
		n.Kind = Bool
	case unstable.Integer:
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 0, 64); err == nil {
			n.Kind, n.Text = Number, strconv.FormatInt(i, 10)
		}
	case unstable.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Text, "_", ""), 64)
		if err == nil && !strings.ContainsAny(n.Text, "in") {
			n.Kind, n.Text = Number, strconv.FormatFloat(f, 'g', -1, 64)
		}
	case unstable.Array:
		n.Kind, n.Text = Array, ""
		children := v.Children()
		for children.Next() {
			if children.Node().Kind == unstable.Comment {
				continue
			}
			item, err := r.value(children.Node(), depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
	case unstable.InlineTable:
		n.Kind, n.Text = Object, ""
		children := v.Children()
		for children.Next() {
			if children.Node().Kind == unstable.Comment {
				continue
			}
			if err := r.keyValue(n, children.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}
