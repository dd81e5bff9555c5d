package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// maxFile is how many bytes the file of a client may have. Some keep all of their
// state in it.
const maxFile = 256 << 20

// readFile reads the file of a client. A pipe or a device is an error: a project may
// hold one, and reading it might never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	refuse := func(why string) ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New(why)}
	}
	if !info.Mode().IsRegular() {
		return refuse("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		return refuse(fmt.Sprintf("it has more than %d bytes", maxFile))
	}
	return text, err
}

// replace puts a file in place of one that may be there.
func replace(name string, text []byte, mode fs.FileMode) error {
	return fsutil.Replace(name, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readOnly says so if the owner of a file may not write it. A rename would take
// its place all the same, and whoever made it so did not mean that.
func readOnly(path string) string {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o200 == 0 {
		return "it is read-only"
	}
	return ""
}

// oneName is a path without links in the folders above the file, so that a file has
// one name however one came to its folder. A link that is the file itself stays.
func oneName(path string) string {
	rest := filepath.Base(path)
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// makeDirs makes the folders above a file, and returns the topmost that was not
// there, or "".
func makeDirs(path string, mode fs.FileMode) (made string, err error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		made = dir
	}
	return made, os.MkdirAll(filepath.Dir(path), mode)
}

// dropDirs takes away the folders above a file up to made, as far as nothing is in
// them.
func dropDirs(path, made string) {
	for dir := filepath.Dir(path); made != "" && len(dir) >= len(made); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// dirMode is for folders that are made: others may look into those of a project.
func dirMode(scope Scope) fs.FileMode {
	if scope == User {
		return 0o700
	}
	return 0o755
}
