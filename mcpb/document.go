package mcpb

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// kind is the type of a JSON value.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// String returns the name of the kind in messages.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// jsonNode is a JSON value with its position in the text. A nil node is an absent value;
// all methods can be called on it.
type jsonNode struct {
	kind    kind
	at, end int // offsets in the text
	text    string
	number  float64
	truth   bool
	items   []*jsonNode
	members []member
}

type member struct {
	name  string
	at    int // of the opening quote of the name
	value *jsonNode
}

// member returns the value of the member with that name; if the name is repeated, the
// last one.
func (n *jsonNode) member(name string) *jsonNode {
	if n == nil || n.kind != kindObject {
		return nil
	}
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

func (n *jsonNode) is(k kind) bool { return n != nil && n.kind == k }

// str returns the value of a string, or "" for other values.
func (n *jsonNode) str() string {
	if n.is(kindString) {
		return n.text
	}
	return ""
}

// maxFindings is the number of findings per severity that are kept with a position, so
// that a text crafted to have more costs no more.
const maxFindings = 1000

// document is a parsed JSON text and the report for its findings.
type document struct {
	check.Reporter
	text []byte    // UTF-8, without a byte order mark
	bom  int       // length of the byte order mark
	root *jsonNode // nil if the text is not JSON
}

// byteOrderMark is a byte order mark in UTF-8.
const byteOrderMark = "\ufeff"

// readDocument parses data like JSON.parse, after an optional byte order mark, and
// reports syntax errors.
func readDocument(data []byte, file string, report *check.Report) *document {
	d := &document{Reporter: check.Reporter{Report: report, File: file}, text: data}
	if rest, ok := bytes.CutPrefix(data, []byte(byteOrderMark)); ok {
		d.text, d.bom = rest, len(byteOrderMark)
	}
	d.Document = &check.Document{Text: d.text, Find: d.offset}
	if d.bom > 0 {
		d.At(0).Add(ruleBOM, "", "slipway bundle validate --fix removes it",
			"the file begins with a byte order mark, which is no JSON")
	}
	if at := invalidUTF8(d.text); at >= 0 {
		d.At(at).Add(ruleUTF8, "", "save the file as UTF-8", "bytes that are not UTF-8; readers put U+FFFD there")
		d.text = replaceInvalid(d.text)
		d.Document.Text = d.text
	}
	root, err := d.parse()
	if err != nil {
		at, reason := len(d.text), err.Error()
		var e *jsonscan.Error
		if errors.As(err, &e) {
			at, reason = e.Offset, e.Reason
		}
		d.At(at).Add(ruleJSON, "", jsonHint(d.text, at), "not JSON: %s", reason)
		return d
	}
	d.root = root
	return d
}

// jsonHint returns a hint for syntax that only JSON with comments and similar formats
// allow.
func jsonHint(text []byte, at int) string {
	rest := text[min(at, len(text)):]
	switch {
	case len(rest) == 0:
		return "something is not closed"
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")), rest[0] == '/', rest[0] == '#':
		return "JSON has no comments"
	case rest[0] == '}' || rest[0] == ']':
		return "a comma before a closing bracket is no JSON"
	case rest[0] == '\'':
		return "strings and names stand in double quotes"
	}
	return ""
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// replaceInvalid replaces each invalid byte separately, to keep columns correct.
func replaceInvalid(text []byte) []byte {
	var b bytes.Buffer
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		b.WriteRune(r)
		i += n
	}
	return b.Bytes()
}

func (d *document) parse() (*jsonNode, error) {
	root, end, err := d.value(jsonscan.Space(d.text, 0), 0, "")
	if err != nil {
		return nil, err
	}
	return root, jsonscan.End(d.text, end)
}

// value reads the value at text[i], at the given nesting depth.
func (d *document) value(i, depth int, pointer string) (n *jsonNode, end int, err error) {
	n = &jsonNode{at: i}
	if i >= len(d.text) {
		_, err = jsonscan.Value(d.text, i)
		return n, i, err
	}
	switch d.text[i] {
	case '{':
		n.kind = kindObject
		end, err = d.object(n, depth, pointer)
	case '[':
		n.kind = kindArray
		end, err = jsonscan.Array(d.text, i, depth, func(i int) (int, error) {
			item, end, err := d.value(jsonscan.Space(d.text, i), depth+1, pointer+"/"+strconv.Itoa(len(n.items)))
			n.items = append(n.items, item)
			return end, err
		})
	default:
		if end, err = jsonscan.ValueAt(d.text, i, depth); err == nil {
			d.scalar(n, d.text[i:end])
		}
	}
	n.end = end
	return n, end, err
}

func (d *document) scalar(n *jsonNode, raw []byte) {
	switch raw[0] {
	case '"':
		n.kind = kindString
		n.text, _ = jsonscan.Unquote(raw)
	case 't', 'f':
		n.kind, n.truth = kindBool, raw[0] == 't'
	case 'n':
		n.kind = kindNull
	default:
		n.kind = kindNumber
		n.number, _ = strconv.ParseFloat(string(raw), 64) // too large is infinite, as in JSON.parse
	}
}

func (d *document) object(n *jsonNode, depth int, pointer string) (end int, err error) {
	after := n.at + 1
	var seen jsonscan.KeySet
	return jsonscan.Object(d.text, n.at, depth, func(key []byte, i int) (int, error) {
		at := jsonscan.Space(d.text, after)
		if d.text[at] == ',' {
			at = jsonscan.Space(d.text, at+1)
		}
		below := pointer + "/" + jsonscan.EscapeToken(string(key))
		if !seen.Add(bytes.Clone(key)) {
			d.At(at).Add(ruleDuplicate, below, "remove one of them", "%q is here twice; only the last counts", key)
		}
		value, end, err := d.value(i, depth+1, below)
		n.members = append(n.members, member{string(key), at, value})
		after = end
		return end, err
	})
}

// full reports whether additional findings are only counted.
func (d *document) full(s check.Severity) bool { return d.Report.Count(s) >= maxFindings }

// offset returns where the value at pointer or its closest existing ancestor begins.
func (d *document) offset(pointer string) int {
	n := d.root
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		next := n.member(jsonscan.UnescapeToken(token))
		if i, err := strconv.Atoi(token); n.is(kindArray) && err == nil && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n.at
}

// near is didYouMean for findings that are kept.
func (d *document) near(name string, names []string) string {
	if d.full(check.Error) || d.full(check.Warning) {
		return ""
	}
	return didYouMean(name, names[:min(len(names), maxFindings)])
}
