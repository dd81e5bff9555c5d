// Command frontgosdk combines Slipway's HTTP front end with the transport of go-sdk's
// client. It measures the cost of that transport alone, without decoding.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	foreign "github.com/modelcontextprotocol/go-sdk/mcp"
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
	server  foreign.Connection

	mu      sync.Mutex // guards the fields below
	last    float64    // id, a float64 as required by this library
	waiting map[jsonrpc.ID]chan *jsonrpc.Response
}

func stdio(ctx context.Context, command []string) (http.Handler, error) {
	server, err := (&foreign.CommandTransport{Command: exec.Command(command[0], command[1:]...)}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &source{server: server, waiting: make(map[jsonrpc.ID]chan *jsonrpc.Response)}
	s.catalog.Server = mcp.Implementation{Name: fix.ServerName, Version: fix.ServerVersion}
	for _, t := range fix.Tools(fix.Called) {
		s.catalog.Tools = append(s.catalog.Tools,
			mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	go s.read(ctx)
	hello := `{"protocolVersion":"` + fix.Legacy + `","capabilities":{},"clientInfo":{"name":"gateway","version":"1.0.0"}}`
	if _, err := s.ask(ctx, "initialize", json.RawMessage(hello)); err != nil {
		return nil, err
	}
	return serve.NewHandler(s, nil), nil
}

// read delivers the answers until the server exits, which also ends the measurement.
func (s *source) read(ctx context.Context) {
	for {
		msg, err := s.server.Read(ctx)
		if err != nil {
			return
		}
		if r, ok := msg.(*jsonrpc.Response); ok {
			s.mu.Lock()
			answer := s.waiting[r.ID]
			delete(s.waiting, r.ID)
			s.mu.Unlock()
			if answer != nil {
				answer <- r
			}
		}
	}
}

func (s *source) Catalog(context.Context) (*mcp.Catalog, error) { return &s.catalog, nil }

func (s *source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	params, err := json.Marshal(struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}{p.Name, p.Arguments})
	if err != nil {
		return nil, err
	}
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

func (s *source) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer := make(chan *jsonrpc.Response, 1)
	s.mu.Lock()
	s.last++
	id, err := jsonrpc.MakeID(s.last)
	if err == nil {
		s.waiting[id] = answer
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := s.server.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.Result, r.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
