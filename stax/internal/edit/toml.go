package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// expression is a header, or a key with its value.
type expression struct {
	path  []string // from the top of the file
	under int      // the number of keys in path that belong to the enclosing table
	// header reports that it is the header of a table, not a key.
	header bool
	start  int // of its line
}

// expressions returns the headers and keys of a file in order, with their positions, which
// the decoder does not report.
func expressions(text []byte) []expression {
	skip := 0
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		skip = 3
	}
	p := &unstable.Parser{}
	p.Reset(text[skip:])
	var all []expression
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Comment {
			continue
		}
		keys := e.Key()
		var path []string
		start := -1
		for keys.Next() {
			if start < 0 {
				start = max(skip, lineStart(text, int(keys.Node().Raw.Offset)+skip))
			}
			path = append(path, string(keys.Node().Data))
		}
		if e.Kind != unstable.KeyValue {
			table = path
			all = append(all, expression{
				path:   path,
				header: true,
				start:  start,
			})
			continue
		}
		all = append(all, expression{
			path:  slices.Concat(table, path),
			under: len(table),
			start: start,
		})
	}
	return all
}

// span is the text of consecutive expressions.
type span struct {
	// start and end cover the lines of the expressions with the comments that belong to them.
	start, end int
	first      expression
}

// spans returns the text of everything below a path. Comments and blank lines before the
// next expression belong to that expression.
func spans(text []byte, path []string) []span {
	all := expressions(text)
	var found []span
	for i := 0; i < len(all); i++ {
		if !below(all[i].path, path) {
			continue
		}
		s := span{
			start: all[i].start,
			first: all[i],
		}
		for i+1 < len(all) && below(all[i+1].path, path) {
			i++
		}
		s.end = len(text)
		if i+1 < len(all) {
			s.end = all[i+1].start
		}
		s.end = trimComments(text, all[i].start, s.end)
		found = append(found, s)
	}
	return found
}

// below reports whether a path is above or leads through it.
func below(path, above []string) bool {
	return len(path) >= len(above) && slices.Equal(path[:len(above)], above)
}

// trimComments excludes trailing blank lines and comments.
func trimComments(text []byte, start, end int) int {
	for end > start {
		at := lineStart(text, end-1)
		line := bytes.TrimSpace(text[at:end])
		if at <= start || len(line) > 0 && line[0] != '#' {
			break
		}
		end = at
	}
	return end
}

// setTOML adds an entry as a table at the end, or replaces all that belongs to it: its
// table, its subtables and dotted keys.
func setTOML(
	text []byte,
	old *tree.Node,
	t Target,
	name string,
	value *tree.Node,
) ([]splice, error) {
	if in, ok := inlineHolder(text, old, t); ok {
		return in.set(name, value)
	}
	eol := lineEnd(text)
	path := []string{t.Root, name}
	found := spans(text, path)
	if len(found) == 0 {
		return appended(text, beforeTable(text, eol)+tomlTable(path, value, eol)), nil
	}
	first := found[0]
	with := ""
	switch under := first.first.under; {
	case first.first.header:
		with = tomlTable(path, value, eol)
	case under <= len(path):
		var keys []string
		for _, k := range path[under:] {
			keys = append(keys, tomlKey(k))
		}
		if len(keys) == 0 {
			return nil, ErrShape
		}
		with = strings.Join(keys, ".") + " = " + tomlValue(value) + eol
	}
	if first.end == len(text) && text[len(text)-1] != '\n' {
		with = strings.TrimSuffix(with, eol)
	}
	splices := []splice{{first.start, first.end, with}}
	for _, s := range found[1:] {
		splices = append(splices, splice{s.start, s.end, ""})
	}
	return splices, nil
}

// removeTOML removes everything that belongs to an entry, with one of the blank lines
// around it.
func removeTOML(text []byte, old *tree.Node, t Target, name string) ([]splice, error) {
	if in, ok := inlineHolder(text, old, t); ok {
		return in.remove(name)
	}
	found := spans(text, []string{t.Root, name})
	if len(found) == 0 {
		return nil, ErrShape
	}
	var splices []splice
	for _, s := range found {
		before := lineStart(text, max(0, s.start-1))
		blankBefore := isBlank(text[before:s.start])
		blankAfter := s.end == len(text) || isBlank(text[s.end:nextLine(text, s.end)])
		if s.first.header && blankBefore && blankAfter {
			s.start = before // the blank line that sets it off
		}
		splices = append(splices, splice{s.start, s.end, ""})
	}
	return splices, nil
}

// beforeTable returns the text before a table that is added to the end of a file: it
// finishes the last line and sets the table off with a blank one.
func beforeTable(text []byte, eol string) string {
	if isBlank(text) {
		return ""
	}
	return finishLine(text, eol) + eol
}

// isBlank reports whether a text is only white space.
func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// tomlTable formats a value as a table with a header.
func tomlTable(path []string, value *tree.Node, eol string) string {
	var keys []string
	for _, k := range path {
		keys = append(keys, tomlKey(k))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]%s", strings.Join(keys, "."), eol)
	for _, m := range value.Members {
		b.WriteString(tomlKey(m.Key) + " = " + tomlValue(m.Value) + eol)
	}
	return b.String()
}

// tomlKey returns a key, in quotes if it is not a bare key.
func tomlKey(key string) string {
	plain := key != "" &&
		strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
	if plain {
		return key
	}
	return tomlString(key)
}

// tomlString returns a basic string. JSON has the same escapes, but allows DEL unescaped (TOML
// 1.0, "String").
func tomlString(s string) string {
	return strings.ReplaceAll(string(jsonscan.AppendQuote(nil, s)), "\x7f", `\u007F`)
}

// tomlValue returns a value on one line.
func tomlValue(n *tree.Node) string {
	var parts []string
	switch n.Kind {
	case tree.String:
		return tomlString(n.Text)
	case tree.Array:
		for _, item := range n.Items {
			parts = append(parts, tomlValue(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case tree.Object:
		for _, m := range n.Members {
			parts = append(parts, tomlKey(m.Key)+" = "+tomlValue(m.Value))
		}
		if parts == nil {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return n.Text
}
