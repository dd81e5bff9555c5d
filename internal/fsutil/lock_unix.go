//go:build unix && !aix && !solaris

package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

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

// settling is how long after its last change a temporary file is left alone: its
// owner locks it just after making it.
const settling = 10 * time.Second

// abandoned reports whether the owner of a temporary file or folder is gone. In a
// folder that users share, what another user made is never ours to remove.
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

// markInUse marks a temporary file or folder as one that has an owner, until the
// function it returns is called. It never fails: what is not marked is only
// removed too early by another process that makes the same file.
func markInUse(name string) (release func() error) {
	f, err := os.Open(name)
	if err != nil {
		return func() error { return nil }
	}
	_ = lockFile(f, false)
	return f.Close
}
