package staticmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// A site in memory; usually it comes from a folder, a zip file or a URL.
func ExampleOpen() {
	files := fstest.MapFS{
		"mcp.json": {Data: []byte(`{
			"protocolVersion": "2025-06-18",
			"serverInfo": {"name": "Capitals", "version": "1.0.0"},
			"capabilities": {"resources": [], "tools": [{
				"name": "get_capital",
				"description": "Tells the capital of a country.",
				"inputSchema": {
					"type": "object",
					"properties": {"country": {"type": "string"}},
					"required": ["country"]
				}
			}]}
		}`)},
		"tools/get_capital/cote_d_ivoire.json": {Data: []byte(`{"content":[{"type":"text","text":"Yamoussoukro"}]}`)},
	}
	ctx := context.Background()
	site, err := staticmcp.Open(ctx, files, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	for _, arguments := range []string{`{"country":"Côte d’Ivoire"}`, `{"country":"Cote Divoire"}`} {
		result, err := site.CallTool(ctx, &mcp.CallToolParams{Name: "get_capital", Arguments: json.RawMessage(arguments)})
		if err != nil {
			fmt.Println(err)
			return
		}
		text, _ := mcp.Marshal(result)
		fmt.Println(strings.ReplaceAll(string(text), " Did", "\nDid"))
	}
	// Output:
	// {"content":[{"type":"text","text":"Yamoussoukro"}]}
	// {"content":[{"type":"text","text":"get_capital has no stored answer for country=\"Cote Divoire\".
	// Did you mean \"cote_d_ivoire\"? Values of country with an answer: cote_d_ivoire."}],"isError":true}
}
