// Command gosdk is a gateway built with go-sdk's server and client: it offers the
// upstream server's tools, and decodes and re-encodes each call and result.
package main

import (
	"context"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() {
	contract.GatewayMain(contract.Gateway{
		Stdio: func(ctx context.Context, command []string) (http.Handler, error) {
			return serve(ctx,
				&mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)})
		},
		HTTP: func(ctx context.Context, url string) (http.Handler, error) {
			return serve(ctx,
				&mcp.StreamableClientTransport{
					Endpoint:             url,
					HTTPClient:           contract.Client(),
					DisableStandaloneSSE: true,
				})
		},
	})
}

// serve connects to the server behind t and offers its tools, each with a handler that
// forwards the call.
func serve(ctx context.Context, t mcp.Transport) (http.Handler, error) {
	c := mcp.NewClient(&mcp.Implementation{
		Name:    "gateway",
		Version: "1.0.0",
	}, nil)
	session, err := c.Connect(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	s := mcp.NewServer(&mcp.Implementation{
		Name:    fix.ServerName,
		Version: fix.ServerVersion,
	}, nil)
	for _, tool := range listed.Tools {
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{
				Name:      r.Params.Name,
				Arguments: r.Params.Arguments,
			})
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	},
		&mcp.StreamableHTTPOptions{JSONResponse: true}), nil
}
