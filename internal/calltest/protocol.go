package calltest

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/slipway-mcp/slipway/internal/schema"
)

// resultSchemas returns the schemas of results by method: the members that clients read, with the
// types that every version of the protocol gives them. None is required, because a result of
// 2026-07-28 may ask for input instead.
var resultSchemas = sync.OnceValue(func() map[string]*schema.Schema {
	const (
		text  = `{"type": "string"}`
		block = `{"type": "object", "required": ["type"], "properties": {"type": ` + text + `, "text": ` + text +
			`, "data": ` + text + `, "mimeType": ` + text + `, "uri": ` + text + `, "resource": {"type": "object"}}}`
		contents = `{"type": "object", "required": ["uri"], "properties": {"uri": ` + text + `, "text": ` + text +
			`, "blob": ` + text + `, "mimeType": ` + text + `}}`
		message = `{"type": "object", "required": ["role", "content"], "properties": {"role": ` + text +
			`, "content": ` + block + `}}`
	)
	schemas := make(map[string]*schema.Schema)
	for method, members := range map[string]string{
		"tools/call":     `"content": {"type": "array", "items": ` + block + `}, "isError": {"type": "boolean"}`,
		"resources/read": `"contents": {"type": "array", "items": ` + contents + `}`,
		"prompts/get":    `"messages": {"type": "array", "items": ` + message + `}`,
		"completion/complete": `"completion": {"type": "object", "required": ["values"], "properties": ` +
			`{"values": {"type": "array", "items": ` + text + `}}}`,
	} {
		compiled, err := schema.Compile([]byte(`{"type": "object", "properties": {` + members + `}}`))
		if err != nil {
			panic(err) // the text above
		}
		schemas[method] = compiled
	}
	return schemas
})

// malformed returns how a result of a method breaks the protocol, or "".
func malformed(method string, result json.RawMessage) string {
	wanted := resultSchemas()[method]
	if wanted == nil || result == nil {
		return ""
	}
	var invalid *schema.Error
	switch err := wanted.Validate(result); {
	case err == nil:
		return ""
	case errors.As(err, &invalid) && len(invalid.Problems) > 0:
		return "the answer breaks the protocol: " + listed(invalid.Problems, "the result", "")
	default:
		return "the answer breaks the protocol: " + err.Error()
	}
}
