package edit

import (
	"bytes"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// jsonText formats a value over several lines; lists of plain values stay on one line.
func jsonText(n *tree.Node, indent, unit, eol string) string {
	switch {
	case n.Kind == tree.Object && len(n.Members) > 0:
		var parts []string
		for _, m := range n.Members {
			parts = append(parts,
				indent+unit+string(jsonscan.AppendQuote(nil, m.Key))+": "+jsonText(m.Value, indent+unit, unit, eol))
		}
		return "{" + eol + strings.Join(parts, ","+eol) + eol + indent + "}"
	case n.Kind == tree.Array:
		var parts []string
		for _, item := range n.Items {
			parts = append(parts, jsonText(item, indent, unit, eol))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(n.AppendJSON(nil))
}

// unitOf returns the indentation unit of the file.
func unitOf(text []byte, root *tree.Node) string {
	if len(root.Members) > 0 &&
		bytes.IndexByte(text[root.Start:root.Members[0].KeyStart], '\n') >= 0 {
		inner := indentation(text, root.Members[0].KeyStart)
		outer := indentation(text, root.Start)
		unit, ok := strings.CutPrefix(inner, outer)
		if ok && unit != "" {
			return unit
		}
	}
	return "  "
}

// setJSON adds or replaces an entry in JSON with the indentation that the file uses.
func setJSON(
	text []byte,
	root *tree.Node,
	t Target,
	name string,
	value *tree.Node,
) ([]splice, error) {
	unit := unitOf(text, root)
	eol := lineEnd(text)
	if root.End == 0 { // null
		return nil, ErrShape
	}
	holder := root.Get(t.Root)
	if holder == nil {
		holder = &tree.Node{
			Kind:    tree.Object,
			Members: []tree.Member{{Key: name, Value: value}},
		}
		return insertJSON(text, root, t.Root, holder, unit, eol), nil
	}
	if holder.Kind == tree.Null {
		value = &tree.Node{
			Kind:    tree.Object,
			Members: []tree.Member{{Key: name, Value: value}},
		}
		return []splice{{holder.Start, holder.End, jsonText(value,
			indentation(text, holder.Start), unit, eol)}}, nil
	}
	if holder.Kind != tree.Object {
		return nil, ErrShape
	}
	if m := holder.Member(name); m != nil {
		with := jsonText(value, indentation(text, m.KeyStart), unit, eol)
		if bytes.IndexByte(text[holder.Start:m.KeyStart], '\n') < 0 {
			with = string(value.AppendJSON(nil)) // all on one line
		}
		return []splice{{m.Value.Start, m.Value.End, with}}, nil
	}
	return insertJSON(text, holder, name, value, unit, eol), nil
}

// insertJSON adds a member at the end of an object.
func insertJSON(
	text []byte,
	n *tree.Node,
	name string,
	value *tree.Node,
	unit, eol string,
) []splice {
	key := string(jsonscan.AppendQuote(nil, name)) + ": "
	if len(n.Members) == 0 {
		outer := indentation(text, n.Start)
		entry := eol + outer + unit + key + jsonText(value, outer+unit, unit, eol)
		inside := text[n.Start+1 : n.End-1]
		if len(bytes.TrimSpace(inside)) == 0 {
			return []splice{{n.Start + 1, n.End - 1, entry + eol + outer}}
		}
		at := n.Start + 1 + len(bytes.TrimRight(inside, " \t\r\n")) // after a comment
		if bytes.IndexByte(text[at:n.End-1], '\n') < 0 {
			entry += eol + outer
		}
		return inserted(at, entry)
	}
	first := n.Members[0]
	last := n.Members[len(n.Members)-1]
	if bytes.IndexByte(text[n.Start:first.KeyStart], '\n') < 0 { // all on one line
		return inserted(last.Value.End, ", "+key+string(value.AppendJSON(nil)))
	}
	inner := indentation(text, first.KeyStart)
	entry := eol + inner + key + jsonText(value, inner, unit, eol)
	return insertAfter(text, last.Value.End, entry)
}

// insertAfter adds an entry on a line of its own, after the value that ends at end.
func insertAfter(text []byte, end int, entry string) []splice {
	comma, line := behind(text, end)
	if comma >= 0 {
		return inserted(line, entry+",")
	}
	return []splice{{end, end, ","}, {line, line, entry}}
}

// commaAfter returns the position of the comma after a value, on any line, or -1.
func commaAfter(text []byte, at int) int {
	if at = skipBlank(text, at); at < len(text) && text[at] == ',' {
		return at
	}
	return -1
}

// behind inspects the rest of the line after a value. It returns the position of the comma, or -1,
// and the end of the line with its comments. If the line has more content, the latter is
// the end of the comma or the value.
func behind(text []byte, at int) (comma, line int) {
	comma = -1
	line = at
	for i := at; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			return comma, trimCR(text, line, i)
		case c == ' ' || c == '\t' || c == '\r':
			i++
			line = i
		case c == ',' && comma < 0:
			comma = i
			i++
			line = i
		case bytes.HasPrefix(text[i:], []byte("//")):
			i = nextLineEnd(text, i)
			line = i
		case bytes.HasPrefix(text[i:], []byte("/*")):
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return comma, max(at, comma+1)
			}
			i += end + 4
			line = i
		default:
			return comma, max(at, comma+1)
		}
	}
	return comma, line
}

// trimCR returns the position before the carriage return that precedes at, or at if there is
// none. It does not go beyond the line that begins at from.
func trimCR(text []byte, from, at int) int {
	if at > from-1 && at > 0 && text[at-1] == '\r' {
		return at - 1
	}
	return at
}

// nextLineEnd returns the position of the next line feed, or the end of the text.
func nextLineEnd(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// skipBlank skips white space and comments.
func skipBlank(text []byte, i int) int {
	for i < len(text) {
		switch {
		case text[i] == ' ' ||
			text[i] == '\t' ||
			text[i] == '\r' ||
			text[i] == '\n':
			i++
		case bytes.HasPrefix(text[i:], []byte("//")):
			i = nextLineEnd(text, i)
		case bytes.HasPrefix(text[i:], []byte("/*")):
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return len(text)
			}
			i += end + 4
		default:
			return i
		}
	}
	return i
}

// removeJSON removes a member from an object, with its comma.
func removeJSON(text []byte, n *tree.Node, name string) []splice {
	i := 0
	for k := range n.Members {
		if n.Members[k].Key == name {
			i = k
		}
	}
	m := n.Members[i]
	start := m.KeyStart
	end := m.Value.End
	comma := commaAfter(text, end)
	_, line := behind(text, end)
	alone := line == len(text) || text[line] == '\r' || text[line] == '\n' // nothing else follows on the line
	ownLine := alone && isBlank(text[lineStart(text, start):start])
	if ownLine {
		start = lineStart(text, start) // with its indentation and the preceding line ending
		if start > n.Start {
			start = trimCR(text, 0, start-1)
		}
	}
	later := comma >= 0 && bytes.IndexByte(text[end:comma], '\n') >= 0
	if later && i > 0 && i+1 == len(n.Members) {
		later, comma = false, -1 // it becomes that of the member before, which loses its own
	}
	switch {
	case later:
		next := comma + 1 + len(text[comma+1:]) - len(bytes.TrimLeft(text[comma+1:], " "))
		if isBlank(text[end:comma]) {
			return []splice{{m.KeyStart, next, ""}}
		}
		return []splice{{m.KeyStart, end, ""}, {comma, next, ""}} // comments may be about others
	case comma >= 0 && ownLine:
		return []splice{{start, line, ""}}
	case comma >= 0 && (i+1 < len(n.Members) || i == 0):
		next := comma + 1
		for next < len(text) && text[next] == ' ' {
			next++
		}
		return []splice{{m.KeyStart, end, ""}, {comma, next, ""}}
	case comma >= 0: // also remove the comma before it, which was added with it
		before := commaAfter(text, n.Members[i-1].Value.End)
		space := before + 1
		if len(bytes.TrimSpace(text[space:m.KeyStart])) == 0 {
			space = m.KeyStart
		}
		return []splice{{before, space, ""}, {m.KeyStart, end, ""}}
	}
	if i == 0 { // the only one
		inside := string(text[n.Start+1:m.KeyStart]) + string(text[end:n.End-1])
		if strings.TrimSpace(inside) == "" {
			return []splice{{n.Start + 1, n.End - 1, ""}}
		}
		return []splice{{start, end, ""}}
	}
	before := commaAfter(text, n.Members[i-1].Value.End)
	switch {
	case !ownLine && !isBlank(text[before+1:m.KeyStart]): // keep comments
		return []splice{{before, before + 1, ""}, {m.KeyStart, end, ""}}
	case !ownLine:
		if begin := lineStart(text, before); alone && begin > n.Start && isBlank(text[begin:before]) {
			before = trimCR(text, 0, begin-1) // the comma begins its line
		}
		return []splice{{before, end, ""}}
	}
	return []splice{
		{before, before + 1, ""},
		{max(start, before+1), end, ""},
	}
}
