// Command frontgosdk combines Slipway's HTTP front end with the transport of go-sdk's
// client.
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
	"github.com/slipway-mcp/slipway/bench/gateways/front"
	"github.com/slipway-mcp/slipway/internal/peer"
)

func main() { contract.GatewayMain(contract.Gateway{Stdio: stdio}) }

// client sends requests over the library's connection.
type client struct {
	server foreign.Connection

	// mu guards waiting, which has the channel for each answer.
	mu      sync.Mutex
	waiting peer.Table[chan *jsonrpc.Response]
}

// stdio starts the server and connects to it with the library's transport.
func stdio(ctx context.Context, command []string) (http.Handler, error) {
	process := &foreign.CommandTransport{
		Command: exec.Command(command[0], command[1:]...),
	}
	server, err := process.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &client{server: server}
	go c.read(ctx)
	return front.Handler(ctx, c.ask)
}

// read delivers the answers until the server exits, which also ends the measurement.
func (c *client) read(ctx context.Context) {
	for {
		msg, err := c.server.Read(ctx)
		if err != nil {
			return
		}
		r, ok := msg.(*jsonrpc.Response)
		if !ok {
			continue
		}
		id, _ := r.ID.Raw().(int64)
		c.mu.Lock()
		answer, ok := c.waiting.Take(uint64(id))
		c.mu.Unlock()
		if ok {
			answer <- r
		}
	}
}

// ask sends a request and waits for its answer.
func (c *client) ask(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (json.RawMessage, error) {
	answer := make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	// A float64 as required by this library.
	id, err := jsonrpc.MakeID(float64(c.waiting.Add(answer)))
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := c.server.Write(ctx, &jsonrpc.Request{
		ID:     id,
		Method: method,
		Params: params,
	}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.Result, r.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
