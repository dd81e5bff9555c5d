package main

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// TestStoreFailed guards an error of the store of logins: it is one line, whatever the path contains, and keeps its
// exit code.
func TestStoreFailed(t *testing.T) {
	path := &fs.PathError{
		Op:   "open",
		Path: "/a\nb\x1b",
		Err:  fs.ErrPermission,
	}
	f := explain(storeFailed(fmt.Errorf("logins: %w", errors.Join(path, fs.ErrClosed))))
	want := "logout: " + `logins: open /a; b\u001b: permission denied; file already closed`
	if f.text != want || f.code != exitInput {
		t.Errorf("%q, exit code %d; want %q, %d", f.text, f.code, want, exitInput)
	}
}
