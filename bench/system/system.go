// Package system queries the operating system about the measured processes, and groups
// them. What it reads from /proc is only available on Linux, and is an error elsewhere.
package system

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// afterName returns the fields of a stat file from the third on: the state, the parent and others.
// The second field is the program's name in parentheses, which may contain any character.
func afterName(stat []byte) [][]byte {
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// ResidentKB returns the resident memory of a process in KiB.
func ResidentKB(pid int) (int64, error) { return statusKB(pid, "VmRSS:") }

// PeakKB returns the peak resident memory of a process in KiB.
func PeakKB(pid int) (int64, error) { return statusKB(pid, "VmHWM:") }

// OwnMemoryKB returns the resident memory of a process that is not file-backed, in KiB:
// the system can neither share nor drop it.
func OwnMemoryKB(pid int) (int64, error) {
	return statusKB(pid, "RssAnon:")
}

// statusKB returns a field of /proc/PID/status, which is in KiB.
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

// Machine returns the name of the processor and the load average of the last minute. What
// the system does not report is empty.
func Machine() (model, average string) {
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			name, value, ok := strings.Cut(line, ":")
			if ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
			}
		}
	}
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		average, _, _ = strings.Cut(string(data), " ")
	}
	return model, average
}

// BusyTime returns the CPU time of all programs and of the system since its start, on all processors.
func BusyTime() (time.Duration, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0, fmt.Errorf("/proc/stat has %d fields", len(fields))
	}
	busy := int64(0)
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		if i != 3 && i != 4 { // idle, and waiting for a disk
			busy += ticks
		}
	}
	const tick = 10 * time.Millisecond // the same on every Linux
	return time.Duration(busy) * tick, nil
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
		fields := afterName(data)
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
