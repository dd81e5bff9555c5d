package mcp_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestArgumentIndex: Argument finds members by the index of Arguments, and ignores that of others.
func TestArgumentIndex(t *testing.T) {
	text := []byte(`{"city":"Paris","days":3}`)
	var x jsonscan.Index
	if _, err := x.ValueAt(text, 0, 0); err != nil {
		t.Fatal(err)
	}
	p := mcp.CallToolParams{Arguments: text, Index: &x}
	text[0] = '-' // a scan finds no members any more
	if city, ok := p.StringArgument("city"); city != "Paris" || !ok {
		t.Errorf("StringArgument(city) = %q, %t, want that of the index", city, ok)
	}
	if got := p.Argument("absent"); got != nil {
		t.Errorf("Argument(absent) = %s, want none", got)
	}
	other := p
	other.Arguments = []byte(`{"days":5,"city":"Rome"}`)
	if city, ok := other.StringArgument("city"); city != "Rome" || !ok {
		t.Errorf("StringArgument(city) = %q, %t, want that of the new arguments", city, ok)
	}
	other.Arguments = nil
	if city, ok := other.StringArgument("city"); ok {
		t.Errorf("StringArgument(city) = %q without arguments", city)
	}
}
