package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// maxFile is the maximum size of a client's file in bytes. Some clients store all of
// their state in it.
const maxFile = 256 << 20

// SyntaxError is in the errors about a client's file that is malformed.
type SyntaxError = edit.SyntaxError

// readFile reads a client's file. Pipes and devices are rejected: a project may contain
// one, and reading it might block forever.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	refuse := func(why string) ([]byte, error) {
		return nil, &fs.PathError{
			Op:   "read",
			Path: path,
			Err:  errors.New(why),
		}
	}
	if !info.Mode().IsRegular() {
		return refuse("it is not a regular file")
	}
	f, err := fsutil.OpenRegular(path)
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

// replace creates a file or replaces an existing one.
func replace(name string, text []byte, mode fs.FileMode) error {
	return fsutil.Replace(name, mode, fsutil.Content(text))
}

// oneName resolves symbolic links in the parent folders of a file, so that a file has a
// single name regardless of the route to it. If the file itself is a link, it is not
// resolved.
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

// makeDirs creates the parent folders of a file and returns the topmost one it created,
// or "".
func makeDirs(path string, mode fs.FileMode) (made string, err error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		made = dir
	}
	return made, os.MkdirAll(filepath.Dir(path), mode)
}

// dropDirs removes the empty parent folders of a file up to made.
func dropDirs(path, made string) {
	for dir := filepath.Dir(path); made != "" && len(dir) >= len(made); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// dirMode is the mode of created folders. Those of a project are readable by others.
func dirMode(scope Scope) fs.FileMode {
	if scope == User {
		return 0o700
	}
	return 0o755
}
