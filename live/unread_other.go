//go:build !linux

package live

import "os"

// unread does not know: only Linux tells what is in a pipe whose reader is gone.
func unread(*os.File) (n int64, known bool) { return 0, false }
