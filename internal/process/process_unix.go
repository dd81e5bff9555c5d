//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

type job struct{}

// prepare makes the process the leader of a process group, which can be signalled as a
// whole: a launcher such as npx starts other processes.
func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	return nil
}

func adopt(*os.Process) (job, error) { return job{}, nil }

// Terminate asks all processes of the group to exit: SIGTERM.
func (g *Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill ends all processes of the group.
func (g *Group) Kill() { g.signal(syscall.SIGKILL) }

// Close is Kill. The group must not be used afterwards.
func (g *Group) Close() { g.Kill() }

func (g *Group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.leader.Pid, sig) // an error means that the group has already exited
}
