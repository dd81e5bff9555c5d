//go:build unix

package sitebuild_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// What the user may not read is an error of its own, rather than an input of no kind.
func TestOpenUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	folder := filepath.Join(t.TempDir(), "docs")
	if err := os.Mkdir(folder, 0o300); err != nil {
		t.Fatal(err)
	}
	if _, err := sitebuild.Open(folder, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Open = %v, want fs.ErrPermission", err)
	}
}
