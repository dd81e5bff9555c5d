package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slipway-mcp/slipway/serve"
)

// interruptGrace is how long an interrupted command may take to stop its servers and to
// remove what it has half written.
const interruptGrace = 3 * time.Second

// exitPipe is the exit code of a command whose reader has closed the pipe, as of programs
// that SIGPIPE ends.
const exitPipe = 128 + 13

// ownSignals is the annotation of commands that handle signals themselves.
const ownSignals = "slipway_signals"

// handlesSignals marks a command whose run handles signals itself.
func handlesSignals(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[ownSignals] = "yes"
	return cmd
}

// stopOnSignals makes all commands below cmd stop on SIGINT and SIGTERM: their context
// ends, so that they stop their servers, and they exit with 128 plus the signal number.
func stopOnSignals(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		stopOnSignals(sub)
	}
	run := cmd.RunE
	switch {
	case run == nil:
		return
	case cmd.Annotations[ownSignals] != "":
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return afterSignal(cmd, run(cmd, args))
		}
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := serve.Signals(cmd.Context(), nil)
		defer stop()
		cmd.SetContext(ctx)
		restore := rememberTerminal(cmd)
		returnPipeErrors()
		done := make(chan error, 1)
		// A command may wait for input, which no context ends, so it runs on another goroutine.
		go func() { done <- run(cmd, args) }()
		select {
		case err := <-done:
			return afterSignal(cmd, err)
		case <-ctx.Done():
		}
		// A command that waits for an answer of the user cannot end by itself.
		s, ok := cmd.ErrOrStderr().(*screen)
		if !ok || s.prompts.Load() == 0 {
			select {
			case err := <-done:
				restore()
				return afterSignal(cmd, err)
			case <-time.After(interruptGrace):
			}
		}
		restore()
		return interrupted(cmd, "")
	}
}

// afterSignal returns the error of a command whose run returned err: after a signal, that
// it was interrupted.
func afterSignal(cmd *cobra.Command, err error) error {
	if err == nil || signalOf(cmd.Context()) == 0 {
		return err
	}
	known := new(failure)
	if errors.As(err, &known) && known.code > 128 {
		return err
	}
	return interrupted(cmd, "")
}

// rememberTerminal returns a function that makes the terminal of stdin echo again, if it
// did before.
func rememberTerminal(cmd *cobra.Command) (restore func()) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !isTerminal(in) {
		return func() {}
	}
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(in.Fd()), state) } // the process ends
}

// returnPipeErrors makes writes to a closed stdout return an error instead of ending the
// process, so that servers are stopped. The signal keeps its default effect on children.
func returnPipeErrors() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// closedPipe reports whether err is from writing to a pipe without a reader.
func closedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// signalOf returns the exit code for the signal that ended ctx, or 0.
func signalOf(ctx context.Context) int {
	var signal *serve.Interrupted
	if errors.As(context.Cause(ctx), &signal) {
		return signal.ExitCode()
	}
	return 0
}
