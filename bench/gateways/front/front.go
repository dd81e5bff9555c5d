// Package front is Slipway's HTTP front end before the transport of another client. It
// measures the cost of that transport alone, without decoding.
package front

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// Ask sends a request to the upstream server and returns the result.
type Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// source offers the tools of every gateway, and forwards calls to the server.
type source struct {
	mcp.Unimplemented
	// catalog is fixed. ask sends a request over the library that is measured.
	catalog mcp.Catalog
	ask     Ask
}

// Handler initializes the connection to the upstream server, and serves its tools.
func Handler(ctx context.Context, ask Ask) (http.Handler, error) {
	s := &source{ask: ask}
	s.catalog.Server = mcp.Implementation{
		Name:    fix.ServerName,
		Version: fix.ServerVersion,
	}
	for _, t := range fix.Tools(fix.Called) {
		s.catalog.Tools = append(s.catalog.Tools,
			mcp.Tool{
				Name:        t.Name,
				Description: t.Description,
				InputSchema: t.InputSchema,
			})
	}
	hello := `{"protocolVersion":"` + fix.Legacy + `","capabilities":{},"clientInfo":{"name":"gateway","version":"1.0.0"}}`
	if _, err := ask(ctx, "initialize", json.RawMessage(hello)); err != nil {
		return nil, err
	}
	return serve.NewHandler(s, nil), nil
}

// Catalog implements [mcp.Source].
func (s *source) Catalog(context.Context) (*mcp.Catalog, error) {
	return &s.catalog, nil
}

// CallTool implements [mcp.Source].
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
