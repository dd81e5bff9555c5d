package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/order"
)

// HeaderParam is an argument of a tool that a request repeats in a header, because of
// x-mcp-header in the tool's inputSchema (2026-07-28, "Custom headers").
type HeaderParam struct {
	// Name is that of the header, in canonical form.
	Name string
	// Path is the member names from the root of the arguments.
	Path []string
}

// HeaderParams returns the valid annotated properties of a schema, sorted by header. It
// returns an error as well if another one has an invalid or duplicate header name, a type
// that a header cannot represent, or is not reachable through properties alone: clients
// must not use that tool over HTTP.
func HeaderParams(inputSchema json.RawMessage) ([]HeaderParam, error) {
	if !bytes.Contains(inputSchema, []byte("x-mcp-header")) {
		return nil, nil
	}
	var found []HeaderParam
	err := addAnnotated(&found, inputSchema, nil)
	order.By(found, func(a, b HeaderParam) int {
		return strings.Compare(a.Name, b.Name)
	})
	if err == nil && bytes.Count(inputSchema, []byte(`"x-mcp-header"`)) != len(found) {
		err = errors.New("an x-mcp-header cannot be reached through properties alone")
	}
	return found, err
}

// addAnnotated appends the valid annotated properties of the schema at path, and returns
// the first error.
func addAnnotated(found *[]HeaderParam, raw json.RawMessage, path []string) error {
	if len(path) > jsonscan.MaxDepth {
		return errors.New("properties with an x-mcp-header may be nested too deeply")
	}
	i := jsonscan.Space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil // a schema may be a boolean
	}
	var n struct {
		Type       any                        `json:"type"`
		Header     *string                    `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("invalid x-mcp-header: %w", err)
	}
	var problem error
	if n.Header != nil {
		p := HeaderParam{http.CanonicalHeaderKey("Mcp-Param-" + *n.Header), path}
		switch {
		case !ValidHeaderName(*n.Header):
			problem = fmt.Errorf("x-mcp-header %.64q is not the name of a header", *n.Header)
		case n.Type != "string" && n.Type != "integer" && n.Type != "boolean":
			problem = fmt.Errorf("x-mcp-header %s annotates the type %v, want string, integer or boolean",
				*n.Header, n.Type)
		case slices.ContainsFunc(*found, func(other HeaderParam) bool {
			return other.Name == p.Name
		}):
			problem = fmt.Errorf("x-mcp-header %s occurs twice", *n.Header)
			*found = append(*found, p) // servers verify both
		default:
			*found = append(*found, p)
		}
	}
	for name, property := range n.Properties {
		problem = cmp.Or(problem,
			addAnnotated(found, property, append(slices.Clone(path), name)))
	}
	return problem
}

// Value returns the argument in the form of text, and whether it is present.
func (p HeaderParam) Value(arguments []byte) (string, bool) {
	for _, name := range p.Path {
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

// tokenLetters are the letters of a token in HTTP (RFC 9110, section 5.6.2).
const tokenLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// ValidHeaderName reports whether s may be the value of the annotation x-mcp-header: a
// token of HTTP.
func ValidHeaderName(s string) bool {
	return s != "" && strings.Trim(s, tokenLetters) == ""
}
