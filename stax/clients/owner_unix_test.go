//go:build unix

package clients_test

import (
	"os"
	"syscall"
	"testing"
)

func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write the file of another user")
	}
	d := newDesk(t)
	path := d.write("project/.mcp.json", "{}\n")
	if err := os.Chown(path, 12345, 54321); err != nil {
		t.Skip(err)
	}
	d.apply(two, false, "claude-code")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 12345 || s.Gid != 54321 || info.Mode().Perm() != 0o640 {
		t.Errorf("it belongs to %d:%d, %v", s.Uid, s.Gid, info.Mode())
	}
}
