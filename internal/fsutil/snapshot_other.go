//go:build !unix

package fsutil

import "io/fs"

// fileNumber returns 0: what is known about a file has no number here.
func fileNumber(fs.FileInfo) uint64 { return 0 }
