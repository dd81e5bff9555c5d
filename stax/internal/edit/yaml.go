package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// yamlMembers formats members, one per line.
func yamlMembers(members []tree.Member, indent, eol string) string {
	var b strings.Builder
	for _, m := range members {
		b.WriteString(indent + yamlText(m.Key) + ":" + yamlBelow(m.Value, indent, eol))
	}
	return b.String()
}

// yamlBelow formats the text after a colon.
func yamlBelow(n *tree.Node, indent, eol string) string {
	switch {
	case n.Kind == tree.Object && len(n.Members) > 0:
		return eol + yamlMembers(n.Members, indent+"  ", eol)
	case n.Kind == tree.Array && len(n.Items) > 0:
		var b strings.Builder
		b.WriteString(eol)
		for _, item := range n.Items {
			b.WriteString(yamlItem(item, indent+"  ", eol))
		}
		return b.String()
	case n.Kind == tree.String:
		return " " + yamlText(n.Text) + eol
	}
	return " " + string(n.AppendJSON(nil)) + eol
}

// yamlItem formats a list item with its dash.
func yamlItem(n *tree.Node, indent, eol string) string {
	if n.Kind == tree.Object && len(n.Members) > 0 {
		return indent + "- " + strings.TrimPrefix(yamlMembers(n.Members,
			indent+"  ", eol), indent+"  ")
	}
	if n.Kind == tree.String {
		return indent + "- " + yamlText(n.Text) + eol
	}
	return indent + "- " + string(n.AppendJSON(nil)) + eol
}

// yamlLetters are the letters that a string without quotes may have.
const yamlLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// yamlText formats a string, unquoted if every reader parses it as a string, or else in
// double quotes.
func yamlText(s string) string {
	plain := s != "" && strings.Contains(yamlLetters+"/", s[:1]) &&
		strings.Trim(s, yamlLetters+"0123456789_./-") == ""
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range string(jsonscan.AppendQuote(nil, s)) {
		if r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' ||
			r == '\ufeff' || r == '\ufffe' || r == '\uffff' {
			// YAML forbids these characters or treats them as line endings
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// block is the location of the entries in a file.
type block struct {
	// indent is the white space before each entry, or before the dashes of a list.
	indent string
	starts []int // the lines of the entries
	// names are the entries, by index as in starts.
	names []string
	end   int // the end of the last entry
}

// yamlBlock locates the entries among the lines.
func yamlBlock(text []byte, holder *tree.Node, t Target) (block, error) {
	var b block
	add := func(at int, name string) bool {
		start := lineStart(text, at)
		if len(b.starts) > 0 && b.starts[len(b.starts)-1] >= start {
			return false
		}
		b.starts = append(b.starts, start)
		b.names = append(b.names, name)
		return true
	}
	for _, m := range holder.Members {
		if !add(m.KeyStart, m.Key) {
			return b, ErrShape
		}
	}
	for _, item := range holder.Items {
		name := ""
		if n := item.Get(t.key()); n != nil {
			name = n.Text
		}
		if !add(item.Start, name) {
			return b, ErrShape
		}
	}
	b.indent = indentation(text, b.starts[0])
	for _, start := range b.starts {
		line := text[start+min(len(b.indent), len(text)-start):]
		if indentation(text, start) != b.indent ||
			t.List != bytes.HasPrefix(line, []byte("-")) {
			return b, ErrShape
		}
	}
	b.end = b.behind(text, b.starts[len(b.starts)-1])
	return b, nil
}

// behind returns the end of the entry whose line begins at start: the end of the last
// line that has a deeper indentation. Trailing blank lines and comments are excluded.
func (b *block) behind(text []byte, start int) int {
	end := nextLine(text, start)
	for at := end; at < len(text); at = nextLine(text, at) {
		line := bytes.TrimRight(text[at:nextLine(text, at)], " \t\r\n")
		indent := indentation(text, at)
		switch {
		case len(line) == 0:
			continue
		case len(indent) > len(b.indent):
			end = nextLine(text, at)
		case len(line) > len(indent) && line[len(indent)] == '#':
			continue
		default:
			return end
		}
	}
	return end
}

// entry returns the lines of an entry without the comments that belong to the next one.
func (b *block) entry(text []byte, t Target, name string) (start, end int, ok bool) {
	i := slices.Index(b.names, name)
	if i < 0 {
		return 0, 0, false
	}
	start = b.starts[i]
	return start, withoutComments(text, t, name, start, b.behind(text, start)), true
}

// withoutComments excludes trailing comments from an entry. A line that looks like a
// comment may be the end of a multi-line string: that is the case if the value changes
// without it.
func withoutComments(text []byte, t Target, name string, start, end int) int {
	at := end
	for at > start {
		line := lineStart(text, at-1)
		trimmed := bytes.TrimSpace(text[line:at])
		if line <= start || len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		at = line
	}
	if at == end {
		return end
	}
	old, err := parse(text, t)
	without, errWithout := parse(slices.Concat(text[:at], text[end:]), t)
	if err != nil || errWithout != nil {
		return end
	}
	entry := find(old, t, name)
	if entry == nil || !sameValue(entry, find(without, t, name)) {
		return end
	}
	return at
}

// written formats an entry at an indentation.
func written(t Target, name string, value *tree.Node, indent, eol string) string {
	if t.List {
		return yamlItem(value, indent, eol)
	}
	return yamlMembers([]tree.Member{{Key: name, Value: value}}, indent, eol)
}

// setYAML adds or replaces an entry. A block mapping or list is edited by lines, and braces by
// [inline]. ErrShape means that the file is written in a way that cannot be edited safely.
func setYAML(
	text []byte,
	root *tree.Node,
	t Target,
	name string,
	value *tree.Node,
) ([]splice, error) {
	eol := lineEnd(text)
	m := root.Member(t.Root)
	if m == nil {
		header := finishLine(text, eol) + yamlText(t.Root) + ":" + eol
		return appended(text, header+written(t, name, value, "  ", eol)), nil
	}
	holder := m.Value
	if !plainKey(text, m) {
		return nil, ErrShape
	}
	if len(holder.Members) == 0 && len(holder.Items) == 0 {
		return setEmpty(text, m, t, name, value, eol)
	}
	if in, ok := inlineHolder(text, root, t); ok {
		return in.set(name, value)
	}
	if !editable(text, m) {
		return nil, ErrShape
	}
	b, err := yamlBlock(text, holder, t)
	if err != nil {
		return nil, err
	}
	with := written(t, name, value, b.indent, eol)
	start, end, ok := b.entry(text, t, name)
	if !ok {
		start = b.end
		end = b.end
		if text[b.end-1] != '\n' {
			with = eol + strings.TrimSuffix(with, eol)
		}
	} else if text[end-1] != '\n' {
		with = strings.TrimSuffix(with, eol)
	}
	return []splice{{start, end, with}}, nil
}

// setEmpty fills a member with an empty value: nothing, null, {} or [].
func setEmpty(
	text []byte,
	m *tree.Member,
	t Target,
	name string,
	value *tree.Node,
	eol string,
) ([]splice, error) {
	line := nextLine(text, m.KeyStart)
	rest := text[m.KeyEnd:line]
	colon := bytes.IndexByte(rest, ':')
	if colon < 0 {
		return nil, ErrShape
	}
	behind := m.KeyEnd + colon + 1
	after := bytes.TrimRight(text[behind:line], "\r\n")
	content := after
	if i := bytes.IndexByte(after, '#'); i >= 0 {
		content = after[:i]
	}
	switch string(bytes.TrimSpace(content)) {
	case "", "{}", "[]", "null", "~":
	default:
		return nil, ErrShape
	}
	content = bytes.TrimRight(content, " \t")
	with := written(t, name, value, indentation(text, m.KeyStart)+"  ", eol)
	if line == len(text) && text[line-1] != '\n' {
		with = eol + with
	}
	return []splice{
		{behind, behind + len(content), ""},
		{line, line, with},
	}, nil
}

// removeYAML removes an entry by its lines. The last one leaves an empty value in braces: a key
// without a value would be null.
func removeYAML(text []byte, root *tree.Node, t Target, name string) ([]splice, error) {
	m := root.Member(t.Root)
	if in, ok := inlineHolder(text, root, t); ok {
		return in.remove(name)
	}
	if !editable(text, m) {
		return nil, ErrShape
	}
	b, err := yamlBlock(text, m.Value, t)
	if err != nil {
		return nil, err
	}
	start, end, ok := b.entry(text, t, name)
	if !ok {
		return nil, ErrShape
	}
	if len(b.names) > 1 {
		return []splice{{start, end, ""}}, nil
	}
	empty := " {}"
	if t.List {
		empty = " []"
	}
	colon := m.KeyEnd + bytes.IndexByte(text[m.KeyEnd:], ':') + 1
	return []splice{{colon, colon, empty}, {start, end, ""}}, nil
}

// plainKey reports whether the name of a member is written without quotes or escapes.
func plainKey(text []byte, m *tree.Member) bool {
	return m.KeyEnd <= len(text) && string(text[m.KeyStart:m.KeyEnd]) == m.Key
}

// editable reports whether a member is in block style, without an anchor or an alias.
func editable(text []byte, m *tree.Member) bool {
	if !plainKey(text, m) || m.Value.Start >= len(text) {
		return false
	}
	inBlockStyle := strings.IndexByte("{[*&!?", text[m.Value.Start]) < 0
	return inBlockStyle && lineStart(text, m.Value.Start) > m.KeyStart
}
