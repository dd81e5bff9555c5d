//go:build !linux

package client

import "os"

// unread returns false: only Linux reports the content of a pipe without a reader.
func unread(*os.File) (n int64, known bool) { return 0, false }
