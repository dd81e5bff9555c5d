// Package edit changes single entries in configuration files owned by other programs.
// Text is spliced, never regenerated: comments, order, indentation, line endings and
// everything else outside the entry keep their bytes. Every edit is parsed and compared
// before it is returned, so a file in an unexpected form is rejected instead of damaged.
//
// Start with [Set], [Remove] and [Get].
package edit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Target is the location of the entries in a file.
type Target struct {
	// Format selects the editor: each keeps comments and white space outside the edit.
	Format tree.Format
	Root   string // the member of the file that contains them
	List   bool   // they are a list of objects, each with the member Key
	Key    string // "name" if empty
	// Preamble lists the members that a new file starts with.
	Preamble []tree.Member
}

// Entry is one entry of a file.
type Entry struct {
	// Name is the key of the entry, or its identifying member in a list.
	Name string
	// Value is the entry as read, or as it is to be written.
	Value *tree.Node
}

// ErrShape is returned when a file cannot be edited: the form of its entries does not
// permit a change to only one of them.
var ErrShape = errors.New("the servers are written in a form that cannot be edited in place")

// SyntaxError is a fault in the text of a file.
type SyntaxError struct {
	// Line and Column count from 1.
	Line, Column int
	Message      string
}

// Error returns the position and the message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// key returns the member that identifies the items of a list.
func (t *Target) key() string { return cmp.Or(t.Key, "name") }

// splice replaces the bytes from start to end.
type splice struct {
	// start and end are offsets in the original text. Splices of one edit do not overlap.
	start, end int
	text       string
}

// Get returns the entries of a file, in order. An empty file has none. The error is a
// [*SyntaxError] if the text is malformed.
func Get(text []byte, t Target) ([]Entry, error) {
	root, err := parse(text, t)
	if err != nil || root == nil {
		return nil, err
	}
	holder := root.Get(t.Root)
	var entries []Entry
	switch {
	case holder == nil || holder.Kind == tree.Null:
	case t.List && holder.Kind == tree.Array:
		for _, item := range holder.Items {
			name := item.Get(t.key())
			if name == nil {
				name = &tree.Node{}
			}
			entries = append(entries, Entry{name.Text, item})
		}
	case !t.List && holder.Kind == tree.Object:
		for _, m := range holder.Members {
			entries = append(entries, Entry{m.Key, m.Value})
		}
	default:
		return nil, fmt.Errorf("%s is %s", t.Root, holder.Kind)
	}
	return entries, nil
}

// parse returns nil for a file without content.
func parse(text []byte, t Target) (*tree.Node, error) {
	body := bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(body)) == 0 || t.Format == tree.JSONC && onlyComments(body) {
		return nil, nil
	}
	root, problems := tree.Parse(text, t.Format)
	if len(problems) > 0 {
		line, column := check.LineColumn(text, problems[0].Offset)
		return nil, &SyntaxError{
			Line:    line,
			Column:  column,
			Message: problems[0].Message,
		}
	}
	if root.Kind == tree.Null {
		return &tree.Node{Kind: tree.Object}, nil
	}
	if root.Kind != tree.Object {
		return nil, fmt.Errorf("it contains %s, not an object", root.Kind)
	}
	return root, nil
}

// onlyComments reports whether a text consists of blanks and closed comments.
func onlyComments(body []byte) bool {
	if skipBlank(body, 0) < len(body) {
		return false
	}
	root, _ := tree.Parse(slices.Concat(body, []byte("\nnull")), tree.JSONC)
	return root != nil
}

// Set returns text with the entry called name added or replaced. The error matches
// [ErrShape] if that is not possible.
func Set(text []byte, t Target, name string, value *tree.Node) ([]byte, error) {
	old, err := parse(text, t)
	if err != nil {
		return nil, err
	}
	if sameValue(find(old, t, name), value) {
		return text, nil
	}
	var splices []splice
	switch {
	case old == nil:
		splices = appended(text, fresh(text, t, name, value))
	case t.Format == tree.TOML:
		splices, err = setTOML(text, old, t, name, value)
	case t.Format == tree.YAML:
		splices, err = setYAML(text, old, t, name, value)
	default:
		splices, err = setJSON(text, old, t, name, value)
	}
	if err != nil {
		return nil, err
	}
	return verified(text, splices, old, t, name, value)
}

// Remove returns text without the entry called name. The error matches [ErrShape] if that
// is not possible, as for items of lists in formats other than YAML.
func Remove(text []byte, t Target, name string) ([]byte, error) {
	old, err := parse(text, t)
	if err != nil || find(old, t, name) == nil {
		return text, err
	}
	if t.List && t.Format != tree.YAML {
		return nil, ErrShape
	}
	var splices []splice
	switch t.Format {
	case tree.TOML:
		splices, err = removeTOML(text, old, t, name)
	case tree.YAML:
		splices, err = removeYAML(text, old, t, name)
	default:
		splices = removeJSON(text, old.Get(t.Root), name)
	}
	if err != nil {
		return nil, err
	}
	return verified(text, splices, old, t, name, nil)
}

// Has reports whether a file has the member that contains the entries, even if it is
// empty.
func Has(text []byte, t Target) bool {
	root, err := parse(text, t)
	return err == nil && root.Get(t.Root) != nil
}

// Prune returns text without the member that contains the entries if that member is
// empty; otherwise, it returns text unchanged.
func Prune(text []byte, t Target) []byte {
	root, err := parse(text, t)
	holder := root.Get(t.Root)
	if err != nil || holder == nil || holder.Kind < tree.Array {
		return text
	}
	if len(holder.Members) > 0 || len(holder.Items) > 0 {
		return text
	}
	var splices []splice
	switch m := root.Member(t.Root); t.Format {
	case tree.TOML:
		return text // a table disappears with its last entry
	case tree.YAML:
		splices = []splice{{lineStart(text, m.KeyStart), nextLine(text, m.KeyStart), ""}}
	default:
		if len(bytes.TrimSpace(text[holder.Start+1:holder.End-1])) > 0 {
			return text // a comment
		}
		splices = removeJSON(text, root, t.Root)
	}
	out := apply(text, splices)
	after, err := parse(out, t)
	if err != nil ||
		after.Get(t.Root) != nil ||
		rest(root, t, "") != rest(after, t, "") {
		return text
	}
	return out
}

// fresh returns a file with one entry, to be appended to text, which is empty or has only
// comments.
func fresh(text []byte, t Target, name string, value *tree.Node) string {
	eol := lineEnd(text)
	lead := finishLine(bytes.TrimPrefix(text, []byte("\ufeff")), eol)
	file := &tree.Node{
		Kind:    tree.Object,
		Members: slices.Clone(t.Preamble),
	}
	holder := &tree.Node{
		Kind:    tree.Object,
		Members: []tree.Member{{Key: name, Value: value}},
	}
	if t.List {
		holder = &tree.Node{
			Kind:  tree.Array,
			Items: []*tree.Node{value},
		}
	}
	file.Members = append(file.Members, tree.Member{
		Key:   t.Root,
		Value: holder,
	})
	switch t.Format {
	case tree.TOML:
		return lead + tomlTable([]string{t.Root, name}, value, eol)
	case tree.YAML:
		return lead + yamlMembers(file.Members, "", eol)
	}
	return lead + jsonText(file, "", "  ", eol) + eol
}

// find returns the entry called name, or nil.
func find(root *tree.Node, t Target, name string) *tree.Node {
	holder := root.Get(t.Root)
	if holder == nil {
		return nil
	}
	if !t.List {
		return holder.Get(name)
	}
	for _, item := range holder.Items {
		n := item.Get(t.key())
		if n != nil && n.Text == name {
			return item
		}
	}
	return nil
}

// apply returns text with all splices, which must not overlap.
func apply(text []byte, splices []splice) []byte {
	order.StableBy(splices, func(a, b splice) int {
		return a.start - b.start
	})
	var out []byte
	at := 0
	for _, s := range splices {
		out = append(out, text[at:s.start]...)
		out = append(out, s.text...)
		at = s.end
	}
	return append(out, text[at:]...)
}

// verified applies splices and verifies that nothing but the entry differs.
func verified(
	text []byte,
	splices []splice,
	old *tree.Node,
	t Target,
	name string,
	value *tree.Node,
) ([]byte, error) {
	out := apply(text, splices)
	root, err := parse(out, t)
	if err != nil {
		return nil, fmt.Errorf("%w (after the edit: %w)", ErrShape, err)
	}
	if root == nil {
		root = &tree.Node{Kind: tree.Object}
	}
	got := find(root, t, name)
	if !sameValue(got, value) {
		return nil, ErrShape
	}
	if old != nil && rest(old, t, name) != rest(root, t, name) {
		return nil, ErrShape
	}
	return out, nil
}

// sameValue reports whether two values, which may be nil, are equal as JSON.
func sameValue(a, b *tree.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil))
}

// rest returns everything but one entry, as JSON. Empty holders are ignored, and so is the position
// of the holder: in TOML, it is that of its first table, which changes with that entry.
func rest(root *tree.Node, t Target, name string) string {
	var b strings.Builder
	if root == nil {
		return ""
	}
	for _, m := range root.Members {
		if m.Key != t.Root {
			fmt.Fprintf(&b, "%q:%s\n", m.Key, m.Value.AppendJSON(nil))
		}
	}
	for _, m := range root.Members {
		if m.Key != t.Root {
			continue
		}
		for _, e := range m.Value.Members {
			if t.List || e.Key != name {
				fmt.Fprintf(&b, "  %q:%s\n", e.Key, e.Value.AppendJSON(nil))
			}
		}
		for _, e := range m.Value.Items {
			n := e.Get(t.key())
			if n == nil || n.Text != name {
				fmt.Fprintf(&b, "  %s\n", e.AppendJSON(nil))
			}
		}
	}
	return b.String()
}

// appended returns the splice that adds s to the end of the text.
func appended(text []byte, s string) []splice {
	return []splice{{len(text), len(text), s}}
}

// inserted returns the splice that adds s at a position.
func inserted(at int, s string) []splice {
	return []splice{{at, at, s}}
}

// finishLine returns the line ending that the last line of the text lacks, or "".
func finishLine(text []byte, eol string) string {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return ""
	}
	return eol
}

// lineEnd returns the line ending used in the text.
func lineEnd(text []byte) string {
	i := bytes.IndexByte(text, '\n')
	if i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart returns the start of the line with the byte at i.
func lineStart(text []byte, i int) int {
	return bytes.LastIndexByte(text[:i], '\n') + 1
}

// nextLine returns the start of the line after the one with the byte at i.
func nextLine(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// indentation returns the leading white space of the line with the byte at i.
func indentation(text []byte, i int) string {
	start := lineStart(text, i)
	if start == 0 && bytes.HasPrefix(text, []byte("\ufeff")) {
		start = 3
	}
	end := start
	for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
		end++
	}
	return string(text[start:end])
}

// Quoted returns a string as it is written in double quotes.
func Quoted(s string) string { return string(jsonscan.AppendQuote(nil, s)) }
