//go:build !unix

package hophttp

import "syscall"

const canPeek = false

// nothingArrived is not called.
func nothingArrived(syscall.RawConn) bool { return false }
