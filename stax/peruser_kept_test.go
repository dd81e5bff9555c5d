package stax

import (
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestCatalogsOfUsersAreBounded guards the memory of a server whose users see large catalogs that
// change again and again.
func TestCatalogsOfUsersAreBounded(t *testing.T) {
	u := &perUser{
		tool:  "connect_own",
		shown: make(map[shownKey]*mcp.Catalog),
	}
	large := &mcp.Catalog{Tools: []mcp.Tool{{Name: "large", Raw: make([]byte, 8<<20)}}}
	for range 10 {
		if shown := u.withTool(identity.Caller{}, large.Copy()); shown.WithheldTools[u.tool] == "" {
			t.Fatal("the catalog is not the one of a logged-in user")
		}
	}
	if n := len(u.shown); n > 4 { // of 16 MiB each, as they are encoded twice
		t.Errorf("%d catalogs of 8 MiB are kept, want at most 4", n)
	}
}
