//go:build unix

package fsutil

import "syscall"

// nonBlocking makes opening a pipe return at once.
const nonBlocking = syscall.O_NONBLOCK
