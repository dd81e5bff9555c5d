//go:build unix

package main

import (
	"os"
	"syscall"
)

// reloadSignal returns the signal that reloads definitions.
func reloadSignal() os.Signal { return syscall.SIGHUP }
