//go:build unix

package fsutil

import (
	"io/fs"
	"syscall"
)

// fileNumber returns the number of a file, which differs between a file and its replacement.
func fileNumber(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
