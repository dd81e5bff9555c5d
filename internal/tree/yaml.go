package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlReader converts the nodes of the YAML parser to ours.
type yamlReader struct {
	text     []byte
	lines    []int // where each line begins
	nodes    int
	problems []Problem
}

func parseYAML(text []byte) (*Node, []Problem) {
	r := &yamlReader{text: text, lines: lineStarts(text)}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return &Node{Kind: Null, Start: len(text)}, nil
		}
		return nil, []Problem{r.syntax(err)}
	}
	if err := dec.Decode(&second); err == nil {
		return nil, []Problem{{Offset: r.offset(second.Line, second.Column),
			Message: "a second document in one file", Hint: "put it into a file of its own"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, []Problem{r.syntax(err)}
	}
	if len(doc.Content) == 0 {
		return &Node{Kind: Null, Start: len(text)}, nil
	}
	n, err := r.node(doc.Content[0], "", 0)
	if f, ok := err.(*fault); ok {
		return nil, []Problem{f.Problem}
	}
	return n, r.problems
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// syntax extracts the line from the parser's message, the only place that contains it.
func (r *yamlReader) syntax(err error) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	return Problem{Offset: r.offset(line, 1), Message: text}
}

// offset converts a line and a column, counted in characters from 1, to a byte offset.
func (r *yamlReader) offset(line, column int) int {
	if line < 1 || line > len(r.lines) {
		return len(r.text)
	}
	at := r.lines[line-1]
	if line == 1 && bytes.HasPrefix(r.text, []byte("\ufeff")) {
		at = 3
	}
	for ; column > 1 && at < len(r.text) && r.text[at] != '\n'; column-- {
		_, size := utf8.DecodeRune(r.text[at:])
		at += size
	}
	return at
}

func (r *yamlReader) node(y *yaml.Node, pointer string, depth int) (*Node, error) {
	at := r.offset(y.Line, y.Column)
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, &fault{Problem{Offset: at, Message: "too many values, or nested too deeply"}}
	}
	n := &Node{Start: at}
	switch y.Kind {
	case yaml.AliasNode:
		if y.Alias == nil {
			return n, nil
		}
		target, err := r.node(y.Alias, pointer, depth+1)
		if err != nil {
			return nil, err
		}
		target.Start = at
		return target, nil
	case yaml.SequenceNode:
		n.Kind = Array
		for i, item := range y.Content {
			below, err := r.node(item, fmt.Sprintf("%s/%d", pointer, i), depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, below)
		}
	case yaml.MappingNode:
		n.Kind = Object
		return n, r.mapping(n, y, pointer, depth)
	default:
		scalar(n, y)
	}
	return n, nil
}

func (r *yamlReader) mapping(n *Node, y *yaml.Node, pointer string, depth int) error {
	seen := map[string]bool{}
	var inherited []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		at := r.offset(key.Line, key.Column)
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return &fault{Problem{Offset: at, Message: "a name must be a plain value"}}
		}
		below := pointerTo(pointer, key.Value)
		node, err := r.node(value, below, depth+1)
		if err != nil {
			return err
		}
		if key.Tag == "!!merge" {
			inherited = append(inherited, node)
			continue
		}
		if seen[key.Value] {
			r.problems = append(r.problems, duplicate(at, key.Value, below))
		}
		seen[key.Value] = true
		n.Members = append(n.Members, Member{Key: key.Value, Value: node, KeyStart: at, KeyEnd: at + len(key.Value)})
	}
	for _, from := range inherited {
		if from.Kind == Array {
			inherited = append(inherited, from.Items...)
		}
	}
	for _, from := range inherited {
		for _, m := range from.Members { // for "<<", existing members win
			if n.Get(m.Key) == nil {
				n.Members = append(n.Members, m)
			}
		}
	}
	return nil
}

// scalar determines the kind of a plain value according to the core schema of YAML 1.2.
func scalar(n *Node, y *yaml.Node) {
	n.Kind, n.Text = String, y.Value
	if (y.Tag == "!!int" || y.Tag == "!!float") && json.Valid([]byte(y.Value)) {
		n.Kind = Number // already valid JSON: keep all digits
		return
	}
	switch y.Tag {
	case "!!null":
		n.Kind, n.Text = Null, ""
	case "!!bool":
		n.Kind, n.Text = Bool, strings.ToLower(y.Value)
	case "!!int":
		var v int64
		if y.Decode(&v) == nil {
			n.Kind, n.Text = Number, strconv.FormatInt(v, 10)
		}
	case "!!float":
		var v float64
		if y.Decode(&v) == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			n.Kind, n.Text = Number, strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
}
