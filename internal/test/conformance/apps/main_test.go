package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

func TestContract(t *testing.T) {
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		f, err := newFixture()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}, &mcptest.Options{Calls: []mcptest.Call{{Tool: "show", Args: `{"n":1}`, Want: `"told":{"n":1}`}}})
}

func TestNothingIsWrong(t *testing.T) {
	f, err := newFixture()
	if err != nil {
		t.Fatal(err)
	}
	if findings := append(f.page.Check(), apps.Check(f.catalog)...); len(findings) > 0 {
		t.Errorf("findings: %v", findings)
	}
}
