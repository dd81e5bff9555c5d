package staticmcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// tool holds what is needed to find the answers of a tool.
type tool struct {
	// name is that of the manifest, unencoded.
	name string
	// params are the arguments in path order: those of required in its order, then the other
	// properties in the order of the schema's text.
	params []param
	// dirs are the spellings of the folder in tools/, the standard's first.
	dirs []string
	// learnt is the form that last succeeded on a web host, plus one.
	learnt atomic.Uint32
	// searches are the search indexes that answer calls, or nil. searchers has the reader of each
	// folder that was used, a *search.Index.
	searches  *site.Searches
	searchers sync.Map
	// page describes the argument that is the path of a page, or is nil.
	page *pageArgument

	inputSchema json.RawMessage
	compiling   sync.Once
	schema      *schema.Schema // nil if it cannot be used
	schemaErr   error
}

// param is one declared argument.
type param struct {
	// name is that of the property.
	name     string
	required bool
	fallback []byte // the default, or nil
}

// newTool reads from inputSchema, a JSON object, what determines the paths.
func newTool(name string, inputSchema json.RawMessage) *tool {
	t := &tool{
		name:        name,
		inputSchema: inputSchema,
		dirs:        site.ToolFolders(name),
	}
	parts := site.SchemaParts(inputSchema, inputSchema, nil)
	for _, part := range parts {
		for _, m := range jsonscan.Members(part) {
			if m.Name != "required" || m.Value[0] != '[' {
				continue
			}
			for _, element := range jsonscan.Elements(m.Value) {
				if name, ok := jsonscan.Unquote(element); ok && t.param(name) < 0 {
					t.params = append(t.params, param{
						name:     name,
						required: true,
					})
				}
			}
		}
	}
	for _, part := range parts {
		for _, m := range jsonscan.Members(part) {
			if m.Name != "properties" || m.Value[0] != '{' {
				continue
			}
			for _, property := range jsonscan.Members(m.Value) {
				t.property(property)
			}
		}
	}
	return t
}

// property adds a property of the schema, with its default.
func (t *tool) property(m jsonscan.Field) {
	i := t.param(m.Name)
	if i < 0 {
		i = len(t.params)
		t.params = append(t.params, param{name: m.Name})
	}
	if m.Value[0] != '{' {
		return
	}
	for _, keyword := range jsonscan.Members(m.Value) {
		if keyword.Name == "default" && string(keyword.Value) != "null" {
			t.params[i].fallback = keyword.Value
		}
	}
}

// param returns the index of the argument called name, or -1.
func (t *tool) param(name string) int {
	return slices.IndexFunc(t.params, func(p param) bool {
		return p.name == name
	})
}

func (t *tool) argumentNames() []string {
	names := make([]string, len(t.params))
	for i := range t.params {
		names[i] = t.params[i].name
	}
	return names
}

// value is an argument of a call.
type value struct {
	// param is the index in the tool's params, and raw the JSON of the value.
	param int
	raw   []byte
	// texts are its spellings as text, the canonical one first.
	texts []string
}

func sortByParam(values []value) {
	slices.SortStableFunc(values, func(a, b value) int { return a.param - b.param })
}

// absent reports whether the value counts as omitted: it is null, or it encodes to an
// empty name.
func (v *value) absent() bool {
	return len(v.texts) == 0 || site.EncodeName(v.texts[0]) == ""
}

// arguments checks the arguments of a call and returns them in path order. Errors are
// worded for the model that made the call.
func (t *tool) arguments(raw json.RawMessage) ([]value, error) {
	if i := jsonscan.Space(raw, 0); i == len(raw) {
		raw = json.RawMessage(`{}`)
	} else if raw[i] != '{' || jsonscan.Valid(raw) != nil {
		return nil, mcp.InvalidArguments("the arguments must be a JSON object")
	}
	var values []value
	nulls := false
	for _, m := range jsonscan.Members(raw) {
		i := t.param(m.Name)
		switch {
		case i < 0:
			return nil, t.unknown(m.Name)
		case slices.ContainsFunc(values, func(v value) bool {
			return v.param == i
		}):
			return nil, mcp.InvalidArguments(fmt.Sprintf("duplicate argument %q", m.Name))
		case len(m.Value) > site.MaxText:
			return nil, mcp.InvalidArguments(fmt.Sprintf("argument %q is longer than %d bytes", m.Name, site.MaxText))
		}
		nulls = nulls || string(m.Value) == "null"
		values = append(values, value{
			param: i,
			raw:   m.Value,
		})
	}
	if err := t.check(raw, values, nulls); err != nil {
		return nil, err
	}
	sortByParam(values)
	for i := range values {
		values[i].texts = spellings(values[i].raw)
	}
	return values, nil
}

// unknown returns the error for an unknown argument, listing the accepted ones.
func (t *tool) unknown(name string) error {
	if len(t.params) == 0 {
		return mcp.InvalidArguments(fmt.Sprintf("unknown argument %q: %s takes no arguments", name, t.name))
	}
	accepted := t.argumentNames()
	for i, p := range t.params {
		if p.required {
			accepted[i] += " (required)"
		}
	}
	hint := ""
	if near := nearest.DidYouMean(name, t.argumentNames()); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return mcp.InvalidArguments(fmt.Sprintf("unknown argument %q%s: %s accepts %s",
		name, hint, t.name, strings.Join(accepted, ", ")))
}

// check validates the arguments against the tool's schema. A null that the schema does
// not allow counts as omitted, because many clients send one for an unused argument.
func (t *tool) check(raw []byte, values []value, nulls bool) error {
	t.compiling.Do(func() {
		t.schema, t.schemaErr = schema.Compile(t.inputSchema)
	})
	if t.schema == nil {
		return t.checkRequired(values)
	}
	err := t.schema.Validate(raw)
	if err != nil && nulls {
		err = t.schema.Validate(t.withoutNulls(values))
	}
	if err != nil {
		return mcp.InvalidArguments("invalid arguments for " + t.name + ": " + err.Error())
	}
	return nil
}

// withoutNulls encodes the arguments for validation against the schema, in which an absent
// argument is not null.
func (t *tool) withoutNulls(values []value) []byte {
	object := []byte{'{'}
	for _, v := range values {
		if string(v.raw) == "null" {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(jsonscan.AppendQuote(object, t.params[v.param].name), ':')
		object = append(object, v.raw...)
	}
	return append(object, '}')
}

// checkRequired is the only check possible when the schema cannot be used.
func (t *tool) checkRequired(values []value) error {
	for i, p := range t.params {
		if p.required && !slices.ContainsFunc(values, func(v value) bool {
			return v.param == i
		}) {
			return mcp.InvalidArguments(fmt.Sprintf("invalid arguments for %s: %s: required", t.name, p.name))
		}
	}
	return nil
}

// spellings returns the texts that represent a JSON value in a path: first the canonical
// one, then those of known generators that differ. Null has none.
func spellings(raw []byte) []string {
	switch raw[0] {
	case 'n':
		return nil
	case '"':
		text, _ := jsonscan.Unquote(raw)
		return []string{text}
	}
	texts := []string{string(canonical.AppendExact(nil, raw))}
	others := []string{string(site.Compact(raw))}
	if raw[0] == '[' {
		others = append(others, joined(raw))
	}
	for _, other := range others {
		if other != "" && !slices.Contains(texts, other) {
			texts = append(texts, other)
		}
	}
	return texts
}

// joined returns the text that JavaScript makes of an array without objects.
func joined(raw []byte) string {
	var parts []string
	for _, element := range jsonscan.Elements(raw) {
		switch element[0] {
		case '{':
			return ""
		case '[':
			parts = append(parts, joined(element))
		case '"':
			text, _ := jsonscan.Unquote(element)
			parts = append(parts, text)
		case 'n':
			parts = append(parts, "")
		default:
			parts = append(parts, string(canonical.AppendExact(nil, element)))
		}
	}
	return strings.Join(parts, ",")
}

// sameValue reports whether two valid JSON values are equal.
func sameValue(a, b []byte) bool {
	return bytes.Equal(canonical.AppendExact(nil, a), canonical.AppendExact(nil, b))
}
