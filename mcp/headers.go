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
	scan := annotations{
		schema: inputSchema,
		names:  make(map[string]bool),
	}
	_, err := scan.read(jsonscan.Space(inputSchema, 0), 0)
	found := scan.found
	if err == nil {
		err = scan.problem
	}
	order.By(found, func(a, b HeaderParam) int {
		return strings.Compare(a.Name, b.Name)
	})
	if err == nil && bytes.Count(inputSchema, []byte(`"x-mcp-header"`)) != len(found) {
		err = errors.New("an x-mcp-header cannot be reached through properties alone")
	}
	return found, err
}

// annotations collects the annotated properties of a schema in one pass.
type annotations struct {
	schema  []byte
	path    []string // of the property being read
	found   []HeaderParam
	names   map[string]bool // of the headers found
	problem error           // the first one
}

// read reads the schema that begins at i, and returns its end. The error is one of syntax.
func (a *annotations) read(i, depth int) (end int, err error) {
	if i >= len(a.schema) || a.schema[i] != '{' {
		return jsonscan.ValueAt(a.schema, i, depth) // a schema may be a boolean
	}
	var kind, header []byte
	end, err = jsonscan.Object(a.schema, i, depth, func(key []byte, i int) (int, error) {
		if string(key) == "properties" && i < len(a.schema) && a.schema[i] == '{' {
			return jsonscan.Object(a.schema, i, depth+1, func(key []byte, i int) (int, error) {
				a.path = append(a.path, string(key))
				end, err := a.read(i, depth+2)
				a.path = a.path[:len(a.path)-1]
				return end, err
			})
		}
		end, err := jsonscan.ValueAt(a.schema, i, depth+1)
		switch {
		case err != nil:
		case string(key) == "type":
			kind = a.schema[i:end]
		case string(key) == "x-mcp-header":
			header = a.schema[i:end]
		}
		return end, err
	})
	if err == nil && header != nil && string(header) != "null" {
		a.problem = cmp.Or(a.problem, a.add(header, kind))
	}
	return end, err
}

// add adds the property being read, with the values of its x-mcp-header and type. It returns why the annotation is
// invalid, or nil.
func (a *annotations) add(header, kind []byte) error {
	name, ok := jsonscan.Unquote(header)
	p := HeaderParam{
		Name: http.CanonicalHeaderKey("Mcp-Param-" + name),
		Path: slices.Clone(a.path),
	}
	switch typ, _ := jsonscan.Unquote(kind); {
	case !ok:
		return fmt.Errorf("x-mcp-header %.64s is not a string", header)
	case !ValidHeaderName(name):
		return fmt.Errorf("x-mcp-header %.64q is not the name of a header", name)
	case typ != "string" && typ != "integer" && typ != "boolean":
		return fmt.Errorf("x-mcp-header %s annotates the type %.64s, want string, integer or boolean", name, kind)
	}
	a.found = append(a.found, p) // servers verify also those that occur twice
	if a.names[p.Name] {
		return fmt.Errorf("x-mcp-header %s occurs twice", name)
	}
	a.names[p.Name] = true
	return nil
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
