package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

func TestRota(t *testing.T) {
	mcptest.TestSource(t, func(*testing.T) mcp.Source { return newRota() }, &mcptest.Options{
		Calls: []mcptest.Call{
			{Tool: "on_call", Args: `{"team":"search"}`, Want: "Grace is on call."},
			{Tool: "on_call", Args: `{"team":"sales"}`, Want: "there are: billing, search", WantError: true},
			{Tool: "on_call", Args: `{"team":1}`, Want: "give the team's name", WantError: true},
		},
		Reads: []mcptest.Read{
			{URI: "rota://teams", Want: "billing, search"},
			{URI: "rota://weather", WantError: true},
		},
	})
}
