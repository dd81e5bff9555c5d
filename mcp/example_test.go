package mcp_test

import (
	"context"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// greeter is a Source with one tool. The methods it lacks come from Unimplemented.
type greeter struct{ mcp.Unimplemented }

func (greeter) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "greeter", Version: "1.0.0"},
		Tools:  []mcp.Tool{{Name: "greet", InputSchema: []byte(`{"type":"object"}`)}},
	}, nil
}

func (greeter) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name != "greet" {
		return nil, mcp.UnknownTool(p.Name)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("Hello!")}}, nil
}

func ExampleSource() {
	var src mcp.Source = greeter{}
	ctx := context.Background()
	result, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].Text)

	_, err = src.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///a"})
	fmt.Println(err)
	// Output:
	// Hello!
	// resource not found
}
