//go:build unix

package client

import (
	"os"
	"os/exec"
	"syscall"
)

// own makes the process the leader of a separate group, which can be signalled as a
// whole: a launcher such as npx starts other processes.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func terminate(p *os.Process) { signalGroup(p, syscall.SIGTERM) }
func kill(p *os.Process)      { signalGroup(p, syscall.SIGKILL) }

func signalGroup(p *os.Process, sig syscall.Signal) {
	_ = syscall.Kill(-p.Pid, sig) // an error means that the group has already exited
}
