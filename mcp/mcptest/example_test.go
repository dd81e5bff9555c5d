package mcptest_test

import (
	"context"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// bell has one tool.
type bell struct{ mcp.Unimplemented }

func (bell) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "bell", Version: "1.0.0"},
		Tools:  []mcp.Tool{{Name: "ring", InputSchema: []byte(`{"type":"object"}`)}},
	}, nil
}

func (bell) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("ding")}}, nil
}

// The functions belong in a test file.
func ExampleGolden() {
	_ = func(t *testing.T) { // func TestGolden(t *testing.T)
		mcptest.Golden(t, bell{}, "testdata/bell", &mcptest.GoldenOptions{
			Calls: []mcptest.Call{{Tool: "ring"}},
		})
	}
}

// The same test for every version of the protocol.
func ExampleConnect() {
	_ = func(t *testing.T) { // func TestRing(t *testing.T)
		for _, v := range mcp.Versions() {
			t.Run(v.String(), func(t *testing.T) {
				c := mcptest.Connect(t, bell{}, v, nil)
				if got := c.CallTool("ring", nil).Content[0].Text; got != "ding" {
					t.Errorf("ring = %q, want ding", got)
				}
			})
		}
	}
}
