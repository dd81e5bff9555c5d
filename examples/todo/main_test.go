package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

func TestTodo(t *testing.T) {
	r, err := server()
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Connect(t, r, mcp.LatestVersion, nil)
	if got := c.CallTool("add", Add{Task: "buy milk", Priority: "high"}).Content[0].Text; got != "1. buy milk (high)" {
		t.Errorf("add = %q", got)
	}
	if got := c.ReadResource("todo://tasks").Contents[0].Text; got != "1. buy milk (high)" {
		t.Errorf("tasks = %q", got)
	}
	if got := c.CallTool("done", Done{Number: 5}); !got.IsError || got.Content[0].Text != "there is no task 5" {
		t.Errorf("done = %+v", got)
	}
}
