package live

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// own keeps Ctrl-C in our console from reaching the process.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate ends the process with all that it has started; Windows has nothing
// gentler for a program without a window.
func terminate(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
}

func kill(p *os.Process) { _ = p.Kill() }

// enlarge does nothing: pipes are as large as they are made.
func enlarge(*os.File) {}

// stoppedProcesses returns nil: only Linux reports them.
func stoppedProcesses(int) []int { return nil }

// cpuTime returns 0: only Linux reports it.
func cpuTime(int) time.Duration { return 0 }
