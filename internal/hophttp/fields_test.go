package hophttp

import (
	"net/textproto"
	"slices"
	"testing"
)

// TestHopFields verifies that the tables have canonical names, which lookups need, and that all of them count.
func TestHopFields(t *testing.T) {
	for _, name := range slices.Concat(connectionFields[:], hopFields[:]) {
		if canonical := textproto.CanonicalMIMEHeaderKey(name); canonical != name {
			t.Errorf("%s is not canonical: want %s", name, canonical)
		}
		if !OfHop(name) || forwards(name) {
			t.Errorf("%s is forwarded", name)
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Mcp-Session-Id", "Accept"} {
		if OfHop(name) || !forwards(name) {
			t.Errorf("%s is not forwarded", name)
		}
	}
}
