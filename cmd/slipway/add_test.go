package main

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// The last line names the files that were written, also if those of all clients failed.
func TestAddConclude(t *testing.T) {
	entry := &open.Addition{Entry: &registry.Entry{}}
	entry.Config.Servers = []stax.Server{{Name: "time"}}
	a := &installing{
		file:  "dir/servers.yaml",
		entry: entry,
		after: []byte("servers:"),
		plan:  &clients.Plan{Files: []*clients.FilePlan{{Name: "Cursor", Problem: "permission denied"}}},
	}
	for _, tt := range []struct{ before, want string }{
		{"", "added time to servers.yaml\n"},
		{"servers:", ""},
	} {
		a.before = []byte(tt.before)
		var out strings.Builder
		a.conclude(&out, false)
		if out.String() != tt.want {
			t.Errorf("conclude prints %q, want %q", out.String(), tt.want)
		}
	}
}
