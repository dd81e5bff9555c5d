// Command gosdk is the peer built with github.com/modelcontextprotocol/go-sdk.
package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() {
	contract.Main(contract.Program{
		HTTP:  serve,
		Stdio: stdio,
	})
}

// echoArgs are the arguments of echo, from which the library generates a schema.
type echoArgs struct {
	Message string `json:"message"`
}

// newServer returns a server with the features of every peer.
func newServer(cfg contract.Config) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{
		Name:    fix.ServerName,
		Version: fix.ServerVersion,
	}, nil)
	mcp.AddTool(s, &mcp.Tool{
		Name:        fix.Echo,
		Description: fix.EchoDescription,
	},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
			return text(in.Message), nil, nil
		})
	blob := fix.Text()
	mcp.AddTool(s, &mcp.Tool{
		Name:        fix.Blob,
		Description: fix.BlobDescription,
	},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text(blob), nil, nil
		})
	s.AddTool(&mcp.Tool{
		Name:        fix.Progress,
		Description: fix.ProgressDescription,
		InputSchema: json.RawMessage(fix.ProgressSchema),
	}, progress)
	for _, t := range fix.Fillers(cfg.Tools) {
		s.AddTool(&mcp.Tool{
			Name:        t.Name,
			Description: t.Description,
			InputSchema: t.InputSchema,
		},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text(""), nil
			})
	}
	s.AddResource(&mcp.Resource{
		URI:      fix.BlobURI,
		Name:     fix.Blob,
		MIMEType: fix.BlobMIME,
	},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
				{URI: fix.BlobURI, MIMEType: fix.BlobMIME, Text: blob},
			}}, nil
		})
	return s
}

// progress sends its notifications one by one and then answers.
func progress(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range fix.Steps {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(),
			Progress:      float64(i + 1),
			Total:         fix.Steps,
		})
		if err != nil {
			return nil, err
		}
	}
	return text(fix.Message), nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// serve returns the library's handler, with the options that fit the configuration.
func serve(cfg contract.Config) (http.Handler, error) {
	s := newServer(cfg)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	},
		&mcp.StreamableHTTPOptions{
			Stateless:    !cfg.Session,
			JSONResponse: !cfg.Stream,
		}), nil
}

func stdio(cfg contract.Config) error {
	return newServer(cfg).Run(context.Background(), &mcp.StdioTransport{})
}
