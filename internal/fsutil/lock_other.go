//go:build !windows && (!unix || aix || solaris)

package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lockFile shares, and never excludes: without locks no process can know who else uses
// a file, so what needs it for itself is refused.
func lockFile(_ *os.File, exclusive bool) error {
	if exclusive {
		return errors.ErrUnsupported
	}
	return nil
}

// abandoned reports whether the owner of a temporary file or folder is gone.
func abandoned(_ string, info fs.FileInfo) bool {
	return time.Since(info.ModTime()) > 24*time.Hour
}

func markInUse(string) (release func() error) { return func() error { return nil } }
