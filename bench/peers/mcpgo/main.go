// Command mcpgo is the peer built with github.com/mark3labs/mcp-go.
package main

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() {
	contract.Main(contract.Program{
		HTTP:  serve,
		Stdio: stdio,
	})
}

// echoArgs are the arguments of echo.
type echoArgs struct {
	Message string `json:"message"`
}

// newServer returns a server with the features of every peer. The tools are in the order of
// package fix.
func newServer(cfg contract.Config) *server.MCPServer {
	s := server.NewMCPServer(fix.ServerName, fix.ServerVersion)
	blob := fix.Text()
	returnBlob := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(blob), nil
	}
	var tools []server.ServerTool
	for _, t := range fix.Tools(cfg.Tools) {
		tools = append(tools, server.ServerTool{
			Tool:    mcp.NewToolWithRawSchema(t.Name, t.Description, t.InputSchema),
			Handler: returnBlob,
		})
	}
	tools[0] = server.ServerTool{
		Tool: mcp.NewTool(fix.Echo, mcp.WithDescription(fix.EchoDescription),
			mcp.WithString("message", mcp.Required())),
		Handler: mcp.NewTypedToolHandler(
			func(_ context.Context, _ mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(in.Message), nil
			}),
	}
	tools[2].Handler = progress
	s.AddTools(tools...)
	s.AddResource(mcp.NewResource(fix.BlobURI, fix.Blob, mcp.WithMIMEType(fix.BlobMIME)),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{
				mcp.TextResourceContents{
					URI:      fix.BlobURI,
					MIMEType: fix.BlobMIME,
					Text:     blob,
				},
			}, nil
		})
	return s
}

// progress sends its notifications one by one and then answers.
func progress(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := server.ServerFromContext(ctx)
	for i := range fix.Steps {
		err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1, "total": fix.Steps,
		})
		if err != nil {
			return nil, err
		}
	}
	return mcp.NewToolResultText(fix.Message), nil
}

func serve(cfg contract.Config) (http.Handler, error) {
	return server.NewStreamableHTTPServer(newServer(cfg),
		server.WithStateLess(!cfg.Session)), nil
}

func stdio(cfg contract.Config) error {
	return server.ServeStdio(newServer(cfg))
}
