//go:build unix

package staticmcp_test

import "syscall"

// makePipe creates a named pipe, on which a careless reader blocks forever.
func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
