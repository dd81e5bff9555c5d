//go:build unix

package main

import (
	"os"
	"syscall"
)

// reloadSignal has a file of definitions read again.
func reloadSignal() os.Signal { return syscall.SIGHUP }
