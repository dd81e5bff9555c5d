// Package process finds programs, and stops programs together with the processes that
// they have started: [Group]. [LookPath] searches as the system of a program does.
//
// On Unix a group is a process group. On Windows it is a job object, which also ends when
// this program dies for any reason.
package process

import (
	"fmt"
	"os"
	"os/exec"
)

// Group is a started program with everything it has started. Its methods must not be
// called concurrently.
type Group struct {
	leader *os.Process
	job    job
}

// Start starts cmd, whose Path is complete, as the leader of a new group. It sets
// cmd.SysProcAttr. On Windows, arguments of a batch file are quoted for the command
// processor; the error matches [ErrBatch] if that is impossible. The caller waits for
// cmd, and closes the group.
func Start(cmd *exec.Cmd) (*Group, error) {
	if err := prepare(cmd); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &Group{leader: cmd.Process}
	var err error
	if g.job, err = adopt(cmd.Process); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error of adopt explains it
		return nil, fmt.Errorf("supervise it: %w", err)
	}
	return g, nil
}
