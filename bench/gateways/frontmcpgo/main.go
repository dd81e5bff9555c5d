// Command frontmcpgo combines Slipway's HTTP front end with the transport of mcp-go's
// client.
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
	"github.com/slipway-mcp/slipway/bench/gateways/front"
)

func main() { contract.GatewayMain(contract.Gateway{Stdio: stdio}) }

// stdio starts the server and connects to it with the library's transport.
func stdio(ctx context.Context, command []string) (http.Handler, error) {
	server := transport.NewStdio(command[0], nil, command[1:]...)
	if err := server.Start(ctx); err != nil {
		return nil, err
	}
	var last atomic.Int64 // id
	return front.Handler(ctx, func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		r, err := server.SendRequest(ctx, transport.JSONRPCRequest{
			JSONRPC: "2.0",
			ID:      foreign.NewRequestId(last.Add(1)),
			Method:  method,
			Params:  params,
		})
		switch {
		case err != nil:
			return nil, err
		case r.Error != nil:
			return nil, errors.New(r.Error.Message)
		}
		return r.Result, nil
	})
}
