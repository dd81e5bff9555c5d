package freeze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// Rule derives calls of one tool from the answers of another: the values found by Paths
// in an answer of From become the Arguments of Tool, combining the first value of each
// path, then the second, and so on.
type Rule struct {
	Tool      string
	Arguments []string
	From      string
	Paths     []Path
}

// ParseRule reads a rule such as
//
//	get_item.id=list_items:$.structuredContent.items[*].id
//	get_file.repo,name=list_files:$.files[*].repo,$.files[*].name
func ParseRule(text string) (Rule, error) {
	target, source, ok := strings.Cut(text, "=")
	dot := strings.LastIndexByte(target, '.')
	from, paths, more := strings.Cut(source, ":")
	if !ok || !more || dot <= 0 || from == "" {
		return Rule{}, fmt.Errorf("the rule %q is not TOOL.ARGUMENT=TOOL:PATH", text)
	}
	r := Rule{Tool: target[:dot], Arguments: strings.Split(target[dot+1:], ","), From: from}
	for one := range strings.SplitSeq(paths, ",") {
		p, err := ParsePath(one)
		if err != nil {
			return Rule{}, err
		}
		r.Paths = append(r.Paths, p)
	}
	if len(r.Paths) != len(r.Arguments) {
		return Rule{}, fmt.Errorf("the rule %q has %d arguments and %d paths", text, len(r.Arguments), len(r.Paths))
	}
	return r, nil
}

// Path finds values in a JSON document: the root $, members .name or ['name'], elements
// [0], and all of them [*] or .*. A step applied to a string continues within it if the
// string is itself JSON, as in the texts of many tools.
type Path []string

// all is the step that selects every member or element.
const all = "*"

// ParsePath reads a path such as $.items[*].id.
func ParsePath(text string) (Path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fmt.Errorf("the path %q does not begin with $", text)
	}
	p := Path{}
	for rest != "" {
		var step string
		switch rest[0] {
		case '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			step, rest = rest[1:1+end], rest[1+end:]
		case '[':
			var closed bool
			if step, rest, closed = strings.Cut(rest[1:], "]"); !closed {
				return nil, fmt.Errorf("the path %q has a bracket without its end", text)
			}
			step = strings.Trim(step, `'"`)
		}
		if step == "" {
			return nil, fmt.Errorf("the path %q has an empty step", text)
		}
		p = append(p, step)
	}
	return p, nil
}

// Find returns the values in doc that match the path.
func (p Path) Find(doc json.RawMessage) []json.RawMessage {
	doc = bytes.TrimSpace(doc)
	if len(p) == 0 {
		return []json.RawMessage{doc}
	}
	if len(doc) == 0 {
		return nil
	}
	var found []json.RawMessage
	switch doc[0] {
	case '"':
		var text string
		if json.Unmarshal(doc, &text) == nil && json.Valid([]byte(text)) && strings.ContainsAny(text, "{[") {
			return p.Find(json.RawMessage(text))
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(doc, &list) != nil {
			return nil
		}
		if i, err := strconv.Atoi(p[0]); err == nil && i >= 0 && i < len(list) {
			return p[1:].Find(list[i])
		}
		if p[0] == all {
			for _, element := range list {
				found = append(found, p[1:].Find(element)...)
			}
		}
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(doc, &members) != nil {
			return nil
		}
		if value, ok := members[p[0]]; ok {
			return p[1:].Find(value)
		}
		if p[0] == all {
			var names []string
			for name := range members {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				found = append(found, p[1:].Find(members[name])...)
			}
		}
	}
	return found
}

// calls returns the calls derived from an answer of r.From. inputSchema is that of the
// called tool.
func (r *Rule) calls(doc, inputSchema json.RawMessage) []staticmcp.Question {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(inputSchema, &schema) // without it values are used unchanged
	columns := make([][]json.RawMessage, len(r.Paths))
	rows := -1
	for i, p := range r.Paths {
		columns[i] = p.Find(doc)
		if rows < 0 || len(columns[i]) < rows {
			rows = len(columns[i])
		}
	}
	var list []staticmcp.Question
	for row := range max(0, rows) {
		values := make([]json.RawMessage, len(columns))
		for i := range columns {
			values[i] = typed(columns[i][row], schema.Properties[r.Arguments[i]], inputSchema, 0)
		}
		list = append(list, staticmcp.Question{Tool: r.Tool, Arguments: object(r.Arguments, values)})
	}
	return list
}

// typed converts value to an equivalent of a type that schema accepts, if there is one:
// an element to a list of one, a number to a text and vice versa.
func typed(value, schema, root json.RawMessage, depth int) json.RawMessage {
	var p struct {
		property
		Items json.RawMessage `json:"items"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &p) != nil || depth > maxRefs {
		return value
	}
	if p.Ref != "" {
		return typed(value, pointed(root, p.Ref), root, depth+1)
	}
	var types []string
	if json.Unmarshal(p.Type, &types) != nil {
		types = []string{strings.Trim(string(p.Type), `"`)}
	}
	kind, text := kindOf(value)
	takes := func(name string) bool { return slices.Contains(types, name) }
	switch {
	case takes(kind), takes("integer") && kind == "number":
		return value
	case takes("array"):
		element := typed(value, p.Items, root, depth+1)
		return append(append([]byte{'['}, element...), ']')
	case takes("string") && (kind == "number" || kind == "boolean"):
		return quote(string(value))
	case kind != "string":
		return value
	}
	other, _ := kindOf(json.RawMessage(text))
	switch {
	case !json.Valid([]byte(text)):
		return value
	case other == "number" && (takes("number") || takes("integer")), other == "boolean" && takes("boolean"):
		return json.RawMessage(text)
	}
	return value
}

// kindOf returns the type of a JSON value and, for a string, its text.
func kindOf(value json.RawMessage) (kind, text string) {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
		return "", ""
	case value[0] == '"':
		_ = json.Unmarshal(value, &text) // the value has already been parsed
		return "string", text
	case value[0] == '[':
		return "array", ""
	case value[0] == '{':
		return "object", ""
	case value[0] == 't' || value[0] == 'f':
		return "boolean", ""
	case value[0] == 'n':
		return "null", ""
	}
	return "number", ""
}
