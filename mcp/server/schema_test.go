package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/slipway-mcp/slipway/mcp"
)

// The published schemas of the specification define the messages of each version. Every
// message of every conversation is validated against the schema of its version.

// resultOf contains the names of the definitions of methods' results.
var resultOf = map[string]string{
	"initialize":               "InitializeResult",
	"server/discover":          "DiscoverResult",
	"ping":                     "EmptyResult",
	"logging/setLevel":         "EmptyResult",
	"resources/subscribe":      "EmptyResult",
	"resources/unsubscribe":    "EmptyResult",
	"tools/list":               "ListToolsResult",
	"tools/call":               "CallToolResult",
	"resources/list":           "ListResourcesResult",
	"resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":           "ReadResourceResult",
	"prompts/list":             "ListPromptsResult",
	"prompts/get":              "GetPromptResult",
	"completion/complete":      "CompleteResult",
	"subscriptions/listen":     "SubscriptionsListenResult",

	// For the tasks extension, the schemas only define the common members of results. taskOf
	// checks the others.
	"tasks/get":    "Result",
	"tasks/update": "Result",
	"tasks/cancel": "Result",
}

// messageOf contains the names of the definitions of messages that a server sends on its
// own initiative.
var messageOf = map[string]string{
	"notifications/message":                    "LoggingMessageNotification",
	"notifications/progress":                   "ProgressNotification",
	"notifications/cancelled":                  "CancelledNotification",
	"notifications/tools/list_changed":         "ToolListChangedNotification",
	"notifications/resources/list_changed":     "ResourceListChangedNotification",
	"notifications/prompts/list_changed":       "PromptListChangedNotification",
	"notifications/resources/updated":          "ResourceUpdatedNotification",
	"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
	"notifications/elicitation/complete":       "ElicitationCompleteNotification",
	"notifications/tasks":                      "JSONRPCNotification",
	"elicitation/create":                       "ElicitRequest",
	"sampling/createMessage":                   "CreateMessageRequest",
	"roots/list":                               "ListRootsRequest",
}

// official is the schema of one version, compiled once as an object with a property for
// each of its definitions.
type official struct {
	definitions map[string]json.RawMessage
	schema      *jsonschema.Resolved
}

var officials sync.Map // mcp.Version to *official

func officialSchema(t *testing.T, v mcp.Version) *official {
	t.Helper()
	if o, ok := officials.Load(v); ok {
		return o.(*official)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "schema", v.String()+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Schema      string                     `json:"$schema"`
		Definitions map[string]json.RawMessage `json:"definitions"`
		Defs        map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	keyword, definitions := "$defs", file.Defs
	if file.Definitions != nil {
		keyword, definitions = "definitions", file.Definitions
	}
	properties := make(map[string]any)
	for name := range definitions {
		properties[name] = map[string]any{"$ref": "#/" + keyword + "/" + name}
	}
	root, err := json.Marshal(map[string]any{"$schema": file.Schema, "properties": properties, keyword: definitions})
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(root, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &official{definitions: definitions, schema: resolved}
	officials.Store(v, o)
	return o
}

// check returns an error if value does not match a definition.
func (o *official) check(t *testing.T, name string, value any) error {
	t.Helper()
	if o.definitions[name] == nil {
		t.Fatalf("the schema has no definition %s", name)
	}
	return o.schema.Validate(map[string]any{name: value})
}

// checkTruth validates the server's lines against the schema of version v. The client's
// lines are used to find the method of an answer.
func checkTruth(t *testing.T, v mcp.Version, client []string, server string) {
	t.Helper()
	methods := make(map[string]string)
	for _, line := range client {
		for _, m := range unbatch(line) {
			method, isRequest := m["method"].(string)
			if id, err := json.Marshal(m["id"]); err == nil && m["id"] != nil && isRequest {
				methods[string(id)] = method
			}
		}
	}
	o := officialSchema(t, v)
	for line := range strings.Lines(server) {
		for _, m := range unbatch(line) {
			name, value := o.definitionOf(m, methods)
			if name == "" {
				t.Errorf("%v: no definition for %s", v, line)
				continue
			}
			if err := o.check(t, name, value); err != nil {
				t.Errorf("%v: not a %s: %s%v", v, name, line, err)
			}
		}
	}
}

// unbatch returns the messages of one line, or none if it is not JSON.
func unbatch(line string) []map[string]any {
	var many []map[string]any
	if json.Unmarshal([]byte(line), &many) == nil {
		return many
	}
	var one map[string]any
	if json.Unmarshal([]byte(line), &one) == nil {
		return []map[string]any{one}
	}
	return nil
}

// definitionOf returns the name of the definition that a message must match, and the part
// of the message that it applies to.
func (o *official) definitionOf(m map[string]any, methods map[string]string) (name string, value any) {
	if method, ok := m["method"].(string); ok {
		return messageOf[method], m
	}
	if e, ok := m["error"].(map[string]any); ok {
		if e["code"] == float64(mcp.CodeURLElicitationRequired) {
			return "URLElicitationRequiredError", m
		}
		for _, name := range []string{"JSONRPCErrorResponse", "JSONRPCError"} {
			if o.definitions[name] == nil {
				continue
			}
			if id, has := m["id"]; has && id == nil {
				// JSON-RPC 2.0 requires null for an unknown id, which these schemas do not allow.
				m["id"] = ""
			}
			return name, m
		}
	}
	id, err := json.Marshal(m["id"])
	if err != nil {
		return "", nil
	}
	if result, ok := m["result"].(map[string]any); ok {
		switch result["resultType"] {
		case "input_required":
			return "InputRequiredResult", result
		case "task":
			return "Result", result
		}
	}
	return resultOf[methods[string(id)]], m["result"]
}
