//go:build unix && !linux

package client

import (
	"os"
	"syscall"
	"time"
)

// dieWithParent does nothing: only Linux supports it. A child notices the end of its
// stdin.
func dieWithParent(*syscall.SysProcAttr) {}

// enlarge does nothing: only Linux supports it.
func enlarge(*os.File) {}

// stoppedProcesses returns nil: only Linux reports them.
func stoppedProcesses(int) []int { return nil }

// cpuTime returns 0: only Linux reports it.
func cpuTime(int) time.Duration { return 0 }
