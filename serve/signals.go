package serve

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals returns a context that ends with the first SIGINT or SIGTERM, so that
// what runs under it can drain. stopping, if not nil, is called then. A second
// signal ends the process at once with exit code 128 plus the signal's number:
// 130 for SIGINT, 143 for SIGTERM.
//
// stop gives the signals their usual meaning back and ends the context. Call it
// before the program returns.
func Signals(parent context.Context, stopping func(os.Signal)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-received:
			if stopping != nil {
				stopping(s)
			}
			cancel()
		case <-stopped:
			return
		}
		select {
		case s := <-received:
			os.Exit(exitCode(s))
		case <-stopped:
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(stopped)
		<-ended
		cancel()
	}
}

func exitCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}
