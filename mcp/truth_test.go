package mcp_test

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

// The schemas that the specification publishes say what each version's messages
// look like. Every message of every conversation is held against the one of the
// version that was spoken.

// resultOf names the definition of a method's result.
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

	// Of the tasks extension the schemas know what every result has. The rest is
	// held by taskOf.
	"tasks/get":    "Result",
	"tasks/update": "Result",
	"tasks/cancel": "Result",
}

// messageOf names the definition of what a server sends on its own.
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

// official is the schema of one version, compiled once as an object with a
// property for each of its definitions.
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

// check reports where value does not follow a definition.
func (o *official) check(t *testing.T, name string, value any) error {
	t.Helper()
	if o.definitions[name] == nil {
		t.Fatalf("the schema has no definition %s", name)
	}
	return o.schema.Validate(map[string]any{name: value})
}

// checkTruth holds the server's lines against the schema of version v. The
// client's lines say which method an answer belongs to.
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

// definitionOf names the definition that a message must follow, and the part of
// the message that it is about.
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
				// JSON-RPC 2.0 wants null where these schemas have no form for
				// an id that is not known.
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
