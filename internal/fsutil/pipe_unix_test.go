//go:build unix

package fsutil_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// TestReadPipe guards that the pipe of a process substitution is read with the limit, and that a
// named pipe, which may have no writer, is refused rather than waited for.
func TestReadPipe(t *testing.T) {
	for _, folder := range []string{"/dev/fd", "/proc/self/fd"} {
		if _, err := os.Stat(folder); err != nil {
			continue // macOS has no /proc
		}
		read := func(limit int64) ([]byte, error) {
			t.Helper()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := w.WriteString("12345"); err != nil {
				t.Fatal(err)
			}
			w.Close()
			return fsutil.ReadFile(fmt.Sprintf("%s/%d", folder, r.Fd()), limit)
		}
		if text, err := read(5); err != nil || string(text) != "12345" {
			t.Errorf("%s: %q, %v, want 12345", folder, text, err)
		}
		if _, err := read(3); !errors.As(err, new(*fsutil.TooLargeError)) {
			t.Errorf("%s: more than the limit: %v, want a TooLargeError", folder, err)
		}
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := fsutil.ReadFile(fifo, 5); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a named pipe: %v", err)
	}
	if runtime.GOOS != "linux" {
		return // opening a descriptor duplicates it
	}
	// As in "slipway config check /dev/stdin <fifo", after the writer has ended.
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(fifo, []byte("12345"), 0); err != nil {
		t.Fatal(err)
	}
	if text, err := fsutil.ReadFile(fmt.Sprintf("/dev/fd/%d", f.Fd()), 5); err != nil || string(text) != "12345" {
		t.Errorf("a named pipe without a writer: %q, %v, want 12345", text, err)
	}
}
