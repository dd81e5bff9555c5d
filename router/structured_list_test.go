package router_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// TestListsOnTheWire: up to 2025-11-25 structured content must be an object, so a list is
// sent as text and without its schema.
func TestListsOnTheWire(t *testing.T) {
	r := mustNew(t, gives[[]int]())
	for _, tt := range []struct {
		version            mcp.Version
		schema, structured bool
	}{{mcp.Version20241105, false, false}, {mcp.Version20250618, false, false}, {mcp.Version20251125, false, false},
		{mcp.LatestVersion, true, true}} {
		c := mcptest.Connect(t, r, tt.version, nil)
		if got := c.Tools()[0].OutputSchema; (got != nil) != tt.schema {
			t.Errorf("%v: outputSchema %s, want one: %v", tt.version, got, tt.schema)
		}
		got := c.CallTool("t", nil)
		if (got.StructuredContent != nil) != tt.structured || got.Content[0].Text != "[]" {
			t.Errorf("%v: %+v, want structured content: %v", tt.version, got, tt.structured)
		}
	}
}
