package fsutil

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Snap is the state of files at one time. Equal Snaps mean that nothing changed.
type Snap [sha256.Size]byte

// Snapshot captures the names, sizes and modification times of the files at paths, and of
// all files in paths that are folders. Names that begin with a dot are skipped.
// Unreadable files count as missing. On Unix, where two files that are written within some
// milliseconds can have the same time, a file that was replaced differs by its number.
func Snapshot(paths ...string) Snap {
	sum := sha256.New()
	eachFile(paths, func(path string, info fs.FileInfo) {
		fmt.Fprintf(sum, "%s\x00%d %d %d\n", path, info.Size(), info.ModTime().UnixNano(), fileNumber(info))
	})
	return Snap(sum.Sum(nil))
}

// Newest returns the latest modification time of the files that [Snapshot] covers, or the
// zero time if there are none.
func Newest(paths ...string) time.Time {
	var newest time.Time
	eachFile(paths, func(_ string, info fs.FileInfo) {
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	})
	return newest
}

// eachFile calls visit for each file of a snapshot, in order.
func eachFile(paths []string, visit func(path string, info fs.FileInfo)) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			visit(path, info)
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
				visit(name, info)
			}
			return nil
		})
	}
}

// Stamp is what the file system says about a file, which changes when its contents do. Two
// writes within the same tick of the clock can have the same time.
type Stamp struct {
	Size, Time int64
	Number     uint64 // on Unix
}

// StampOf returns the stamp of a file.
func StampOf(info fs.FileInfo) Stamp {
	return Stamp{info.Size(), info.ModTime().UnixNano(), fileNumber(info)}
}
