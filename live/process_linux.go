package live

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent has the kernel end the child when this program is killed. It is
// SIGTERM, since a launcher passes that on to what it has launched.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// setPipeSize is fcntl's F_SETPIPE_SZ.
const setPipeSize = 1031

// enlarge lets more wait in a pipe than the usual 64 KiB, which is a handful of large
// answers: the child then stops at each to be read. The memory is the system's, and
// used only while something waits. A user may have so much of it and no more, and
// without it all works as before.
func enlarge(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, 256<<10) })
	}
}

// maxTree is how many processes below a child are inspected.
const maxTree = 64

// eachProcess calls do for a process and its descendants. ticks are the CPU time of
// the process and of children that have been reaped.
func eachProcess(pid int, do func(pid int, state byte, ticks uint64)) {
	pids := []int{pid}
	for i := 0; i < len(pids) && i < maxTree; i++ {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[i]))
		if err != nil {
			continue
		}
		// Fields are counted behind the name, which may hold anything.
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

// appendChildren appends the children of a process, each of which belongs to the
// thread that started it.
func appendChildren(pids []int, pid int) []int {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads[:min(len(threads), maxTree)] {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for _, field := range bytes.Fields(children) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// stoppedProcesses returns which of a process and its descendants are stopped by a
// signal. Those under a debugger, in state t, are not.
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
	eachProcess(pid, func(_ int, _ byte, ticks uint64) { used += time.Duration(ticks) * clockTick })
	return used
}
