package serve

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupted is the cause with which a signal ends a context of [Signals].
type Interrupted struct{ Signal os.Signal }

// Error implements the error interface.
func (i *Interrupted) Error() string {
	return "interrupted by " + i.Signal.String()
}

// ExitCode returns the conventional exit code of a program ended by a signal: 128 plus
// the number of the signal, 130 for Ctrl-C.
func (i *Interrupted) ExitCode() int {
	if n, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}

// Signals returns a context that ends with the first SIGINT or SIGTERM, with an
// [*Interrupted] as its cause, so that work under it can drain. stopping, if not nil, is
// called then. A second signal ends the process at once with exit code 128 plus the
// signal's number: 130 for SIGINT, 143 for SIGTERM.
//
// SIGHUP does not end the process: it asks programs to reload their files, which is up to
// the caller. It counts as SIGTERM only if the terminal of the process has been closed.
//
// stop restores the default behaviour of the signals and ends the context. Call it before
// the program returns.
func Signals(parent context.Context, stopping func(os.Signal)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 2)
	hangups := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		signal.Notify(hangups, syscall.SIGHUP)
	}
	stopped := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s := firstSignal(received, hangups, stopped)
		if s == nil {
			return
		}
		if stopping != nil {
			stopping(s)
		}
		cancel(&Interrupted{s})
		select {
		case s := <-received:
			os.Exit((&Interrupted{s}).ExitCode())
		case <-stopped:
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		signal.Stop(hangups)
		close(stopped)
		<-ended
		cancel(nil)
	}
}

// firstSignal returns the signal that asks the process to stop, or nil once stopped is
// closed.
func firstSignal(received, hangups <-chan os.Signal, stopped <-chan struct{}) os.Signal {
	terminal := hasTerminal()
	for {
		select {
		case s := <-received:
			return s
		case s := <-hangups:
			if terminal && !hasTerminal() {
				return s
			}
		case <-stopped:
			return nil
		}
	}
}

// hasTerminal reports whether the process has a controlling terminal.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}
