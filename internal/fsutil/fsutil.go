// Package fsutil puts files and folders in place whole or not at all.
//
// Everything is first written under a temporary name in the same folder, brought
// to the disk, and then renamed; what fails leaves what was there before. Nothing
// is overwritten unless the caller says so. What a killed process left under a
// temporary name is removed when the same file or folder is written again.
package fsutil

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Create writes a new file through write and puts it at name with the permission
// bits perm. A file that is there already is an error that matches [fs.ErrExist].
func Create(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return put(name, perm, write, false)
}

// Replace is [Create], but takes the place of a file that is there already. A
// symbolic link at name is followed, so that the link stays. Anything that is no
// regular file is an error.
func Replace(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return put(name, perm, write, true)
}

func put(name string, perm fs.FileMode, write func(io.Writer) error, replace bool) (err error) {
	if replace {
		if target, err := filepath.EvalSymlinks(name); err == nil {
			name = target
		}
	}
	if info, err := os.Lstat(name); err == nil {
		if !replace {
			return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		if !info.Mode().IsRegular() {
			return &fs.PathError{Op: "replace", Path: name, Err: errors.New("not a regular file")}
		}
	}
	prefix := "." + filepath.Base(name) + ".tmp-"
	SweepTemp(filepath.Dir(name), prefix)
	f, err := os.CreateTemp(filepath.Dir(name), prefix+"*")
	if err != nil {
		return err
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
	if err := errors.Join(f.Chmod(perm), f.Sync(), f.Close()); err != nil {
		return err
	}
	if replace {
		err = os.Rename(tmp, name)
	} else {
		err = moveNew(tmp, name)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// moveNew gives the file at tmp the name, which nobody may have taken meanwhile:
// a hard link fails where a rename would overwrite.
func moveNew(tmp, name string) error {
	err := os.Link(tmp, name)
	if err == nil {
		return os.Remove(tmp)
	}
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return os.Rename(tmp, name) // a file system without hard links
}

// CreateDir makes a folder at dir out of what fill puts into a temporary folder
// beside it. It appears whole or not at all. A folder that is there already must
// be empty; otherwise the error matches [fs.ErrExist]. The folder above must be
// there.
func CreateDir(dir string, fill func(tmp string) error) (err error) {
	dir = filepath.Clean(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // "." has no name to stand beside
	}
	if err := vacant(dir); err != nil {
		return err
	}
	tmp, release, err := TempDir(filepath.Dir(dir), "."+filepath.Base(dir)+".tmp-")
	if err != nil {
		return err
	}
	defer func() {
		// Once it has its final name nothing of the temporary one is left.
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

// replaceEmpty renames tmp to dir, which may be an empty folder. A folder that
// somebody filled meanwhile is not empty any more and stays.
func replaceEmpty(tmp, dir string) error {
	if err := os.Rename(tmp, dir); err == nil {
		return nil
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "create", Path: dir, Err: fs.ErrExist}
	}
	return os.Rename(tmp, dir)
}

func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("create %s: the folder is not empty: %w", dir, fs.ErrExist)
	}
	return nil
}

// syncDir brings a rename to the disk. Some systems cannot, and the rename holds
// without it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// Reason is the text of an error without the path, for a place that says it
// already. An error that names no path is worded as it is.
func Reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
