package main

import (
	"slices"
	"strings"
	"testing"
)

// TestUniqueNames verifies that servers of one host are distinguished by their ports, and that other sources keep
// their names.
func TestUniqueNames(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"http://127.0.0.1:8080/mcp", "127-0-0-1"},
		{"http://127.0.0.1:8080/mcp http://127.0.0.1:8081/mcp", "127-0-0-1-8080 127-0-0-1-8081"},
		{"localhost:8080 localhost:8081/mcp site", "localhost-8080 localhost-8081 site"},
		{"http://[::1]:8080/mcp http://[::1]:8081/mcp", "1-8080 1-8081"},
		{"https://a.example.com/mcp https://a.example.com:8443/mcp", "a-example-com a-example-com-8443"},
		{"http://127.0.0.1:8080/mcp http://127.0.0.1:8080/sse", "127-0-0-1-8080 127-0-0-1-8080-2"},
		{"http://127.0.0.1:8080/docs http://127.0.0.1:8081/docs", "docs docs-2"},
		{"a/site b/site", "site site-2"},
	} {
		if got := uniqueNames(strings.Fields(tt.args)); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("names of %s = %q, want %s", tt.args, got, tt.want)
		}
	}
}
