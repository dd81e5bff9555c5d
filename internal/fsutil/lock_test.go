package fsutil_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	shared, err := fsutil.LockShared(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	another, err := fsutil.LockShared(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsutil.TryLock(name); !errors.Is(err, fsutil.ErrLocked) {
		t.Errorf("locked what two share: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := fsutil.LockExclusive(ended, name); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if err := errors.Join(shared.Unlock(), another.Unlock()); err != nil {
		t.Fatal(err)
	}
	alone, err := fsutil.TryLock(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there still: %v", err)
	}
}

// TestLeftovers creates leftovers of killed processes and verifies that they are removed
// when the same file or folder is written again, except those still in use.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	long := time.Now().Add(-48 * time.Hour)
	stale := []string{".a.tmp-123", ".d.tmp-456"}
	kept := []string{".b.tmp-123", ".a.tmp-x", ".a.tmp-", "a.tmp-1"}
	for _, name := range append(stale, kept...) {
		if err := errors.Join(os.MkdirAll(filepath.Join(at(name), "sub"), 0o755), os.Chmod(at(name), 0o555),
			os.Chtimes(at(name), long, long)); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(string) error {
		// Create it again while it is being created: the first one is in use.
		own, _ := filepath.Glob(at(".d.tmp-*"))
		if len(own) != 1 {
			t.Errorf("temporary folders: %v", own)
		}
		if runtime.GOOS != "windows" {
			if err := os.Chtimes(own[0], long, long); err != nil {
				t.Error(err)
			}
			_, release, err := fsutil.TempDir(dir, ".d.tmp-")
			if err := errors.Join(err, release()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(own[0]); err != nil {
				t.Errorf("removed while it was filled: %v", err)
			}
		}
		return nil
	}
	if err := errors.Join(fsutil.Create(at("a"), 0o644, text("x")), fsutil.CreateDir(at("d"), fill)); err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		if _, err := os.Stat(at(name)); err == nil {
			t.Errorf("%s is there still", name)
		}
	}
	for _, name := range kept {
		if _, err := os.Stat(at(name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
		_ = os.Chmod(at(name), 0o755)
	}
}
