package fsutil_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// TestSnapshotOfAReplacement guards editors that replace a file at the same time of a coarse clock.
func TestSnapshotOfAReplacement(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no numbers")
	}
	file := filepath.Join(t.TempDir(), "servers.yaml")
	at := time.Now().Truncate(time.Second)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "version 1")
	before := fsutil.Snapshot(file)
	if now := fsutil.Snapshot(file); now != before {
		t.Error("two snapshots of an unchanged file differ")
	}
	write(file+".new", "version 2")
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	if now := fsutil.Snapshot(file); now == before {
		t.Error("a replacement of the same size and time was not noticed")
	}
}
