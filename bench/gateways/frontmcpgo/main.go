// Command frontmcpgo combines Slipway's HTTP front end with the transport of mcp-go's
// client. It measures the cost of that transport alone, without decoding.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	foreign "github.com/mark3labs/mcp-go/mcp"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

func main() { contract.GatewayMain(contract.Gateway{Stdio: stdio}) }

// source offers the tools of every gateway, and forwards calls to the server.
type source struct {
	mcp.Unimplemented
	catalog mcp.Catalog
	server  *transport.Stdio
	last    atomic.Int64 // id
}

func stdio(ctx context.Context, command []string) (http.Handler, error) {
	s := &source{server: transport.NewStdio(command[0], nil, command[1:]...)}
	s.catalog.Server = mcp.Implementation{Name: fix.ServerName, Version: fix.ServerVersion}
	for _, t := range fix.Tools(fix.Called) {
		s.catalog.Tools = append(s.catalog.Tools,
			mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	if err := s.server.Start(ctx); err != nil {
		return nil, err
	}
	hello := `{"protocolVersion":"` + fix.Legacy + `","capabilities":{},"clientInfo":{"name":"gateway","version":"1.0.0"}}`
	if _, err := s.ask(ctx, "initialize", json.RawMessage(hello)); err != nil {
		return nil, err
	}
	return serve.NewHandler(s, nil), nil
}

func (s *source) Catalog(context.Context) (*mcp.Catalog, error) { return &s.catalog, nil }

func (s *source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	params := struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}{p.Name, p.Arguments}
	result, err := s.ask(ctx, "tools/call", params)
	if err != nil {
		return nil, err
	}
	raw, err := mcp.ParseRaw(result)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Raw: raw}, nil
}

func (s *source) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	r, err := s.server.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: "2.0", ID: foreign.NewRequestId(s.last.Add(1)), Method: method, Params: params,
	})
	if err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, errors.New(r.Error.Message)
	}
	return r.Result, nil
}
