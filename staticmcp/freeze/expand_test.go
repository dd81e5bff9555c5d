package freeze_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// graph has a tool whose answers contain numbers, and one that takes them as other types.
type graph struct {
	mcp.Unimplemented
	mu    sync.Mutex
	asked []string
}

func (g *graph) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "graph", Version: "1"},
		Tools: []mcp.Tool{
			{Name: "read_graph", Description: "All", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			{Name: "open_nodes", Description: "Some", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
				InputSchema: []byte(`{"type": "object", "properties": {"names": {"$ref": "#/$defs/list"}, "id": {"type": "string"},
					"depth": {"type": ["integer", "null"]}, "any": {}},
					"$defs": {"list": {"type": "array", "items": {"type": "string"}}}}`)},
		},
	}, nil
}

func (g *graph) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name == "open_nodes" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked = append(g.asked, string(p.Arguments))
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("a node")}}, nil
	}
	const nodes = `{"nodes": [{"id": 7, "name": "a", "depth": "2"}, {"id": 8, "name": 9, "depth": "x"}]}`
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(nodes)}}, nil
}

// TestExpandTypes finds values of other types than the tool takes, and a rule that finds
// nothing.
func TestExpandTypes(t *testing.T) {
	const nodes = "=read_graph:$.content[0].text.nodes[*]."
	src := &graph{}
	_, _, report, err := frozen(t, src,
		&freeze.Options{Repeat: freeze.Repeat{Off: true}, Requests: freeze.Requests{Tools: []string{"open_nodes"}},
			Expand: expansions(t,
				"open_nodes.names"+nodes+"name", "open_nodes.id"+nodes+"id",
				"open_nodes.depth"+nodes+"depth", "open_nodes.any"+nodes+"id",
				"open_nodes.id"+nodes+"nothing")})
	if err != nil {
		t.Fatal(err)
	}
	got := src.asked
	slices.Sort(got)
	want := []string{`{"any":7}`, `{"any":8}`, `{"depth":"x"}`, `{"depth":2}`, `{"id":"7"}`,
		`{"id":"8"}`, `{"names":["9"]}`, `{"names":["a"]}`}
	if got = slices.DeleteFunc(got, func(s string) bool { return s == "{}" || s == "" }); !slices.Equal(got, want) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := strings.Count(strings.Join(rulesOf(report), " "), "freeze/expand"); n != 1 {
		t.Errorf("%d rules are reported that find nothing, want 1", n)
	}
}
