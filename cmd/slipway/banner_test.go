package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// TestCounts guards what the banner says of servers in definitions: their catalog may grow later, but servers are only
// said to be starting while some are.
func TestCounts(t *testing.T) {
	cat := &mcp.Catalog{
		Growing: true,
		Tools:   make([]mcp.Tool, 2),
		Sources: []mcp.JoinedSource{{Name: "a"}, {Name: "b"}},
	}
	if got, want := counts(cat), "2 tools, 0 resources, 0 prompts"; got != want {
		t.Errorf("counts = %q, want %q", got, want)
	}
	cat.Sources[1].Unknown = true
	if got, want := counts(cat), "2 tools, 0 resources, 0 prompts so far; servers are still starting"; got != want {
		t.Errorf("counts while one is starting = %q, want %q", got, want)
	}
}
