package freeze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// property holds the relevant keywords of an argument's schema.
type property struct {
	Ref      string            `json:"$ref"`
	Type     json.RawMessage   `json:"type"`
	Const    json.RawMessage   `json:"const"`
	Enum     []json.RawMessage `json:"enum"`
	Default  json.RawMessage   `json:"default"`
	Examples []json.RawMessage `json:"examples"`
	Example  json.RawMessage   `json:"example"`
	Minimum  *float64          `json:"minimum"`
	Maximum  *float64          `json:"maximum"`
	// In older drafts, an exclusive limit was a boolean.
	ExclusiveMinimum json.RawMessage   `json:"exclusiveMinimum"`
	ExclusiveMaximum json.RawMessage   `json:"exclusiveMaximum"`
	OneOf            []json.RawMessage `json:"oneOf"`
	AnyOf            []json.RawMessage `json:"anyOf"`
}

// candidates are the values to try for an argument.
type candidates struct {
	values []json.RawMessage
	// complete reports whether there are no other values.
	complete bool
}

// argumentValues returns the values of each declared argument of a tool.
func argumentValues(inputSchema json.RawMessage, arguments []staticmcp.Argument, maxRange int) []candidates {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(inputSchema, &schema) // an unreadable schema has no values
	list := make([]candidates, len(arguments))
	for i, a := range arguments {
		list[i] = valuesOf(schema.Properties[a.Name], inputSchema, maxRange, 0)
	}
	return list
}

// maxRefs bounds the length of a chain of references.
const maxRefs = 8

// valuesOf returns the values that a schema lists, or to which it restricts the argument.
func valuesOf(schema, root json.RawMessage, maxRange, depth int) candidates {
	var p property
	if len(schema) == 0 || json.Unmarshal(schema, &p) != nil || depth > maxRefs {
		return candidates{}
	}
	switch {
	case p.Const != nil:
		return candidates{[]json.RawMessage{p.Const}, true}
	case len(p.Enum) > 0:
		return candidates{distinct(p.Enum), true}
	case p.Ref != "":
		return valuesOf(pointed(root, p.Ref), root, maxRange, depth+1)
	case string(p.Type) == `"boolean"`:
		return candidates{[]json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}, true}
	}
	if all, ok := p.wholeRange(maxRange); ok {
		return candidates{all, true}
	}
	var found candidates
	for _, branches := range [][]json.RawMessage{p.OneOf, p.AnyOf} {
		found.complete = found.complete || len(branches) > 0
		for _, branch := range branches {
			c := valuesOf(branch, root, maxRange, depth+1)
			found.values = append(found.values, c.values...)
			found.complete = found.complete && (c.complete || isNull(branch))
		}
	}
	for _, v := range append([]json.RawMessage{p.Default, p.Example}, p.Examples...) {
		if v != nil {
			found.values = append(found.values, v)
		}
	}
	found.values = distinct(found.values)
	return found
}

// isNull reports whether a schema allows only null, which counts as omitted.
func isNull(schema json.RawMessage) bool {
	var p property
	return json.Unmarshal(schema, &p) == nil && string(p.Type) == `"null"`
}

// wholeRange returns all integers that an argument can have, if they are few.
func (p *property) wholeRange(most int) ([]json.RawMessage, bool) {
	if string(p.Type) != `"integer"` {
		return nil, false
	}
	low, lowOK := limit(p.Minimum, p.ExclusiveMinimum, 1)
	high, highOK := limit(p.Maximum, p.ExclusiveMaximum, -1)
	if !lowOK || !highOK || high < low || high-low >= float64(most) {
		return nil, false
	}
	var all []json.RawMessage
	for n := int64(low); n <= int64(high); n++ {
		all = append(all, strconv.AppendInt(nil, n, 10))
	}
	return all, true
}

func limit(inclusive *float64, exclusive json.RawMessage, step float64) (float64, bool) {
	if n, err := strconv.ParseFloat(string(exclusive), 64); err == nil {
		return n + step, true
	}
	if inclusive == nil {
		return 0, false
	}
	if string(exclusive) == "true" {
		return *inclusive + step, true
	}
	return *inclusive, true
}

// distinct returns values without null, each once.
func distinct(values []json.RawMessage) []json.RawMessage {
	seen := make(map[string]bool)
	var kept []json.RawMessage
	for _, v := range values {
		var b bytes.Buffer
		if json.Compact(&b, v) != nil || b.String() == "null" || seen[b.String()] {
			continue
		}
		seen[b.String()] = true
		kept = append(kept, b.Bytes())
	}
	return kept
}

// pointed returns the part of root that a reference such as "#/$defs/page"
// points to, or nil.
func pointed(root json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		var members map[string]json.RawMessage
		if json.Unmarshal(root, &members) != nil {
			return nil
		}
		root = members[jsonscan.UnescapeToken(step)]
	}
	return root
}

// combinations calls visit with each combination of one option per place, the last place
// changing fastest, until it returns false. A nil option means that the argument is
// omitted.
func combinations[T any](options [][]T, visit func([]T) bool) {
	for _, o := range options {
		if len(o) == 0 {
			return
		}
	}
	at := make([]int, len(options))
	chosen := make([]T, len(options))
	for {
		for i, o := range options {
			chosen[i] = o[at[i]]
		}
		if !visit(chosen) {
			return
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(options[i]) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// object writes the named values that are not nil as a JSON object.
func object(names []string, values []json.RawMessage) json.RawMessage {
	doc := []byte{'{'}
	for i, v := range values {
		if v == nil {
			continue
		}
		if len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc = append(jsonscan.AppendQuote(doc, names[i]), ':')
		doc = append(doc, v...)
	}
	return append(doc, '}')
}

// toolCalls returns the calls derived from the definition of a tool, or a note why there
// are none.
func toolCalls(
	layout *staticmcp.ToolLayout,
	name string,
	inputSchema json.RawMessage,
	o *Options,
) (calls []staticmcp.Question, note string) {
	arguments := layout.Arguments()
	values := argumentValues(inputSchema, arguments, o.MaxRange)
	names := make([]string, len(arguments))
	options := make([][]json.RawMessage, len(arguments))
	complete := true
	for i, a := range arguments {
		names[i] = a.Name
		options[i] = slices.Clone(values[i].values)
		complete = complete && values[i].complete
		if a.Required {
			if len(options[i]) == 0 {
				return nil, fmt.Sprintf("no values are known for %s", a.Name)
			}
			continue
		}
		// If omitted, it has its default, and the answer is the same file.
		options[i] = slices.DeleteFunc(options[i], func(v json.RawMessage) bool { return bytes.Equal(v, a.Default) })
		options[i] = append([]json.RawMessage{nil}, options[i]...)
	}
	cut := false
	combinations(options, func(chosen []json.RawMessage) bool {
		if len(calls) == o.MaxPerTool {
			cut = true
			return false
		}
		calls = append(calls, staticmcp.Question{Tool: name, Arguments: object(names, chosen)})
		return true
	})
	switch {
	case cut:
		note = fmt.Sprintf("only the first %d combinations of arguments", o.MaxPerTool)
	case !complete && len(calls) > 0:
		note = "only the values that the definition shows"
	}
	return calls, note
}
