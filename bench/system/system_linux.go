package system

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// OwnGroup lets the peer and its children be killed together, and kills the peer if this
// process dies first.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
	}
	cmd.Cancel = func() error {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// Pipe returns a pipe with blocking ends, which is cheaper than the poller for a single
// stream.
func Pipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// RaiseDescriptors raises the descriptor limit of this process to the system's maximum
// and returns it. Child processes may do the same.
func RaiseDescriptors() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("raise the limit of descriptors: %w", err)
	}
	return int(min(limit.Cur, 1<<30)), nil
}

// Exists reports whether a process runs or is a zombie.
func Exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// The signals of [Signal].
const (
	Kill    = syscall.SIGKILL
	Suspend = syscall.SIGSTOP
	Resume  = syscall.SIGCONT
)

// Signal sends a signal to a process.
func Signal(pid int, signal syscall.Signal) error {
	return syscall.Kill(pid, signal)
}

// CPUTime returns the user and system time of a process with all of its threads, in nanoseconds:
// /proc/PID/stat has steps of 10 ms.
func CPUTime(pid int) (time.Duration, error) {
	// The id of another process's clock, as clock_getcpuclockid(3) returns it.
	const scheduled = 2
	var used syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME,
		uintptr(^pid<<3|scheduled), uintptr(unsafe.Pointer(&used)), 0)
	if errno != 0 {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, errno)
	}
	return time.Duration(used.Nano()), nil
}
