// Package tree reads JSON, JSONC, YAML and TOML into one kind of tree whose nodes
// know their bytes in the text, so that whatever is said about a value can say
// where it is, and whatever edits a file can leave the rest of it alone.
//
// Start with [Parse]. A tree holds what the file says and nothing that was
// guessed: members keep their order, numbers their digits, and a name that is
// given twice is reported instead of being overwritten.
package tree

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Format is how a file is written.
type Format uint8

// The formats that [Parse] reads.
const (
	JSON  Format = iota + 1 // RFC 8259, nothing more
	JSONC                   // JSON with comments and trailing commas
	YAML                    // YAML 1.2, one document
	TOML                    // TOML 1.0
)

// String returns the name of the format as people write it.
func (f Format) String() string {
	names := [...]string{JSON: "JSON", JSONC: "JSONC", YAML: "YAML", TOML: "TOML"}
	if f == 0 || int(f) >= len(names) {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return names[f]
}

// MarshalText implements encoding.TextMarshaler: the name in lower case.
func (f Format) MarshalText() ([]byte, error) { return []byte(strings.ToLower(f.String())), nil }

// Kind is what a value is.
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
	// Text is the decoded text of a string, or a number or boolean as JSON has it.
	Text    string
	Members []Member // of an object, in the order of the file
	Items   []*Node  // of a list

	// Start and End are the bytes of the value in the text. End is 0 where the
	// format's parser does not tell it (YAML; tables of TOML).
	Start, End int
}

// Member is one name with its value.
type Member struct {
	Key   string
	Value *Node
	// KeyStart and KeyEnd are the bytes of the name, quotes included.
	KeyStart, KeyEnd int
}

// Get returns the value of the member called key, or nil. n may be nil.
func (n *Node) Get(key string) *Node {
	if m := n.Member(key); m != nil {
		return m.Value
	}
	return nil
}

// Member returns the member called key, or nil. Of several with one name it is
// the last, as for most readers.
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

// Find returns the node that a JSON pointer names, and the byte where the name
// of its member stands, or where it begins itself. If it is not there, it returns
// nil and the place of the deepest one on the way.
func (n *Node) Find(pointer string) (found *Node, at int) {
	at = n.Start
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch n.Kind {
		case Object:
			m := n.Member(token)
			if m == nil {
				return nil, at
			}
			n, at = m.Value, m.KeyStart
		case Array:
			i := -1
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || i < 0 || i >= len(n.Items) {
				return nil, at
			}
			n, at = n.Items[i], n.Items[i].Start
		default:
			return nil, at
		}
	}
	return n, at
}

// AppendJSON appends the value to dst as compact JSON. Numbers keep their digits
// and members their order; of members given twice the last is written.
func (n *Node) AppendJSON(dst []byte) []byte {
	switch n.Kind {
	case Null:
		return append(dst, "null"...)
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

// FromJSON returns the tree of a JSON text that is known to be valid, without
// places in any file.
func FromJSON(text []byte) (*Node, error) {
	n, problems := Parse(text, JSON)
	if len(problems) > 0 {
		return nil, fmt.Errorf("byte %d: %s", problems[0].Offset, problems[0].Message)
	}
	return n, nil
}

// Problem is something wrong with a text.
type Problem struct {
	Offset    int // the byte of the text
	Message   string
	Hint      string
	Duplicate bool   // a name is given twice; the rest of the text was read
	Pointer   string // of the member that is given twice
}

// maxDepth is how deeply values may nest.
const maxDepth = 128

// maxNodes bounds the values of one text of YAML or TOML, those that aliases repeat
// included.
const maxNodes = 200_000

// Parse reads text. If it cannot be read to its end, the node is nil and the last
// problem is at the place of the fault. Otherwise the problems are names that
// are given twice.
func Parse(text []byte, format Format) (*Node, []Problem) {
	switch format {
	case YAML:
		return parseYAML(text)
	case TOML:
		return parseTOML(text)
	}
	return parseJSON(text, format == JSONC)
}

// pointerTo appends a name to a JSON pointer.
func pointerTo(pointer, key string) string {
	if strings.ContainsAny(key, "~/") {
		key = check.EscapeToken(key)
	}
	return pointer + "/" + key
}
