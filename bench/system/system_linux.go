package system

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OwnGroup lets the peer and its children be killed together, and kills the peer if this
// process dies first.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
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

// tick is the unit of /proc/PID/stat, the same on every Linux.
const tick = 10 * time.Millisecond

// CPUTime returns the user and system time of a process.
func CPUTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may contain any
	// character; utime and stime are the 14th and 15th.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat of %d has %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick, err
}

// ResidentKB returns the resident memory of a process in KiB.
func ResidentKB(pid int) (int64, error) { return statusKB(pid, "VmRSS:") }

// PeakKB returns the peak resident memory of a process in KiB.
func PeakKB(pid int) (int64, error) { return statusKB(pid, "VmHWM:") }

// OwnMemoryKB returns the resident memory of a process that is not file-backed, in KiB:
// the system can neither share nor drop it.
func OwnMemoryKB(pid int) (int64, error) { return statusKB(pid, "RssAnon:") }

func statusKB(pid int, field string) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			return strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		}
	}
	return 0, fmt.Errorf("status of %d has no %s", pid, field)
}

// OwnCPU returns the user and system time of this process.
func OwnCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// CPUModel returns the processor's name, or "".
func CPUModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// LoadAverage returns the load average of the last minute, or "".
func LoadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

// Descriptors returns how many files, sockets and pipes a process has open.
func Descriptors(pid int) (int, error) {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return len(names), err
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

// Children returns the child processes of a process, including zombies.
func Children(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has just exited
		}
		// The name in parentheses is followed by the state and the parent.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return children, nil
}

// Exists reports whether a process runs or is a zombie.
func Exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// Kill kills a process.
func Kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// Suspend suspends a process until [Resume].
func Suspend(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

// Resume continues a suspended process.
func Resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
