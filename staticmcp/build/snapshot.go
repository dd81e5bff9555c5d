package build

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Snap is what files looked like at one time. Two that are equal mean that
// nothing changed.
type Snap [sha256.Size]byte

// Snapshot looks at the names, sizes and times of the files at paths, and of all
// files in those that are folders; what begins with a dot is left out. What
// cannot be read counts as not there.
func Snapshot(paths []string) Snap {
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
		// A folder that cannot be read is skipped: there is no error.
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
