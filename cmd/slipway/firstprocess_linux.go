package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// asFirstProcess does what is expected of the first process of a container, if
// this is it, and ends with what the program ended with: it runs the program as
// its child, passes signals on, and buries what the children of programs leave
// behind, which the kernel hands to it. The program could not do so by itself: it
// waits for children of its own, one by one.
func asFirstProcess() {
	if os.Getpid() != 1 {
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	child, err := startAgain()
	if err != nil {
		fmt.Fprintf(os.Stderr, "slipway: as first process of a container: %v\n", err)
		os.Exit(int(exitInput))
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s) // it may have ended already
		}
	}()
	os.Exit(bury(child.Pid))
}

// startAgain starts this program once more, in a process group of its own: Ctrl-C
// on a terminal would otherwise reach it twice, and twice means at once.
func startAgain() (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if term.IsTerminal(0) {
		attr.Sys.Foreground = true // so that it may read from it; Ctty is 0
		if p, err := os.StartProcess(self, os.Args, attr); err == nil {
			return p, nil
		}
		attr.Sys.Foreground = false // the terminal is not that of this session
	}
	return os.StartProcess(self, os.Args, attr)
}

// bury waits for whatever ends until that process does, and returns its exit code.
func bury(program int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return int(exitInput) // there is no child left, though it was never seen to end
		case pid != program:
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
