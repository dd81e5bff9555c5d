package client

import (
	"os"
	"syscall"
	"testing"
)

// TestEnlargePipe ensures that the server does not block on a handful of large unread
// answers.
func TestEnlargePipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const getPipeSize = 1032
	size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), getPipeSize, 0)
	if errno != 0 || size > 64<<10 {
		t.Skipf("pipes are of %d bytes here (%v)", size, errno)
	}
	enlargePipe(r)
	if size, _, _ = syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), getPipeSize, 0); size < 256<<10 {
		t.Errorf("the pipe holds %d bytes, want 256 KiB", size)
	}
}
