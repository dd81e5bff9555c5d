package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// asFirstProcess does the work of a container's first process, if this is it, and exits
// with the program's exit code: it runs the program as its child, forwards signals, and
// reaps orphaned processes, which the kernel assigns to it. The program itself cannot do
// that, because it waits for its own children individually.
func asFirstProcess() {
	if os.Getpid() != 1 {
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2)
	child, err := startAgain()
	if err != nil {
		fmt.Fprintf(os.Stderr, "slipway: as first process of a container: %v\n", err)
		os.Exit(int(exitInput))
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s) // it may have exited already
		}
	}()
	os.Exit(bury(child.Pid))
}

// startAgain starts this program again, in a separate process group: otherwise Ctrl-C on
// a terminal would reach it twice, and the second one means immediate exit.
func startAgain() (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	if term.IsTerminal(0) {
		attr.Sys.Foreground = true // allows it to read from the terminal; Ctty is 0
		if p, err := os.StartProcess(self, os.Args, attr); err == nil {
			return p, nil
		}
		attr.Sys.Foreground = false // the terminal belongs to another session
	}
	return os.StartProcess(self, os.Args, attr)
}

// bury reaps all processes until the program exits, and returns its exit code.
func bury(program int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return int(exitInput) // no children left, although its exit was not seen
		case pid != program:
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
