//go:build unix && !aix && !solaris

package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// lockFile locks an open file without waiting. The system releases the lock when the
// process ends.
func lockFile(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}

// settling is the minimum age of a temporary file before it can be swept, since its owner
// locks it shortly after creating it.
const settling = 10 * time.Second

// abandoned reports whether the owner of a temporary file or folder has exited. In a
// shared folder, it is always false for files of other users.
func abandoned(name string, info fs.FileInfo) bool {
	made, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(made.Uid) != os.Geteuid() {
		return false
	}
	if time.Since(info.ModTime()) < settling || !info.Mode().IsRegular() && !info.IsDir() {
		return false
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return lockFile(f, true) == nil
}

// markInUse marks a temporary file or folder as in use until the returned function is
// called. Errors are ignored: in the worst case, another process that creates the same
// file removes this one too early.
func markInUse(name string) (release func() error) {
	f, err := os.Open(name)
	if err != nil {
		return func() error { return nil }
	}
	_ = lockFile(f, false)
	return f.Close
}
