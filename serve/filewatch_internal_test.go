package serve

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is missing once may be about to be replaced; one that stays away is a change, once.
func TestFileWatchRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newFileWatch(path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, false, false} {
		if got := w.check(); got != want {
			t.Errorf("check %d of a removed file = %v, want %v", i+1, got, want)
		}
	}
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !w.check() || w.check() {
		t.Error("a file that is back is no change, or one twice")
	}
}

// A file that has never existed is not missing.
func TestFileWatchAbsent(t *testing.T) {
	w := newFileWatch(filepath.Join(t.TempDir(), "tokens"))
	for range 3 {
		if w.check() {
			t.Error("a file that never existed is a change")
		}
	}
}
