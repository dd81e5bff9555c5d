// Command trpc is the peer built with trpc.group/trpc-go/trpc-mcp-go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

func main() {
	contract.Main(contract.Program{
		HTTP:  serve,
		Stdio: stdio,
	})
}

// callback is a tool of the library.
type callback = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// echo returns its argument.
func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	message, ok := req.Params.Arguments["message"].(string)
	if !ok {
		return mcp.NewErrorResult("message is not a string"), nil
	}
	return mcp.NewTextResult(message), nil
}

// progress uses the constant progress token of the workload, because the library does not
// pass the token of the request to a tool.
func progress(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	sender, ok := mcp.GetNotificationSender(ctx)
	if !ok {
		return nil, errors.New("progress needs an event stream")
	}
	for i := range fix.Steps {
		err := sender.SendCustomNotification("notifications/progress", map[string]any{
			"progressToken": 1, "progress": i + 1, "total": fix.Steps,
		})
		if err != nil {
			return nil, err
		}
	}
	return mcp.NewTextResult(fix.Message), nil
}

// eachTool registers every tool with its function.
func eachTool(cfg contract.Config, blob string, register func(*mcp.Tool, callback)) error {
	for _, t := range fix.Tools(cfg.Tools) {
		var schema openapi3.Schema
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			return fmt.Errorf("schema of %s: %w", t.Name, err)
		}
		call := echo
		switch t.Name {
		case fix.Echo:
		case fix.Progress:
			call = progress
		default:
			call = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewTextResult(blob), nil
			}
		}
		register(mcp.NewTool(t.Name, mcp.WithDescription(t.Description),
			mcp.WithInputSchema(&schema)), call)
	}
	return nil
}

// serve returns the library's handler. Its log is off: writing it is not a part of the workload.
func serve(cfg contract.Config) (http.Handler, error) {
	options := []mcp.ServerOption{
		mcp.WithServerLogger(silent{}), mcp.WithServerPath("/mcp"), mcp.WithPostSSEEnabled(cfg.Stream),
	}
	if !cfg.Session {
		options = append(options, mcp.WithStatelessMode(true))
	}
	s := mcp.NewServer(fix.ServerName, fix.ServerVersion, options...)
	blob := fix.Text()
	if err := eachTool(cfg, blob, func(t *mcp.Tool, call callback) {
		s.RegisterTool(t, call)
	}); err != nil {
		return nil, err
	}
	s.RegisterResource(&mcp.Resource{
		URI:      fix.BlobURI,
		Name:     fix.Blob,
		MimeType: fix.BlobMIME,
	},
		func(context.Context, *mcp.ReadResourceRequest) (mcp.ResourceContents, error) {
			return mcp.TextResourceContents{
				URI:      fix.BlobURI,
				MIMEType: fix.BlobMIME,
				Text:     blob,
			}, nil
		})
	return s.Handler(), nil
}

func stdio(cfg contract.Config) error {
	s := mcp.NewStdioServer(fix.ServerName, fix.ServerVersion,
		mcp.WithStdioServerLogger(silent{}))
	err := eachTool(cfg, fix.Text(), func(t *mcp.Tool, call callback) {
		s.RegisterTool(t, call)
	})
	if err != nil {
		return err
	}
	return s.Start()
}

// silent is a logger that discards everything: by default, the library logs a line per
// request, which would measure the terminal.
type silent struct{}

func (silent) Debug(...any)          {}
func (silent) Debugf(string, ...any) {}
func (silent) Info(...any)           {}
func (silent) Infof(string, ...any)  {}
func (silent) Warn(...any)           {}
func (silent) Warnf(string, ...any)  {}
func (silent) Error(...any)          {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatal(...any)          {}
func (silent) Fatalf(string, ...any) {}
