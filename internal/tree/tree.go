// Package tree reads JSON, JSONC, YAML and TOML into a common tree. Its nodes record
// their byte positions, so that messages about a value can include its position, and
// edits can leave the rest of the file unchanged.
//
// Start with [Parse], or with [ReadDocument] for a file whose first fault is an error. A
// tree contains exactly what the file contains: members keep their
// order, numbers their digits, and a duplicate name is reported, not overwritten.
package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Format is the format of a file.
type Format uint8

// The formats that [Parse] reads.
const (
	JSON  Format = iota + 1 // RFC 8259, without extensions
	JSONC                   // JSON with comments and trailing commas
	YAML                    // YAML 1.2, one document
	TOML                    // TOML 1.0
)

// String returns the name of the format in its usual spelling.
func (f Format) String() string {
	names := [...]string{
		JSON:  "JSON",
		JSONC: "JSONC",
		YAML:  "YAML",
		TOML:  "TOML",
	}
	if f == 0 || int(f) >= len(names) {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return names[f]
}

// MarshalText implements encoding.TextMarshaler: the name in lower case.
func (f Format) MarshalText() ([]byte, error) {
	return []byte(strings.ToLower(f.String())), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Format) UnmarshalText(name []byte) error {
	for _, known := range []Format{JSON, JSONC, YAML, TOML} {
		if strings.EqualFold(known.String(), string(name)) {
			*f = known
			return nil
		}
	}
	return fmt.Errorf("unknown format %q", name)
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values, those of JSON.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind with its article, as in "a string".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Node is a value in a file.
type Node struct {
	Kind Kind
	// Text is the decoded text of a string, or the JSON form of a number or boolean.
	Text    string
	Members []Member // of an object, in the order of the file
	Items   []*Node  // of a list

	// Start and End are the byte range of the value in the text. End is 0 if the parser of
	// the format does not report it (YAML; tables of TOML).
	Start, End int
	// Line and Column locate Start, from 1, if [ReadDocument] read the value. Column counts
	// characters.
	Line, Column int
}

// Member is one name with its value.
type Member struct {
	// Key is the decoded name.
	Key   string
	Value *Node
	// KeyStart and KeyEnd are the byte range of the name, including quotes.
	KeyStart, KeyEnd int
	Line, Column     int // of KeyStart, as in [Node]
}

// Get returns the value at a path of member names, or nil. n may be nil.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		m := n.Member(key)
		if m == nil {
			return nil
		}
		n = m.Value
	}
	return n
}

// Member returns the member called key, or nil. If the name is repeated, the last one
// wins, as in most readers.
func (n *Node) Member(key string) *Member {
	if n == nil {
		return nil
	}
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Key == key {
			return &n.Members[i]
		}
	}
	return nil
}

// Find returns the node at a JSON pointer, and the position of the name of its member, or
// of the node itself if it has no name. If the node does not exist, Find returns nil and
// the position of its deepest existing ancestor.
func (n *Node) Find(pointer string) (found *Node, at int) {
	at = n.Start
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		token = jsonscan.UnescapeToken(token)
		switch n.Kind {
		case Object:
			m := n.Member(token)
			if m == nil {
				return nil, at
			}
			n = m.Value
			at = m.KeyStart
		case Array:
			i := -1
			_, err := fmt.Sscanf(token, "%d", &i)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil, at
			}
			n, at = n.Items[i], n.Items[i].Start
		default:
			return nil, at
		}
	}
	return n, at
}

// AppendJSON appends the value to dst as compact JSON. Numbers keep their digits and
// members their order; if a name is repeated, the last member is written. A nil node is
// null.
func (n *Node) AppendJSON(dst []byte) []byte {
	if n == nil || n.Kind == Null {
		return append(dst, "null"...)
	}
	switch n.Kind {
	case Bool, Number:
		return append(dst, n.Text...)
	case String:
		return jsonscan.AppendQuote(dst, n.Text)
	case Array:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	last := make(map[string]int, len(n.Members))
	for i, m := range n.Members {
		last[m.Key] = i
	}
	first := true
	for i, m := range n.Members {
		if last[m.Key] != i {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = jsonscan.AppendQuote(dst, m.Key)
		dst = append(dst, ':')
		dst = m.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// FromJSON returns the tree of a valid JSON text that is not part of a file.
func FromJSON(text []byte) (*Node, error) {
	n, problems := Parse(text, JSON)
	if len(problems) > 0 {
		return nil, fmt.Errorf("byte %d: %s", problems[0].Offset, problems[0].Message)
	}
	return n, nil
}

// Problem is a fault in a text.
type Problem struct {
	Offset int // the position in the text
	// Message is what is wrong, and Hint how to fix it, or empty.
	Message   string
	Hint      string
	Duplicate bool // a duplicate name; the rest of the text was read

	at *Path // of the member with the duplicate name
}

// Pointer returns the JSON pointer of the member with the duplicate name, as [Path.Pointer] does, or
// "" for other problems.
func (p *Problem) Pointer() string { return p.at.Pointer() }

// WithoutPointer returns the problem of a text that is part of another one, in which the pointer
// would be that of another value.
func (p Problem) WithoutPointer() Problem {
	p.at = nil
	return p
}

// Path is the place of a value: its name or index, and the values that it is in. Nil is the place of
// the root. Code that visits all values of a text passes a Path on, and makes a pointer only for what it
// reports: those of all values would take time and memory that grow with the square of a text
// with a long name.
type Path struct {
	above *Path
	name  string // of a member; of an item, it is empty
	index int    // of an item; of a member, it is -1
}

// maxPointer is the length of the longest pointer in bytes. Names may be as long as the text, and
// thousands of problems may be below one.
const maxPointer = 1 << 10

// Pointer returns the JSON pointer of p. If it has more than 1,024 bytes, it is that of the deepest
// value above with a shorter one.
func (p *Path) Pointer() string {
	var steps []*Path
	for ; p != nil; p = p.above {
		steps = append(steps, p)
	}
	var out strings.Builder
	for _, step := range slices.Backward(steps) {
		if len(step.name) >= maxPointer { // escaping it would take as long as it is
			break
		}
		token := jsonscan.EscapeToken(step.name)
		if step.index >= 0 {
			token = strconv.Itoa(step.index)
		}
		if out.Len()+len("/")+len(token) > maxPointer {
			break
		}
		out.WriteString("/" + token)
	}
	return out.String()
}

// Member returns the place of a member of the value at p.
func (p *Path) Member(name string) *Path {
	return &Path{
		above: p,
		name:  name,
		index: -1,
	}
}

// Item returns the place of an item of the list at p.
func (p *Path) Item(index int) *Path {
	return &Path{
		above: p,
		index: index,
	}
}

// limits are the limits of one text.
type limits struct {
	depth int // of arrays and objects
	nodes int // values in a YAML or TOML text, counting those repeated by aliases
	// document selects the rules of [ReadDocument]: lines are recorded, a fault ends reading,
	// and YAML is the first of several documents.
	document bool
}

// tooDeep and tooMany are the messages for a text that exceeds the limits.
func (l limits) tooDeep() string {
	if l.document {
		return fmt.Sprintf("arrays and objects nest deeper than %d", l.depth+1)
	}
	return "nested too deeply"
}

// tooMany is the message for too many values. Outside a document, it names both limits.
func (l limits) tooMany() string {
	if l.document {
		return fmt.Sprintf("the document has more than %d values", l.nodes)
	}
	return "too many values, or nested too deeply"
}

// repeat adds the problem of a repeated name to problems, or panics with it if a fault ends
// reading.
func (l limits) repeat(problems []Problem, offset int, at *Path) []Problem {
	if l.document {
		panic(failure(offset, fmt.Sprintf("duplicate %q", at.name), ""))
	}
	return append(problems, Problem{
		Offset:    offset,
		Message:   fmt.Sprintf("duplicate name %q", at.name),
		Hint:      "most readers would use the last one only; give each its own name",
		Duplicate: true,
		at:        at,
	})
}

// fault is a problem that ends reading. The readers panic with it, and [catch] recovers it.
type fault struct{ Problem }

// failure returns the fault at an offset, for the caller to panic with.
func failure(at int, message, hint string) *fault {
	return &fault{Problem{
		Offset:  at,
		Message: message,
		Hint:    hint,
	}}
}

// catch calls read and returns the fault that stopped it, or nil. Other panics continue.
func catch(read func()) (f *fault) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case *fault:
			f = caught
		default:
			panic(caught)
		}
	}()
	read()
	return nil
}

// definitions are the limits of [Parse].
func definitions() limits {
	return limits{
		depth: 128,
		nodes: 200_000,
	}
}

// Parse reads text. If it cannot be read to its end, the node is nil and the last problem
// has the position of the fault. Otherwise, the problems are duplicate names.
func Parse(text []byte, format Format) (*Node, []Problem) {
	switch format {
	case YAML:
		n, problems := parseYAML(text, definitions())
		for i := range problems {
			problems[i].Offset = max(0, problems[i].Offset)
		}
		return n, problems
	case TOML:
		return parseTOML(text)
	}
	return parseJSON(text, format == JSONC, definitions())
}

// ParseJSON is [Parse] for a JSON text with up to depth nested arrays and objects.
func ParseJSON(text []byte, depth int) (*Node, []Problem) {
	return parseJSON(text, false, limits{depth: depth})
}
