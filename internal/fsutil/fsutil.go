// Package fsutil creates and replaces files and folders atomically.
//
// Content is first written to a temporary name in the same folder, synced to disk, and
// then renamed; after a failure, the previous content is unchanged. Nothing is
// overwritten unless the caller requests it. Temporary files of killed processes are
// removed when the same file or folder is written again.
//
// [Snapshot] tells whether files have changed.
package fsutil

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Create calls write to create a new file at name with the permission bits perm, less the umask. If the
// file exists, the error matches [fs.ErrExist].
func Create(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return put(name, perm, write, false, nil)
}

// Replace is [Create], but replaces an existing file, which then has exactly the bits perm. If name is a
// symbolic link, its target is replaced. If name exists and is not a regular file, Replace returns an error.
//
// On Windows, a file whose perm excludes others gets an access list for this user,
// administrators and the system; any other keeps the list of the file it replaces.
func Replace(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return put(name, perm, write, true, nil)
}

// ReplaceIf is [Replace], but calls last when the new content is on disk, directly before it takes the
// place of the file. An error of last is returned, and the file stays as it is. Other programs may write the
// file until then, which takes as long as a disk needs to write.
func ReplaceIf(name string, perm fs.FileMode, write func(io.Writer) error, last func() error) error {
	return put(name, perm, write, true, last)
}

// Content returns a function for [Create] and [Replace] that writes content.
func Content[T ~string | ~[]byte](content T) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write([]byte(content))
		return err
	}
}

// put writes a temporary file next to name, and renames it when it is complete, unless last, which may
// be nil, returns an error. A link is followed when replacing, so that it remains a link.
func put(
	name string,
	perm fs.FileMode,
	write func(io.Writer) error,
	replace bool,
	last func() error,
) (err error) {
	if replace {
		if target, err := filepath.EvalSymlinks(name); err == nil {
			name = target
		}
	}
	info, err := os.Lstat(name)
	exists := err == nil
	if exists {
		if !replace {
			return &fs.PathError{
				Op:   "create",
				Path: name,
				Err:  fs.ErrExist,
			}
		}
		if !info.Mode().IsRegular() {
			return &fs.PathError{
				Op:   "replace",
				Path: name,
				Err:  errors.New("not a regular file"),
			}
		}
	}
	prefix := "." + filepath.Base(name) + ".tmp-"
	SweepTemp(filepath.Dir(name), prefix)
	f, err := createTemp(filepath.Dir(name), prefix, perm)
	if err != nil {
		return &fs.PathError{
			Op:   "create",
			Path: name, // instead of the temporary name
			Err:  Cause(err),
		}
	}
	tmp := f.Name()
	release := markInUse(tmp)
	defer func() {
		_ = release() // it only protects tmp, which is gone
		if err != nil {
			f.Close()
			os.Remove(tmp)
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	if err := errors.Join(write(buffered), buffered.Flush()); err != nil {
		return err
	}
	if exists {
		err = f.Chmod(perm) // whatever the umask is
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if exists {
		err = keepAccess(name, tmp, perm)
	}
	if err == nil && last != nil {
		err = last()
	}
	if err != nil {
		return err
	}
	if replace {
		err = rename(tmp, name)
	} else {
		err = moveNew(tmp, name)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// createTemp creates a file with a temporary name, which begins with prefix. Its mode is perm less the
// umask.
func createTemp(dir, prefix string, perm fs.FileMode) (*os.File, error) {
	for range 10000 {
		name := filepath.Join(dir, prefix+strconv.FormatUint(uint64(rand.Uint32()), 10))
		f, err := OpenShared(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, &fs.PathError{
		Op:   "create",
		Path: filepath.Join(dir, prefix+"*"),
		Err:  fs.ErrExist,
	}
}

// moveNew renames tmp to name unless name has been created in the meantime: a hard link
// fails where a rename would overwrite.
func moveNew(tmp, name string) error {
	err := os.Link(tmp, name)
	if err == nil {
		return os.Remove(tmp)
	}
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{
			Op:   "create",
			Path: name,
			Err:  fs.ErrExist,
		}
	}
	return rename(tmp, name) // a file system without hard links
}

// CreateDir creates the folder dir from what fill writes to a temporary folder next to
// it. It appears atomically. The parent folder must exist.
//
// If dir exists, it must be empty, or the error matches [fs.ErrExist]. It stays the same folder, because it
// may be the current one of a shell, a link or a mounted file system: the temporary folder is in it, and its
// content is moved at the end. After a failure, dir is empty.
func CreateDir(dir string, fill func(tmp string) error) (err error) {
	dir = filepath.Clean(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // "." has no base name
	}
	prefix := "." + filepath.Base(dir) + ".tmp-"
	SweepTemp(dir, prefix)
	exists, err := vacant(dir)
	if err != nil {
		return err
	}
	if exists {
		return fillDir(dir, prefix, fill)
	}
	tmp, release, err := TempDir(filepath.Dir(dir), prefix)
	if err != nil {
		return err
	}
	defer func() {
		// After the rename, this does nothing.
		err = errors.Join(err, release())
	}()
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := replaceEmpty(tmp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// fillDir is [CreateDir] for an empty folder.
func fillDir(dir, prefix string, fill func(tmp string) error) (err error) {
	tmp, release, err := TempDir(dir, prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := fill(tmp); err != nil {
		return err
	}
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if err := rename(filepath.Join(tmp, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, rename(filepath.Join(dir, moved.Name()), filepath.Join(tmp, moved.Name())))
			}
			return err
		}
	}
	return syncDir(dir)
}

// replaceEmpty renames tmp to dir, which may be an empty folder. If the folder has been
// filled in the meantime, it is kept.
func replaceEmpty(tmp, dir string) error {
	if err := rename(tmp, dir); err == nil {
		return nil
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{
			Op:   "create",
			Path: dir,
			Err:  fs.ErrExist,
		}
	}
	return rename(tmp, dir)
}

// vacant reports whether dir exists. It returns an error unless dir is missing or empty.
func vacant(dir string) (exists bool, err error) {
	entries, err := os.ReadDir(dir)
	switch why := BrokenLink(dir); {
	case why != "":
		return false, fmt.Errorf("create %s: %s: %w", dir, why, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case len(entries) > 0:
		return true, fmt.Errorf("create %s: the folder is not empty: %w", dir, fs.ErrExist)
	}
	return true, nil
}

// syncDir syncs a rename to disk. Failures are ignored: some systems do not support this,
// and the rename takes effect anyway.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// Reason returns the text of an error without its path, for messages that already contain
// the path. Errors without a path are returned in full.
func Reason(err error) string { return Cause(err).Error() }

// Cause returns an error without its path.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// ReadOnly returns a reason if the owner may not write the file, or "". A rename would still
// replace it, against the owner's intent.
func ReadOnly(path string) string {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		return "it is read-only"
	}
	return ""
}

// BrokenLink returns a reason if the file is a link to a file that does not exist, or "". Its
// owner may expect to create the target.
func BrokenLink(path string) string {
	if target, err := os.Readlink(path); err == nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "it is a link to " + target + ", which does not exist"
		}
	}
	return ""
}
