package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// TestCounts guards what the banner says of servers in definitions: their catalog may grow later, but the counts are
// only said to be incomplete while servers are not available.
func TestCounts(t *testing.T) {
	cat := &mcp.Catalog{
		Growing: true,
		Tools:   make([]mcp.Tool, 2),
		Sources: []mcp.JoinedSource{{Name: "a"}, {Name: "b"}},
	}
	if got, want := counts(cat), "2 tools, 0 resources, 0 prompts"; got != want {
		t.Errorf("counts = %q, want %q", got, want)
	}
	cat.Sources[1].Unknown = true // starting, or out of reach
	if got, want := counts(cat), "2 tools, 0 resources, 0 prompts so far; 1 of 2 sources not available yet"; got != want {
		t.Errorf("counts while one is unknown = %q, want %q", got, want)
	}
	cat.Sources = append(cat.Sources, mcp.JoinedSource{Name: "b"}) // the tool connect_b
	if got, want := counts(cat), "2 tools, 0 resources, 0 prompts so far; 1 of 2 sources not available yet"; got != want {
		t.Errorf("counts with a server that each caller logs in to = %q, want %q", got, want)
	}
}
