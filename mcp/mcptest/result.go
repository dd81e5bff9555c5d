package mcptest

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// resultSchemaText is the JSON Schema of an object whose member METHOD is a result of that
// method.
//
//go:embed results.schema.json
var resultSchemaText []byte

var resultSchema = sync.OnceValues(func() (*schema.Schema, error) {
	return schema.Compile(resultSchemaText)
})

// checkResult checks the structure of a result, not its values.
func (s *suite) checkResult(what, method string, result any) {
	s.Helper()
	compiled, err := resultSchema()
	if err != nil {
		s.Fatalf("compile the schema of results: %v", err)
	}
	if err := compiled.Validate(s.encode(what, map[string]any{method: result})); err != nil {
		s.Errorf("%s is not what clients expect: %v", what, err)
	}
}

// checkContentsOf reports a result without contents of the requested URI.
func (s *suite) checkContentsOf(what, uri string, r *mcp.ReadResourceResult) {
	s.Helper()
	var result mcp.ReadResourceResult
	s.decode(what, r, &result)
	if !slices.ContainsFunc(result.Contents, func(c mcp.ResourceContents) bool {
		return c.URI == uri
	}) {
		s.Errorf("%s: no contents carry that uri", what)
	}
}

// completion returns the suggestions in an answer as clients see them.
func (s *suite) completion(out outcome[mcp.CompleteResult]) mcp.Completion {
	s.Helper()
	var result mcp.CompleteResult
	if out.result != nil {
		s.decode("a completion", out.result, &result)
	}
	return result.Completion
}

// checkObject reports whether raw is one JSON object, and fails the test if not.
func (s *suite) checkObject(what string, raw json.RawMessage) bool {
	s.Helper()
	if err := jsonscan.Valid(raw); err != nil {
		s.Errorf("%s is not valid JSON: %v", what, err)
		return false
	}
	if !jsonscan.IsObject(raw) {
		s.Errorf("%s is not an object: %s", what, short(string(raw)))
		return false
	}
	return true
}
