package hophttp

import (
	"net/textproto"
	"testing"
)

// TestNotForwarded verifies that the table has canonical names, which lookups need, and that all of it counts.
func TestNotForwarded(t *testing.T) {
	for _, name := range NotForwarded() {
		if canonical := textproto.CanonicalMIMEHeaderKey(name); canonical != name {
			t.Errorf("%s is not canonical: want %s", name, canonical)
		}
		if forwards(name) {
			t.Errorf("%s is forwarded", name)
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Mcp-Session-Id", "Accept"} {
		if !forwards(name) {
			t.Errorf("%s is not forwarded", name)
		}
	}
}
