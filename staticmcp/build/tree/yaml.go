package tree

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// parseYAML reads the first document of a YAML text.
func parseYAML(text []byte) (root *Node, err error) {
	// A parser of a language this size has corners that panic; a document from
	// outside must not end the program.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, &Error{Message: "this YAML cannot be read"}
		}
	}()
	if !utf8.Valid(text) {
		return nil, &Error{Message: "the text is not UTF-8"}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, yamlError(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return &Node{Kind: Null, Text: "null", Line: 1, Column: 1}, nil
	}
	r := &yamlReader{known: map[*yaml.Node]*Node{}}
	if root, err = r.value(doc.Content[0], 0); err != nil {
		return nil, err
	}
	if _, err := root.measure(0, map[*Node]int{}); err != nil {
		return nil, err
	}
	return root, nil
}

// yamlError takes the line out of the text of an error: it stands nowhere else.
func yamlError(err error) *Error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var types *yaml.TypeError
	if errors.As(err, &types) && len(types.Errors) > 0 {
		text = types.Errors[0]
	}
	rest, found := strings.CutPrefix(text, "line ")
	number, message, cut := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(number)
	if !found || !cut || err != nil {
		return &Error{Message: text}
	}
	return &Error{Line: line, Column: 1, Message: message}
}

// yamlReader makes nodes of what the parser found.
type yamlReader struct {
	// known holds the nodes with an anchor that are complete; nil stands for one
	// that is being read, so that an alias inside of its own anchor is an error.
	known map[*yaml.Node]*Node
}

func (r *yamlReader) value(from *yaml.Node, depth int) (*Node, error) {
	n := &Node{Line: from.Line, Column: from.Column}
	if depth >= MaxDepth {
		return nil, &Error{n.Line, n.Column, fmt.Sprintf("arrays and objects nest deeper than %d", MaxDepth)}
	}
	if from.Kind == yaml.AliasNode {
		if target := r.known[from.Alias]; target != nil {
			return target, nil
		}
		return nil, &Error{n.Line, n.Column, fmt.Sprintf("the alias *%s stands for nothing that ends before it", from.Value)}
	}
	if from.Anchor != "" {
		r.known[from] = nil
	}
	var err error
	switch from.Kind {
	case yaml.MappingNode:
		n.Kind = Object
		err = r.members(n, from.Content, depth)
	case yaml.SequenceNode:
		n.Kind = Array
		for _, value := range from.Content {
			var child *Node
			if child, err = r.value(value, depth+1); err != nil {
				break
			}
			n.Items = append(n.Items, child)
		}
	default:
		n.plain(from)
	}
	if from.Anchor != "" && err == nil {
		r.known[from] = n
	}
	return n, err
}

func (r *yamlReader) members(n *Node, content []*yaml.Node, depth int) error {
	names := make(map[string]bool, len(content)/2)
	var merged []*Node
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i]
		m := Member{Line: key.Line, Column: key.Column}
		child, err := r.value(content[i+1], depth+1)
		if err != nil {
			return err
		}
		if key.Tag == "!!merge" {
			merged = append(merged, child)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return &Error{m.Line, m.Column, "a name must be a text"}
		}
		// The name of a response is often the number 200.
		if m.Name = key.Value; names[m.Name] {
			return &Error{m.Line, m.Column, fmt.Sprintf("%q is there twice", m.Name)}
		}
		names[m.Name] = true
		m.Value = child
		n.Members = append(n.Members, m)
	}
	for _, source := range merged {
		n.merge(source, names)
		for _, item := range source.Elements() {
			n.merge(item, names)
		}
	}
	return nil
}

// merge adds what "<<" brings: names that are there already win.
func (n *Node) merge(source *Node, names map[string]bool) {
	for _, m := range source.Fields() {
		if !names[m.Name] {
			names[m.Name] = true
			n.Members = append(n.Members, m)
		}
	}
}

// plain makes n a scalar.
func (n *Node) plain(from *yaml.Node) {
	n.Kind, n.Text = String, from.Value
	switch from.ShortTag() {
	case "!!null":
		n.Kind, n.Text = Null, "null"
	case "!!bool":
		// on, off, yes and no are words in YAML 1.2, and this parser's tag says so.
		if lower := strings.ToLower(from.Value); lower == "true" || lower == "false" {
			n.Kind, n.Text = Bool, lower
		}
	case "!!int", "!!float":
		if literal := number(from.Value); literal != "" {
			n.Kind, n.Text = Number, literal
		}
	}
}

// number returns a number of YAML as a JSON literal: as it was written if JSON
// has it. Infinity gives "", and so do numbers of YAML 1.1 such as 1_000, which
// this parser takes and which are texts to everybody else.
func number(written string) string {
	if jsonscan.Valid([]byte(written)) == nil {
		return written
	}
	trimmed := strings.TrimPrefix(written, "+")
	if strings.HasPrefix(trimmed, "0x") || strings.HasPrefix(trimmed, "0o") {
		if i, err := strconv.ParseInt(trimmed, 0, 64); err == nil {
			return strconv.FormatInt(i, 10)
		}
		return ""
	}
	if strings.Trim(trimmed, "+-.0123456789eE") != "" {
		return ""
	}
	value, err := strconv.ParseFloat(trimmed, 64)
	if err != nil || math.IsInf(value, 0) {
		return ""
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
