//go:build !linux

package system

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// errNoClock is returned because the measurements require the CPU time of other
// processes, which is read from /proc.
var errNoClock = errors.New("server CPU is read from /proc, which only Linux has")

// OwnGroup only makes the process killable.
func OwnGroup(cmd *exec.Cmd) { cmd.Cancel = func() error { return cmd.Process.Kill() } }

// Pipe requires Linux.
func Pipe() (r, w *os.File, err error) { return nil, nil, errNoClock }

// CPUTime requires Linux.
func CPUTime(int) (time.Duration, error) { return 0, errNoClock }

// ResidentKB requires Linux.
func ResidentKB(int) (int64, error) { return 0, errNoClock }

// PeakKB requires Linux.
func PeakKB(int) (int64, error) { return 0, errNoClock }

// OwnMemoryKB requires Linux.
func OwnMemoryKB(int) (int64, error) { return 0, errNoClock }

// OwnCPU requires Linux.
func OwnCPU() (time.Duration, error) { return 0, errNoClock }

// CPUModel returns "".
func CPUModel() string { return "" }

// LoadAverage returns "".
func LoadAverage() string { return "" }

// Descriptors requires Linux.
func Descriptors(int) (int, error) { return 0, errNoClock }

// RaiseDescriptors requires Linux.
func RaiseDescriptors() (int, error) { return 0, errNoClock }

// Children requires Linux.
func Children(int) ([]int, error) { return nil, errNoClock }

// Exists requires Linux.
func Exists(int) bool { return false }

// Kill requires Linux.
func Kill(int) error { return errNoClock }

// Suspend requires Linux.
func Suspend(int) error { return errNoClock }

// Resume requires Linux.
func Resume(int) error { return errNoClock }
