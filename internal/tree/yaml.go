package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// yamlReader converts the nodes of the YAML parser to ours.
type yamlReader struct {
	// text is the whole file, which offsets refer to.
	text     []byte
	lines    []int  // where each line begins
	last     cursor // the last place that was looked up
	limits   limits
	problems []Problem
	// known holds the completed nodes with an anchor, so that an alias inside its own anchor
	// is an error.
	known map[*yaml.Node]*Node
}

// parseYAML reads one YAML document of plain data: strings, numbers, booleans, lists and
// mappings.
func parseYAML(text []byte, l limits) (root *Node, problems []Problem) {
	// A YAML parser is complex enough to panic in corner cases; an untrusted document must
	// not crash the program.
	defer func() {
		if recover() != nil {
			root = nil
			problems = []Problem{{Offset: unplaced, Message: "invalid YAML"}}
		}
	}()
	r := &yamlReader{
		text:   text,
		lines:  lineStarts(text),
		limits: l,
		known:  map[*yaml.Node]*Node{},
	}
	var doc, second yaml.Node
	lines := &lineReader{text: text}
	dec := yaml.NewDecoder(lines)
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, []Problem{r.syntax(err, lines)}
	}
	if l.document {
		// The first document counts.
	} else if err := dec.Decode(&second); err == nil {
		return nil, []Problem{{Offset: r.offset(second.Line, second.Column),
			Message: "a second document in one file", Hint: "put it into a file of its own"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, []Problem{r.syntax(err, lines)}
	}
	if len(doc.Content) == 0 {
		return &Node{
			Kind:   Null,
			Start:  len(text),
			Line:   1,
			Column: 1,
		}, nil
	}
	f := catch(func() {
		root = r.node(doc.Content[0], nil, 0)
		r.measure(root, 0, map[*Node]int{})
	})
	if f != nil {
		return nil, append(r.problems, f.Problem)
	}
	return root, r.problems
}

// unplaced is the Offset of a problem whose place is unknown.
const unplaced = -1

// measure verifies the limits that require the complete document, and returns the number
// of nodes, those of aliases counted at every use. sizes holds the results for shared
// nodes.
func (r *yamlReader) measure(n *Node, depth int, sizes map[*Node]int) int {
	if depth > r.limits.depth {
		panic(failure(n.Start, r.limits.tooDeep(), ""))
	}
	if size, ok := sizes[n]; ok || n.Kind < Array {
		return max(size, 1)
	}
	total := 1
	add := func(below *Node) {
		if total += r.measure(below, depth+1, sizes); total > r.limits.nodes {
			panic(failure(unplaced, r.limits.tooMany(), ""))
		}
	}
	for _, item := range n.Items {
		add(item)
	}
	for _, m := range n.Members {
		add(m.Value)
	}
	sizes[n] = total
	return total
}

// lineStarts returns the offset of each line.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// lineReader gives the parser one line per Read. The parser reads no further than it needs, so when it stops,
// the last line is the one it stopped at: its message names the line on which the surrounding mapping or list
// begins, and counts from 0 or 1.
type lineReader struct {
	text  []byte
	at    int
	lines int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if r.at == len(r.text) {
		return 0, io.EOF
	}
	if r.at == 0 || r.text[r.at-1] == '\n' {
		r.lines++
	}
	rest := r.text[r.at:]
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end+1]
	}
	n := copy(p, rest)
	r.at += n
	return n, nil
}

// unclosedQuote is the parser's message about a quoted text without an end. Its line is where the text begins.
const unclosedQuote = "found unexpected end of stream"

// syntaxHints explain messages of the parser that do not say what to change.
var syntaxHints = map[string]string{
	"found character that cannot start any token":    "indent with spaces, and quote a value that begins with @, ` or %",
	"did not find expected node content":             "separate the items between [ and ], or { and }, with commas",
	"did not find expected key":                      "align the line with the members above it",
	"did not find expected '-' indicator":            "align the line with the items above it",
	"did not find expected ',' or '}'":               "close the { before this line with }, or add a comma",
	"did not find expected ',' or ']'":               "close the [ before this line with ], or add a comma",
	"mapping values are not allowed in this context": "quote a value that contains a colon, and align members",
	"could not find expected ':'":                    "write NAME: VALUE, with a space after the colon",
	unclosedQuote:                                    "close the quote that begins here",
}

// syntax returns the problem that the parser stopped at.
func (r *yamlReader) syntax(err error, read *lineReader) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	if text != unclosedQuote || line == 0 {
		line = read.lines
	}
	p := Problem{
		Offset:  r.offset(line, 1),
		Message: text,
		Hint:    syntaxHints[text],
	}
	for p.Offset < len(r.text) && r.text[p.Offset] == ' ' {
		p.Offset++
	}
	return p
}

// offset converts a line and a column, counted in characters from 1, to a byte offset. It
// continues from the last place if possible, since a document may be one long line.
func (r *yamlReader) offset(line, column int) int {
	if line < 1 || line > len(r.lines) {
		return len(r.text)
	}
	c := cursor{r.lines[line-1], line, 1}
	if r.last.line == line && r.last.column <= column {
		c = r.last
	} else if line == 1 && bytes.HasPrefix(r.text, []byte("\ufeff")) {
		c.at = len("\ufeff")
	}
	for ; c.column < column && c.at < len(r.text) && r.text[c.at] != '\n'; c.column++ {
		_, size := utf8.DecodeRune(r.text[c.at:])
		c.at += size
	}
	r.last = c
	return c.at
}

// node converts a node, and everything below it within the limits.
func (r *yamlReader) node(y *yaml.Node, at *Path, depth int) *Node {
	n := &Node{
		Start:  r.offset(y.Line, y.Column),
		Line:   y.Line,
		Column: y.Column,
	}
	if depth > r.limits.depth {
		panic(failure(n.Start, r.limits.tooDeep(), ""))
	}
	if y.Kind == yaml.AliasNode {
		return r.alias(y, n)
	}
	switch y.Kind {
	case yaml.SequenceNode:
		n.Kind = Array
		for i, item := range y.Content {
			n.Items = append(n.Items, r.node(item, at.Item(i), depth+1))
		}
	case yaml.MappingNode:
		n.Kind = Object
		r.mapping(n, y, at, depth)
	default:
		r.scalar(n, y)
	}
	if y.Anchor != "" {
		r.known[y] = n
	}
	return n
}

// alias returns the value of an alias. For [Parse], it is where the alias is.
func (r *yamlReader) alias(y *yaml.Node, at *Node) *Node {
	target := r.known[y.Alias]
	if target == nil {
		panic(failure(at.Start,
			fmt.Sprintf("the alias *%s has no anchor before it", y.Value), ""))
	}
	if r.limits.document {
		return target
	}
	copied := *target
	copied.Start = at.Start
	copied.Line = at.Line
	copied.Column = at.Column
	return &copied
}

// mapping converts a mapping, with the members that merge keys (<<) inherit after its own.
func (r *yamlReader) mapping(n *Node, y *yaml.Node, at *Path, depth int) {
	seen := make(map[string]bool, len(y.Content)/2)
	var inherited []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		value := y.Content[i+1]
		m := Member{
			KeyStart: r.offset(key.Line, key.Column),
			Line:     key.Line,
			Column:   key.Column,
		}
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			panic(failure(m.KeyStart, "a name must be a plain value", ""))
		}
		m.Key, m.KeyEnd = key.Value, m.KeyStart+len(key.Value)
		below := at.Member(m.Key)
		m.Value = r.node(value, below, depth+1)
		if key.Tag == "!!merge" {
			inherited = append(inherited, m.Value)
			continue
		}
		if seen[m.Key] {
			r.problems = r.limits.repeat(r.problems, m.KeyStart, below)
		}
		seen[m.Key] = true
		n.Members = append(n.Members, m)
	}
	for _, from := range inherited {
		inherited = append(inherited, from.Items...)
	}
	for _, from := range inherited {
		for _, m := range from.Members { // for "<<", existing members win
			if !seen[m.Key] {
				seen[m.Key] = true
				n.Members = append(n.Members, m)
			}
		}
	}
}

// scalar determines the kind of a plain value according to the core schema of YAML 1.2.
func (r *yamlReader) scalar(n *Node, y *yaml.Node) {
	n.Kind = String
	n.Text = y.Value
	switch y.ShortTag() {
	case "!!null":
		n.Kind = Null
		n.Text = ""
	case "!!bool":
		// on, off, yes and no are strings in YAML 1.2, and this parser tags them as strings.
		lower := strings.ToLower(y.Value)
		if lower == "true" || lower == "false" {
			n.Kind = Bool
			n.Text = lower
		}
	case "!!int", "!!float":
		if literal := r.number(y); literal != "" {
			n.Kind = Number
			n.Text = literal
		}
	}
}

// number returns a YAML number as a JSON literal, unchanged if it is valid JSON, and ""
// for infinities. Documents have no numbers of YAML 1.1, such as 1_000, which this parser
// accepts but other parsers treat as strings.
func (r *yamlReader) number(y *yaml.Node) string {
	if jsonscan.Valid([]byte(y.Value)) == nil {
		return y.Value
	}
	written := strings.TrimPrefix(y.Value, "+")
	based := strings.HasPrefix(written, "0x") || strings.HasPrefix(written, "0o")
	if !r.limits.document || based {
		var i int64
		if y.ShortTag() == "!!int" && y.Decode(&i) == nil {
			return strconv.FormatInt(i, 10)
		}
	}
	if r.limits.document && (based || strings.Trim(written, "+-.0123456789eE") != "") {
		return ""
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(written, "_", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) ||
		y.ShortTag() == "!!int" && !r.limits.document {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
