//go:build unix

package staticmcp_test

import "syscall"

// makePipe makes a named pipe, on which an unwary reader waits for ever.
func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
