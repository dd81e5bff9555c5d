//go:build unix

package clients_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/slipway-mcp/slipway/stax/clients"
)

// A project may contain a pipe instead of a file; reading it must not block.
func TestPipe(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.dir, "project", ".mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if got := d.apply(two, false, "claude-code"); len(got) != 1 || got[0] != "problem claude-code" {
		t.Errorf("got %v", got)
	}
	c, _ := clients.ByID("claude-code")
	if _, _, err := clients.Import(c, path); err == nil {
		t.Error("a pipe was imported")
	}
}
