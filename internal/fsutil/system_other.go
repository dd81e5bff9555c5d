//go:build !windows

package fsutil

import (
	"io/fs"
	"os"
)

// OpenShared is [os.OpenFile], and does not keep others from renaming or removing the
// file while it is open. On Windows, a new file whose perm excludes others is
// inaccessible to them.
func OpenShared(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// keepAccess does nothing: the caller sets the mode.
func keepAccess(_, _ string, _ fs.FileMode) error { return nil }

func rename(from, to string) error { return os.Rename(from, to) }

// ReadableBy returns whom the access list of a file or folder allows to read it besides
// this user and administrators, or "". It is empty where files have modes.
func ReadableBy(string) (who string, err error) { return "", nil }
