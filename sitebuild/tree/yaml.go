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

// parseYAML parses the first document of a YAML text.
func parseYAML(text []byte) (root *Node, err error) {
	// A YAML parser is complex enough to panic in corner cases; an untrusted document
	// must not crash the program.
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

// yamlError extracts the line number from the error text, which is the only place it
// appears.
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

// yamlReader converts the parser's nodes.
type yamlReader struct {
	// known holds the completed nodes with an anchor. nil marks one that is still being
	// read, so that an alias inside its own anchor is an error.
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
		// Response names are often the number 200.
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

// merge adds the members merged with "<<"; existing names win.
func (n *Node) merge(source *Node, names map[string]bool) {
	for _, m := range source.Fields() {
		if !names[m.Name] {
			names[m.Name] = true
			n.Members = append(n.Members, m)
		}
	}
}

// plain sets n to a scalar.
func (n *Node) plain(from *yaml.Node) {
	n.Kind, n.Text = String, from.Value
	switch from.ShortTag() {
	case "!!null":
		n.Kind, n.Text = Null, "null"
	case "!!bool":
		// on, off, yes and no are strings in YAML 1.2, and this parser tags them as
		// strings.
		if lower := strings.ToLower(from.Value); lower == "true" || lower == "false" {
			n.Kind, n.Text = Bool, lower
		}
	case "!!int", "!!float":
		if literal := number(from.Value); literal != "" {
			n.Kind, n.Text = Number, literal
		}
	}
}

// number returns a YAML number as a JSON literal, unchanged if it is valid JSON. It
// returns "" for infinities and for YAML 1.1 numbers such as 1_000, which this parser
// accepts but other parsers treat as strings.
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
