package client

import (
	"github.com/slipway-mcp/slipway/mcp"
)

// namedValue is a header of a request.
type namedValue struct{ name, value string }

// headerParams are the header parameters of all tools that have any, by name.
type headerParams map[string][]mcp.HeaderParam

// headersOf returns the annotated arguments of a catalog's tools, and why annotations of
// tools are invalid: clients must not use those tools over HTTP.
func headersOf(cat *mcp.Catalog) (headerParams, map[string]error) {
	params := make(headerParams)
	invalid := make(map[string]error)
	for i := range cat.Tools {
		t := &cat.Tools[i]
		switch found, err := mcp.HeaderParams(t.InputSchema); {
		case err != nil:
			invalid[t.Name] = err
		case len(found) > 0:
			params[t.Name] = found
		}
	}
	return params, invalid
}

// headers returns the headers for a tool call.
func (p headerParams) headers(tool string, arguments []byte) []namedValue {
	var all []namedValue
	for _, param := range p[tool] {
		if text, ok := param.Value(arguments); ok {
			all = append(all, namedValue{param.Name, text})
		}
	}
	return all
}
