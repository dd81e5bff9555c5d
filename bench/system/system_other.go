//go:build !linux

package system

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// errLinux is the error of measurements that read /proc.
var errLinux = errors.New("this measurement requires Linux")

// OwnGroup only makes the process killable.
func OwnGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		return cmd.Process.Kill()
	}
}

// Pipe requires Linux.
func Pipe() (r, w *os.File, err error) { return nil, nil, errLinux }

// RaiseDescriptors requires Linux.
func RaiseDescriptors() (int, error) { return 0, errLinux }

// Exists requires Linux.
func Exists(int) bool { return false }

// The signals of [Signal].
const (
	Kill syscall.Signal = iota
	Suspend
	Resume
)

// Signal requires Linux.
func Signal(int, syscall.Signal) error { return errLinux }

// CPUTime requires Linux.
func CPUTime(int) (time.Duration, error) { return 0, errLinux }
