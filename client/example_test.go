package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// A server at a URL is a Source like any other.
func ExampleOpen() {
	upstream := httptest.NewServer(server.New(&world{}, nil).HTTPHandler(nil))
	defer upstream.Close()

	ctx := context.Background()
	src, err := client.Open(ctx, &client.Endpoint{URL: upstream.URL + "/mcp"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()

	cat, err := src.Catalog(ctx)
	if err != nil {
		log.Fatal(err)
	}
	result, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "fails"})
	fmt.Println(cat.Server.Name, len(cat.Tools), result, err)
	fmt.Println(src.State().Phase, src.State().Speaks)
	// Output:
	// world 15 <nil> it failed
	// ready 2026-07-28
}
