package staticmcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Generators write schemas whose properties are in a reference or in the branches of
// allOf: their arguments must work like any others.
func TestArgumentsBehindReferences(t *testing.T) {
	const manifest = `{"protocolVersion":"2025-06-18","serverInfo":{"name":"x","version":"1.0.0"},` +
		`"capabilities":{"resources":[],"tools":[
		{"name":"by_ref","description":"d","inputSchema":{"type":"object","$ref":"#/$defs/in~1put",` +
		`"$defs":{"in/put":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}},"required":["a",` +
		`"b"]}}}},
		{"name":"by_all","description":"d","inputSchema":{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},` +
		`"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}},
		{"name":"by_loop","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},` +
		`"allOf":[{"$ref":"#/$defs/again"}],"$defs":{"again":{"allOf":[{"$ref":"#/$defs/again"}]}}}}]}}`
	answer := &fstest.MapFile{Data: []byte(`{"content":[{"type":"text","text":"found"}]}`)}
	site, err := staticmcp.Open(t.Context(), fstest.MapFS{
		"mcp.json":               {Data: []byte(manifest)},
		"tools/by_ref/1/2.json":  answer,
		"tools/by_all/1/2.json":  answer,
		"tools/by_loop/1.json":   answer,
		"tools/by_loop/2/1.json": answer,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	for _, tc := range []struct{ tool, arguments, want string }{
		{"by_ref", `{"b":"2","a":"1"}`, "found"},
		{"by_all", `{"b":"2","a":"1"}`, "found"},
		{"by_all", `{"b":"2","a":"1","c":"3"}`, `unknown argument "c"`},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			result, err := site.CallTool(t.Context(), &mcp.CallToolParams{
				Name:      tc.tool,
				Arguments: json.RawMessage(tc.arguments),
			})
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				text, _ := result.MarshalJSON()
				got = string(text)
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("CallTool(%s) = %s, want %s", tc.arguments, got, tc.want)
			}
		})
	}
}

func TestOnlyWhatIsWatchedChanges(t *testing.T) {
	files := fstest.MapFS{
		"mcp.json": {
			Data: []byte(
				`{"protocolVersion":"2025-06-18","serverInfo":{"name":"x","version":"1.0.0"},"capabilities":{"resources":[],` +
					`"tools":[]}}`),
		},
	}
	for _, tc := range []struct {
		name string
		opts *staticmcp.Options
		want bool
	}{{"polled", nil, true}, {"left alone", &staticmcp.Options{Poll: -1}, false}} {
		t.Run(tc.name, func(t *testing.T) {
			site, err := staticmcp.Open(t.Context(), files, tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			if _, got := mcp.AsWatcher(site); got != tc.want {
				t.Errorf("AsWatcher = %v, want %v", got, tc.want)
			}
		})
	}
}
