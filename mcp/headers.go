package mcp

import (
	"bytes"
	"encoding/json"
	"net/textproto"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// HeaderParam is a tool parameter that 2026-07-28 clients repeat in an HTTP header because
// its schema has x-mcp-header.
type HeaderParam struct {
	// Path is the member names from the root of the arguments.
	Path []string
	// Header is the name of the header in canonical form.
	Header string
}

// headerParams returns the annotated parameters of a tool's input schema: strings,
// integers and booleans that can be reached through properties only.
func headerParams(inputSchema json.RawMessage) []HeaderParam {
	if !bytes.Contains(inputSchema, []byte(`x-mcp-header`)) {
		return nil
	}
	type node struct {
		Type       any                        `json:"type"`
		Header     string                     `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var found []HeaderParam
	var walk func(raw json.RawMessage, path []string)
	walk = func(raw json.RawMessage, path []string) {
		var n node
		if json.Unmarshal(raw, &n) != nil || len(path) > jsonscan.MaxDepth {
			return
		}
		if n.Header != "" && (n.Type == "string" || n.Type == "integer" || n.Type == "boolean") {
			found = append(found, HeaderParam{path, textproto.CanonicalMIMEHeaderKey("Mcp-Param-" + n.Header)})
		}
		for name, property := range n.Properties {
			walk(property, append(path[:len(path):len(path)], name))
		}
	}
	walk(inputSchema, nil)
	slices.SortFunc(found, func(a, b HeaderParam) int { return strings.Compare(a.Header, b.Header) })
	return found
}
