package peer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// HeaderValue returns s in the form of an HTTP header value of 2026-07-28: text that a
// header cannot contain as it is becomes base64.
func HeaderValue(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?")
	if plain && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// HeaderParam is an argument of a tool that a request repeats in a header, because of
// x-mcp-header in the tool's inputSchema (2026-07-28, "Custom headers").
type HeaderParam struct {
	// Name is that of the header, in canonical form.
	Name string

	path []string // member names from the root of the arguments
}

// HeaderParams returns the annotated properties of a schema. ok is false if one of them
// has an invalid or duplicate header name, a type that a header cannot represent, or is
// not reachable through properties alone: clients must not use that tool over HTTP.
func HeaderParams(inputSchema json.RawMessage) (found []HeaderParam, ok bool) {
	annotations := bytes.Count(inputSchema, []byte(`"x-mcp-header"`))
	if annotations == 0 && !bytes.Contains(inputSchema, []byte("x-mcp-header")) {
		return nil, true
	}
	ok = walkAnnotated(inputSchema, nil, func(p HeaderParam) bool {
		if slices.ContainsFunc(found, func(other HeaderParam) bool { return other.Name == p.Name }) {
			return false
		}
		found = append(found, p)
		return true
	})
	return found, ok && annotations == len(found)
}

// walkAnnotated calls add for each annotated property, and reports whether all are valid.
func walkAnnotated(raw json.RawMessage, path []string, add func(HeaderParam) bool) bool {
	if len(path) > jsonscan.MaxDepth {
		return false
	}
	var n struct {
		Type       any                        `json:"type"`
		Header     *string                    `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if i := jsonscan.Space(raw, 0); i == len(raw) || raw[i] != '{' {
		return true // a schema may be a boolean
	}
	if json.Unmarshal(raw, &n) != nil {
		return false
	}
	if n.Header != nil {
		if !schema.IsToken(*n.Header) || n.Type != "string" && n.Type != "integer" && n.Type != "boolean" {
			return false
		}
		if !add(HeaderParam{http.CanonicalHeaderKey("Mcp-Param-" + *n.Header), path}) {
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

// Value returns the argument in the form of text, and whether it is present.
func (p HeaderParam) Value(arguments []byte) (string, bool) {
	for _, name := range p.path {
		arguments = jsonscan.Member(arguments, name)
	}
	if len(arguments) == 0 || string(arguments) == "null" {
		return "", false
	}
	if text, ok := jsonscan.Unquote(arguments); ok {
		return text, true
	}
	return string(arguments), true
}
