// Package trial is the frame of the programs in this module: [Main] and [Parse] for all
// of them, and for those that compare programs a [Trial] with its rounds, records and
// report.
package trial

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the program called name. If run fails, it prints the error and exits with
// status 1. Interrupts cancel the context. A request for help is an error that has been
// printed already.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err == nil {
		return
	}
	if !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
	}
	os.Exit(1)
}

// Parse parses the flags that bind adds. Other arguments are an error.
func Parse(name string, args []string, stderr io.Writer, bind func(*flag.FlagSet)) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	bind(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}
