package client

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// setPipeSize is F_SETPIPE_SZ of fcntl.
const setPipeSize = 1031

// enlargePipe increases the capacity of a pipe from the usual 64 KiB, a handful of large
// answers, at each of which the child would have to wait for the reader. The memory
// belongs to the system, and is used only for unread data. It is limited per user, and
// everything works without it.
func enlargePipe(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, 256<<10)
		})
	}
}

// maxTree is how many processes below a child are inspected.
const maxTree = 64

// eachProcess calls do for a process and its descendants. ticks is the CPU time of the
// process and of its reaped children.
func eachProcess(pid int, do func(pid int, state byte, ticks uint64)) {
	pids := []int{pid}
	for i := 0; i < len(pids) && i < maxTree; i++ {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[i]))
		if err != nil {
			continue
		}
		// Fields are counted after the name, which may contain any characters.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 15 {
			continue
		}
		var ticks uint64
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseUint(string(field), 10, 64)
			ticks += n
		}
		do(pids[i], fields[0][0], ticks)
		pids = appendChildren(pids, pids[i])
	}
}

// appendChildren appends the children of a process, which are listed under the thread
// that started them.
func appendChildren(pids []int, pid int) []int {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads[:min(len(threads), maxTree)] {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid,
			thread.Name()))
		for _, field := range bytes.Fields(children) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// stoppedProcesses returns the process and descendants that are stopped by a signal.
// Those under a debugger, in state t, are not included.
func stoppedProcesses(pid int) (stopped []int) {
	eachProcess(pid, func(pid int, state byte, _ uint64) {
		if state == 'T' {
			stopped = append(stopped, pid)
		}
	})
	return stopped
}

// clockTick is the unit of CPU time in /proc on all architectures that Go supports.
const clockTick = 10 * time.Millisecond

// cpuTime returns the CPU time of a process and its descendants.
func cpuTime(pid int) (used time.Duration) {
	eachProcess(pid, func(_ int, _ byte, ticks uint64) {
		used += time.Duration(ticks) * clockTick
	})
	return used
}
