//go:build unix

package fsutil_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// TestUmask verifies that a new file is as private as the user asks for, and that a replaced one keeps
// the mode that the caller gives it.
func TestUmask(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	dir := t.TempDir()
	mode := func(name string) os.FileMode {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	made := filepath.Join(dir, "made")
	if err := fsutil.Create(made, 0o644, text("x")); err != nil {
		t.Fatal(err)
	}
	replaced := filepath.Join(dir, "replaced")
	if err := fsutil.Replace(replaced, 0o644, text("x")); err != nil {
		t.Fatal(err)
	}
	if a, b := mode(made), mode(replaced); a != 0o600 || b != 0o600 {
		t.Errorf("new files have the modes %v and %v, want 0600", a, b)
	}
	if err := fsutil.Replace(replaced, 0o644, text("y")); err != nil {
		t.Fatal(err)
	}
	if got := mode(replaced); got != 0o644 {
		t.Errorf("a replaced file has the mode %v, want 0644", got)
	}
}
