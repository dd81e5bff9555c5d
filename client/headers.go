package client

import (
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// namedValue is a header of a request.
type namedValue struct{ name, value string }

// headerParams are the header parameters of all tools that have any, by name.
type headerParams map[string][]peer.HeaderParam

// headersOf returns the annotated arguments of a catalog's tools. wrong are the tools
// with invalid annotations: clients must not use those over HTTP.
func headersOf(cat *mcp.Catalog) (params headerParams, wrong []string) {
	for i := range cat.Tools {
		t := &cat.Tools[i]
		found, err := peer.HeaderParams(t.InputSchema)
		if err != nil {
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
