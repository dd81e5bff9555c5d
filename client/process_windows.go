package client

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// own prevents Ctrl-C in our console from reaching the process.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate ends the process and all of its children; Windows has no gentler way for a
// program without a window.
func terminate(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
}

func kill(p *os.Process) { _ = p.Kill() }

// enlarge does nothing: the size of a pipe is fixed.
func enlarge(*os.File) {}

// stoppedProcesses returns nil: only Linux reports them.
func stoppedProcesses(int) []int { return nil }

// cpuTime returns 0: only Linux reports it.
func cpuTime(int) time.Duration { return 0 }
