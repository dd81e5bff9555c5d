package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// namedValue is a header of a request.
type namedValue struct{ name, value string }

// headerParam is an argument that must be repeated in a header, because of x-mcp-header
// in the tool's schema (2026-07-28, "Custom headers").
type headerParam struct {
	path   []string // member names from the root of the arguments
	header string   // in canonical form
}

// headerParams are the header parameters of all tools that have any, by name.
type headerParams map[string][]headerParam

// headersOf returns the annotated arguments of a catalog's tools. wrong are the tools
// with invalid annotations: clients must not use those over HTTP.
func headersOf(cat *mcp.Catalog) (params headerParams, wrong []string) {
	for i := range cat.Tools {
		t := &cat.Tools[i]
		if !bytes.Contains(t.InputSchema, []byte(`x-mcp-header`)) {
			continue
		}
		found, ok := annotated(t.InputSchema)
		if !ok {
			wrong = append(wrong, t.Name)
		} else if len(found) > 0 {
			if params == nil {
				params = make(headerParams)
			}
			params[t.Name] = found
		}
	}
	return params, wrong
}

// annotated returns the annotated properties of a schema. ok is false if one of them has
// an invalid or duplicate header name, a type that a header cannot represent, or is not
// reachable through properties alone.
func annotated(schema json.RawMessage) (found []headerParam, ok bool) {
	count := 0
	ok = walkAnnotated(schema, nil, func(p headerParam) bool {
		count++
		for _, other := range found {
			if other.header == p.header {
				return false
			}
		}
		found = append(found, p)
		return true
	})
	return found, ok && bytes.Count(schema, []byte(`"x-mcp-header"`)) == count
}

func walkAnnotated(raw json.RawMessage, path []string, add func(headerParam) bool) bool {
	if len(path) > jsonscan.MaxDepth {
		return false
	}
	var n struct {
		Type       any                        `json:"type"`
		Header     *string                    `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if !isObject(raw) {
		return true // a schema may be a boolean
	}
	if json.Unmarshal(raw, &n) != nil {
		return false
	}
	if n.Header != nil {
		if !schema.IsToken(*n.Header) || n.Type != "string" && n.Type != "integer" && n.Type != "boolean" {
			return false
		}
		if !add(headerParam{path, http.CanonicalHeaderKey("Mcp-Param-" + *n.Header)}) {
			return false
		}
	}
	for name, property := range n.Properties {
		if !walkAnnotated(property, append(slices.Clone(path), name), add) {
			return false
		}
	}
	return true
}

// headers returns the headers for a tool call.
func (p headerParams) headers(tool string, arguments []byte) []namedValue {
	var all []namedValue
	for _, param := range p[tool] {
		value := arguments
		for _, name := range param.path {
			value = jsonscan.Member(value, name)
		}
		if len(value) == 0 || string(value) == "null" {
			continue
		}
		text, ok := jsonscan.Unquote(value)
		if !ok {
			text = string(value)
		}
		all = append(all, namedValue{param.header, text})
	}
	return all
}
