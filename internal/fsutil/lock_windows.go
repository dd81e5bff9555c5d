package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lockedByte is the upper half of the offset of the locked byte. It is far beyond the end
// of any file, since other processes cannot read a locked range.
const lockedByte = 1 << 30

func lockFile(f *os.File, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := &windows.Overlapped{OffsetHigh: lockedByte}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) ||
		errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// abandoned reports whether the owner of a temporary file or folder has exited. Folders
// cannot be locked on Windows, so this depends on their age.
func abandoned(_ string, info fs.FileInfo) bool {
	return time.Since(info.ModTime()) > 24*time.Hour
}

func markInUse(string) (release func() error) {
	return func() error {
		return nil
	}
}
