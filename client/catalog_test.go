package client_test

import (
	"slices"
	"testing"
)

func TestEntriesThatMakeNoSense(t *testing.T) {
	src := open(t, command(t, "script",
		`initialize {"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
			`"serverInfo":{"name":"s","version":"1"}}}`,
		`tools/list {"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","description":"first",`+
			`"inputSchema":{"type":"object"}},`+
			`{"name":"a","description":"second","inputSchema":{"type":"object"}},{"inputSchema":{"type":"object"}},7,`+
			`{"name":"b","inputSchema":{"type":"object"}}]}}`), nil)
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range cat.Tools {
		got = append(got, tool.Name+" "+tool.Description)
	}
	if want := []string{"a first", "b "}; !slices.Equal(got, want) {
		t.Errorf("tools are %q, want %q", got, want)
	}
	if junk := src.State().Junk; junk != 3 {
		t.Errorf("%d entries are counted as junk, want 3", junk)
	}
}
