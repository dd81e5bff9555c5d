//go:build !linux

package system

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// errNoClock is why nothing can be measured: the time that another process
// has used so far is read from /proc.
var errNoClock = errors.New("server CPU is read from /proc, which only Linux has")

// OwnGroup lets the process be killed.
func OwnGroup(cmd *exec.Cmd) { cmd.Cancel = func() error { return cmd.Process.Kill() } }

// Pipe is for peers that are measured.
func Pipe() (r, w *os.File, err error) { return nil, nil, errNoClock }

// CPUTime needs Linux.
func CPUTime(int) (time.Duration, error) { return 0, errNoClock }

// ResidentKB needs Linux.
func ResidentKB(int) (int64, error) { return 0, errNoClock }

// PeakKB needs Linux.
func PeakKB(int) (int64, error) { return 0, errNoClock }

// OwnMemoryKB needs Linux.
func OwnMemoryKB(int) (int64, error) { return 0, errNoClock }

// OwnCPU is for peers that are measured.
func OwnCPU() (time.Duration, error) { return 0, errNoClock }

// CPUModel returns "".
func CPUModel() string { return "" }

// LoadAverage returns "".
func LoadAverage() string { return "" }

// Descriptors needs Linux.
func Descriptors(int) (int, error) { return 0, errNoClock }

// RaiseDescriptors is for processes that are measured.
func RaiseDescriptors() (int, error) { return 0, errNoClock }

// Children needs Linux.
func Children(int) ([]int, error) { return nil, errNoClock }

// Exists needs Linux.
func Exists(int) bool { return false }

// Kill needs Linux.
func Kill(int) error { return errNoClock }

// Suspend needs Linux.
func Suspend(int) error { return errNoClock }

// Resume needs Linux.
func Resume(int) error { return errNoClock }
