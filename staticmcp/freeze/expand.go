package freeze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// Expansion derives calls of one tool from the answers of another: the values found by
// Paths in an answer of From become the Arguments of Tool, combining the first value of
// each path, then the second, and so on.
type Expansion struct {
	// Tool and Arguments are the calls to make, From is the tool whose answers have the
	// values, and Paths lead to them.
	Tool      string
	Arguments []string
	From      string
	Paths     []Path
}

// ParseExpansion reads an expansion such as
//
//	get_item.id=list_items:$.structuredContent.items[*].id
//	get_file.repo,name=list_files:$.files[*].repo,$.files[*].name
func ParseExpansion(text string) (Expansion, error) {
	target, source, ok := strings.Cut(text, "=")
	dot := strings.LastIndexByte(target, '.')
	from, paths, more := strings.Cut(source, ":")
	if !ok || !more || dot <= 0 || from == "" {
		return Expansion{}, fmt.Errorf("want TOOL.ARGUMENT=TOOL:PATH, such as 'get_item.id=list_items:$.items[*].id'")
	}
	x := Expansion{
		Tool:      target[:dot],
		Arguments: strings.Split(target[dot+1:], ","),
		From:      from,
	}
	for one := range strings.SplitSeq(paths, ",") {
		p, err := parsePath(one)
		if err != nil {
			return Expansion{}, err
		}
		x.Paths = append(x.Paths, p)
	}
	if len(x.Paths) != len(x.Arguments) {
		return Expansion{}, fmt.Errorf("%d arguments and %d paths",
			len(x.Arguments), len(x.Paths))
	}
	return x, nil
}

// Path finds values in a JSON document: the root $, members .name or ['name'], elements
// [0], and all of them [*] or .*. A step applied to a string continues within it if the
// string is itself JSON, as in the texts of many tools.
type Path []string

// all is the step that selects every member or element.
const all = "*"

// parsePath reads a path such as $.items[*].id.
func parsePath(text string) (Path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fmt.Errorf("path %q does not begin with $", text)
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
			step = rest[1 : 1+end]
			rest = rest[1+end:]
		case '[':
			var closed bool
			if step, rest, closed = strings.Cut(rest[1:], "]"); !closed {
				return nil, fmt.Errorf("path %q has an unclosed bracket", text)
			}
			step = strings.Trim(step, `'"`)
		}
		if step == "" {
			return nil, fmt.Errorf("path %q has an empty step", text)
		}
		p = append(p, step)
	}
	return p, nil
}

// find returns the values in doc that match the path.
func (p Path) find(doc json.RawMessage) (found []json.RawMessage) {
	if len(p) == 0 {
		return []json.RawMessage{bytes.TrimSpace(doc)}
	}
	switch kind, text := kindOf(doc); kind {
	case "string":
		if json.Valid([]byte(text)) && strings.ContainsAny(text, "{[") {
			return p.find(json.RawMessage(text))
		}
	case "array":
		var list []json.RawMessage
		_ = json.Unmarshal(doc, &list) // a malformed document has no elements
		at, err := strconv.Atoi(p[0])
		for i, element := range list {
			if p[0] == all || err == nil && i == at {
				found = append(found, p[1:].find(element)...)
			}
		}
	case "object":
		var members map[string]json.RawMessage
		_ = json.Unmarshal(doc, &members)
		if value, ok := members[p[0]]; ok {
			return p[1:].find(value)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if p[0] == all {
				found = append(found, p[1:].find(members[name])...)
			}
		}
	}
	return found
}

// calls returns the calls derived from an answer of x.From. inputSchema is that of the
// called tool.
func (x *Expansion) calls(doc, inputSchema json.RawMessage) []staticmcp.Question {
	columns := make([][]json.RawMessage, len(x.Paths))
	for i, p := range x.Paths {
		columns[i] = p.find(doc)
	}
	if len(columns) == 0 {
		return nil
	}
	shortest := slices.MinFunc(columns, func(a, b []json.RawMessage) int {
		return len(a) - len(b)
	})
	var list []staticmcp.Question
	for row := range shortest {
		values := make([]json.RawMessage, len(columns))
		for i, name := range x.Arguments {
			values[i] = typed(columns[i][row], propertyOf(inputSchema, name),
				inputSchema, 0)
		}
		list = append(list, staticmcp.Question{
			Tool:      x.Tool,
			Arguments: object(x.Arguments, values),
		})
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
	case kind != "string" || !json.Valid([]byte(text)):
		return value
	}
	other, _ := kindOf(json.RawMessage(text))
	if other == "number" && (takes("number") || takes("integer")) ||
		other == "boolean" && takes("boolean") {
		return json.RawMessage(text)
	}
	return value
}

// kindOf returns the type of a JSON value and, for a string, its text.
func kindOf(value json.RawMessage) (kind, text string) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "", ""
	}
	switch value[0] {
	case '"':
		_ = json.Unmarshal(value, &text) // the value has already been parsed
		return "string", text
	case '[':
		return "array", ""
	case '{':
		return "object", ""
	case 't', 'f':
		return "boolean", ""
	case 'n':
		return "null", ""
	}
	return "number", ""
}
