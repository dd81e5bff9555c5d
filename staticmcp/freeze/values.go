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
	// Ref is resolved first. All other keywords provide values to try, or bounds of them.
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

// propertyOf returns the schema of an argument, or nil.
func propertyOf(inputSchema json.RawMessage, name string) json.RawMessage {
	return jsonscan.Member(jsonscan.Member(inputSchema, "properties"), name)
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
	if all := p.integers(maxRange); all != nil {
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
	found.values = append(append(found.values, p.Default, p.Example), p.Examples...)
	found.values = distinct(found.values)
	return found
}

// isNull reports whether a schema allows only null, which counts as omitted.
func isNull(schema json.RawMessage) bool {
	return string(jsonscan.Member(schema, "type")) == `"null"`
}

// integers returns all integers that an argument can have, or nil if they are not limited
// to a few.
func (p *property) integers(most int) (all []json.RawMessage) {
	low, lowOK := limit(p.Minimum, p.ExclusiveMinimum, 1)
	high, highOK := limit(p.Maximum, p.ExclusiveMaximum, -1)
	if string(p.Type) != `"integer"` || !lowOK || !highOK || high-low >= float64(most) {
		return nil
	}
	for n := int64(low); n <= int64(high); n++ {
		all = append(all, strconv.AppendInt(nil, n, 10))
	}
	return all
}

// limit returns the smallest or largest permitted value, for both spellings of exclusive
// limits.
func limit(inclusive *float64, exclusive json.RawMessage, step float64) (float64, bool) {
	if n, err := strconv.ParseFloat(string(exclusive), 64); err == nil {
		return n + step, true
	}
	switch {
	case inclusive == nil:
		return 0, false
	case string(exclusive) == "true":
		return *inclusive + step, true
	}
	return *inclusive, true
}

// distinct returns values without null, each once.
func distinct(values []json.RawMessage) (kept []json.RawMessage) {
	seen := map[string]bool{"": true, "null": true}
	for _, v := range values {
		var b bytes.Buffer
		if v == nil || json.Compact(&b, v) != nil || seen[b.String()] {
			continue
		}
		seen[b.String()] = true
		kept = append(kept, b.Bytes())
	}
	return kept
}

// pointed returns the part of root that a reference such as "#/$defs/page" points to, or
// nil.
func pointed(root json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		root = jsonscan.Member(root, jsonscan.UnescapeToken(step))
	}
	return root
}

// combinations calls visit with each combination of one option per place, the last place
// changing fastest, until it returns false. A nil option means that the argument is
// omitted.
func combinations[T any](options [][]T, visit func([]T) bool) {
	if slices.ContainsFunc(options, func(o []T) bool { return len(o) == 0 }) {
		return
	}
	at := make([]int, len(options))
	chosen := make([]T, len(options))
	for last := 0; last >= 0; {
		for i, o := range options {
			chosen[i] = o[at[i]]
		}
		if !visit(chosen) {
			return
		}
		for last = len(at) - 1; last >= 0; last-- {
			if at[last]++; at[last] < len(options[last]) {
				break
			}
			at[last] = 0
		}
	}
}

// object writes the named values that are not nil as a JSON object.
func object(names []string, values []json.RawMessage) json.RawMessage {
	doc := []byte{'{'}
	for i, v := range values {
		if v != nil {
			doc = append(jsonscan.AppendQuote(separated(doc), names[i]), ':')
			doc = append(doc, v...)
		}
	}
	return append(doc, '}')
}

// toolCalls returns the calls derived from the definition of a tool, or a note why there
// are none.
func toolCalls(
	layout *staticmcp.ToolLayout, name string, inputSchema json.RawMessage, limits Limits,
) (calls []staticmcp.Question, note string) {
	var names []string
	var options [][]json.RawMessage
	complete := true
	for _, a := range layout.Arguments() {
		found := valuesOf(propertyOf(inputSchema, a.Name), inputSchema, limits.Range, 0)
		complete = complete && found.complete
		values := slices.Clone(found.values)
		if a.Required && len(values) == 0 {
			return nil, "no values are known for " + a.Name
		}
		if !a.Required {
			// If omitted, it has its default, and the answer is the same file.
			values = slices.DeleteFunc(values, func(v json.RawMessage) bool {
				return bytes.Equal(v, a.Default)
			})
			values = append([]json.RawMessage{nil}, values...)
		}
		names = append(names, a.Name)
		options = append(options, values)
	}
	cut := false
	combinations(options, func(chosen []json.RawMessage) bool {
		if cut = len(calls) == limits.PerTool; !cut {
			calls = append(calls, staticmcp.Question{
				Tool:      name,
				Arguments: object(names, chosen),
			})
		}
		return !cut
	})
	switch {
	case cut:
		note = fmt.Sprintf("only the first %d combinations of arguments", limits.PerTool)
	case !complete && len(calls) > 0:
		note = "only the values that the definition shows"
	}
	return calls, note
}
