package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// Append returns text with an item added to the end of the list t.Root, which is created
// if it is missing. The error matches [ErrShape] if that is not possible.
func Append(text []byte, t Target, item *tree.Node) ([]byte, error) {
	t.List = true
	old, err := parse(text, t)
	if err != nil {
		return nil, err
	}
	var splices []splice
	switch holder := old.Get(t.Root); {
	case holder != nil && holder.Kind != tree.Array && holder.Kind != tree.Null:
		return nil, fmt.Errorf("%s is %s, not a list", t.Root, holder.Kind)
	case old == nil && t.Format != tree.TOML:
		splices = appended(text, fresh(text, t, "", item))
	case t.Format == tree.TOML:
		splices, err = appendTOML(text, holder, t.Root, item)
	case t.Format == tree.YAML:
		splices, err = appendYAML(text, old, t, item)
	default:
		splices, err = appendJSON(text, old, t.Root, item)
	}
	if err != nil {
		return nil, err
	}
	out := apply(text, splices)
	made, err := parse(out, t)
	if err != nil {
		return nil, fmt.Errorf("%w (after the edit: %w)", ErrShape, err)
	}
	if !sameValue(made, grown(old, t.Root, item)) {
		return nil, ErrShape
	}
	return out, nil
}

// grown returns the content of a file with an item added.
func grown(old *tree.Node, name string, item *tree.Node) *tree.Node {
	out := &tree.Node{Kind: tree.Object}
	list := &tree.Node{Kind: tree.Array}
	found := false
	if old != nil {
		for _, m := range old.Members {
			if m.Key == name {
				list.Items = append(list.Items, m.Value.Items...)
				m.Value = list
				found = true
			}
			out.Members = append(out.Members, m)
		}
	}
	if list.Items = append(list.Items, item); !found {
		out.Members = append(out.Members, tree.Member{
			Key:   name,
			Value: list,
		})
	}
	return out
}

// appendJSON adds an item to a list in JSON.
func appendJSON(text []byte, root *tree.Node, name string, item *tree.Node) ([]splice, error) {
	unit := unitOf(text, root)
	eol := lineEnd(text)
	list := root.Get(name)
	if list == nil {
		return insertJSON(text, root, name, &tree.Node{
			Kind:  tree.Array,
			Items: []*tree.Node{item},
		}, unit, eol), nil
	}
	if list.Kind != tree.Array {
		return nil, ErrShape
	}
	if len(list.Items) == 0 {
		if len(bytes.TrimSpace(text[list.Start+1:list.End-1])) > 0 {
			return nil, ErrShape // a comment
		}
		return []splice{{list.Start + 1, list.End - 1, string(item.AppendJSON(nil))}}, nil
	}
	first := list.Items[0]
	last := list.Items[len(list.Items)-1]
	if bytes.IndexByte(text[list.Start:first.Start], '\n') < 0 { // all on one line
		return inserted(last.End, ", "+string(item.AppendJSON(nil))), nil
	}
	inner := indentation(text, first.Start)
	entry := eol + inner + jsonText(item, inner, unit, eol)
	if bytes.IndexByte(text[first.Start:first.End], '\n') < 0 {
		entry = eol + inner + string(item.AppendJSON(nil)) // like the others
	}
	return insertAfter(text, last.End, entry), nil
}

// appendYAML adds an item to a list in YAML, in the style of the existing items.
func appendYAML(text []byte, root *tree.Node, t Target, item *tree.Node) ([]splice, error) {
	eol := lineEnd(text)
	m := root.Member(t.Root)
	if m == nil {
		header := finishLine(text, eol) + yamlText(t.Root) + ":" + eol
		return appended(text, header+yamlItem(item, "  ", eol)), nil
	}
	if !plainKey(text, m) {
		return nil, ErrShape
	}
	if len(m.Value.Items) == 0 {
		return setEmpty(text, m, t, "", item, eol)
	}
	if m.Value.Start < len(text) && text[m.Value.Start] == '[' {
		return intoBrackets(text, m.Value.Start, string(item.AppendJSON(nil)))
	}
	if !editable(text, m) {
		return nil, ErrShape
	}
	b, err := yamlBlock(text, m.Value, t)
	if err != nil {
		return nil, err
	}
	with := yamlItem(item, b.indent, eol)
	if text[b.end-1] != '\n' {
		with = eol + strings.TrimSuffix(with, eol)
	}
	return inserted(b.end, with), nil
}

// appendTOML adds an item to a list in TOML: to an array in brackets, or as a table of its
// own.
func appendTOML(text []byte, list *tree.Node, name string, item *tree.Node) ([]splice, error) {
	eol := lineEnd(text)
	if list != nil && list.Kind == tree.Array {
		at := bytes.IndexByte(text[min(list.Start, len(text)):], '[')
		if at >= 0 && !listOfTables(text, name) {
			return intoBrackets(text, list.Start+at, tomlValue(item))
		}
	}
	table := "[" + tomlTable([]string{name}, item, eol)
	table = strings.Replace(table, "]", "]]", 1)
	return appended(text, beforeTable(text, eol)+table), nil
}

// listOfTables reports whether a list is written as [[name]].
func listOfTables(text []byte, name string) bool {
	for _, e := range expressions(text) {
		if e.header && len(e.path) == 1 && e.path[0] == name {
			return true
		}
	}
	return false
}

// intoBrackets adds an item to the list in brackets that starts at the byte at.
func intoBrackets(text []byte, at int, item string) ([]splice, error) {
	depth := 0
	last := -1
	for i := at; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '#':
			if i > 0 && strings.IndexByte(" \t\n,[", text[i-1]) >= 0 {
				i = nextLineEnd(text, i) - 1
				continue
			}
		case '"', '\'':
			i = closing(text, i)
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				with := ", " + item
				switch text[last-1] {
				case ',':
					with = " " + item + ","
				case '[':
					with = item
				}
				return inserted(last, with), nil
			}
		}
		last = min(i+1, len(text))
	}
	return nil, ErrShape
}

// closing returns the position of the quote that closes the one at i. In double quotes, a
// backslash escapes.
func closing(text []byte, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' && quote == '"' {
			i++
		}
	}
	return i
}
