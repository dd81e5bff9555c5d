// Command mcpgo is a gateway built with mcp-go's typed server and client: it offers the
// upstream server's tools, and decodes and re-encodes each call and result.
package main

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() {
	contract.GatewayMain(contract.Gateway{
		Stdio: func(ctx context.Context, command []string) (http.Handler, error) {
			return serve(ctx, transport.NewStdio(command[0], nil, command[1:]...))
		},
		HTTP: func(ctx context.Context, url string) (http.Handler, error) {
			t, err := transport.NewStreamableHTTP(url,
				transport.WithHTTPBasicClient(contract.Client()))
			if err != nil {
				return nil, err
			}
			return serve(ctx, t)
		},
	})
}

// serve connects to the server behind t and offers its tools, each with a handler that
// forwards the call.
func serve(ctx context.Context, t transport.Interface) (http.Handler, error) {
	c := client.NewClient(t, client.WithProtocolVersion(fix.Legacy))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = fix.Legacy
	hello.Params.ClientInfo = mcp.Implementation{
		Name:    "gateway",
		Version: "1.0.0",
	}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	s := server.NewMCPServer(fix.ServerName, fix.ServerVersion)
	for _, tool := range listed.Tools {
		s.AddTool(tool, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var call mcp.CallToolRequest
			call.Params.Name = r.Params.Name
			call.Params.Arguments = r.Params.Arguments
			return c.CallTool(ctx, call)
		})
	}
	return server.NewStreamableHTTPServer(s), nil
}
