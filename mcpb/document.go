package mcpb

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// maxFindings is the number of findings per severity that are kept with a position, so
// that a text crafted to have more costs no more.
const maxFindings = 1000

// document is a parsed JSON text and the report for its findings.
type document struct {
	check.Reporter
	text []byte     // UTF-8, without a byte order mark
	bom  int        // length of the byte order mark
	root *tree.Node // nil if the text is not JSON
}

// byteOrderMark is a byte order mark in UTF-8.
const byteOrderMark = "\ufeff"

// readDocument parses data like JSON.parse, after an optional byte order mark, and
// reports syntax errors.
func readDocument(data []byte, file string, report *check.Report) *document {
	text := bytes.TrimPrefix(data, []byte(byteOrderMark))
	d := &document{
		Reporter: check.Reporter{
			Report:   report,
			File:     file,
			Document: &check.Document{Text: text},
		},
		text: text,
		bom:  len(data) - len(text),
	}
	if d.bom > 0 {
		d.At(0).Add(ruleBOM, "", "slipway bundle validate --fix removes it",
			"the file begins with a byte order mark, which JSON does not permit")
	}
	if at := invalidUTF8(text); at >= 0 {
		d.At(at).Add(ruleUTF8, "", "save the file as UTF-8",
			"bytes that are not UTF-8; readers put U+FFFD there")
		// Replaces each byte separately, to keep columns correct.
		d.text = []byte(string([]rune(string(text))))
		d.Document.Text = d.text
	}
	root, problems := tree.ParseJSON(d.text, jsonscan.MaxDepth)
	for _, p := range problems {
		switch at := min(p.Offset, len(d.text)); {
		case p.Duplicate:
			d.At(at).Add(ruleDuplicate, p.Pointer(), "remove one of them",
				"%s; only the last counts", p.Message)
		case bytes.ContainsAny(d.text[at:min(at+1, len(d.text))], "/,"):
			d.At(at).Add(ruleJSON, "", "slipway bundle validate --fix removes it",
				"not JSON: %s", p.Message)
		default:
			d.At(at).Add(ruleJSON, "", p.Hint, "not JSON: %s", p.Message)
		}
	}
	if root != nil {
		d.root = root
		d.Document.Find = func(pointer string) int {
			n, at := root.Find(pointer)
			if n != nil {
				at = n.Start
			}
			return at
		}
	}
	return d
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for i, r := range string(text) {
		_, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
	}
	return -1
}

// textOf returns the value of a string, or "" for other values.
func textOf(n *tree.Node) string {
	if n.Is(tree.String) {
		return n.Text
	}
	return ""
}

// membersOf returns the members of an object in order. If a name is repeated, the last one
// wins.
func membersOf(n *tree.Node) []tree.Member {
	seen := map[string]int{}
	var members []tree.Member
	for _, m := range n.Fields() {
		at, repeated := seen[m.Key]
		if !repeated {
			at = len(members)
			seen[m.Key] = at
			members = append(members, m)
		}
		members[at] = m
	}
	return members
}

// full reports whether additional findings are only counted.
func (d *document) full(s check.Severity) bool {
	return d.Report.Count(s) >= maxFindings
}

// near is didYouMean for findings that are kept.
func (d *document) near(name string, names []string) string {
	if d.full(check.Error) || d.full(check.Warning) {
		return ""
	}
	return didYouMean(name, names[:min(len(names), maxFindings)])
}

// didYouMean returns a hint with the most similar of names, or "".
func didYouMean(name string, names []string) string {
	if near := nearest.DidYouMean(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
