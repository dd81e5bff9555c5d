//go:build !linux

package client

import (
	"os"
	"time"
)

// enlargePipe does nothing: elsewhere the size of a pipe is fixed.
func enlargePipe(*os.File) {}

// stoppedProcesses returns nil: only Linux reports them.
func stoppedProcesses(int) []int { return nil }

// cpuTime returns 0: only Linux reports it.
func cpuTime(int) time.Duration { return 0 }
