package fsutil

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Snap is the state of files at one time. Equal Snaps mean that nothing changed.
type Snap [sha256.Size]byte

// Snapshot captures the names, sizes and modification times of the files at paths, and of
// all files in paths that are folders. Names that begin with a dot are skipped.
// Unreadable files count as missing.
func Snapshot(paths ...string) Snap {
	sum := sha256.New()
	note := func(path string, info fs.FileInfo) {
		fmt.Fprintf(sum, "%s\x00%d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			note(path, info)
			continue
		}
		// Unreadable folders are skipped, so there is no error.
		_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if name != path && strings.HasPrefix(d.Name(), ".") {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if info, err := d.Info(); err == nil && !d.IsDir() {
				note(name, info)
			}
			return nil
		})
	}
	return Snap(sum.Sum(nil))
}
