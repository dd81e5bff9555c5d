package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
)

// The exit codes of all commands. A command that is interrupted, or stopped by a second
// signal, exits with 128 plus the signal number.
const (
	exitOK       = 0
	exitNo       = 1 // negative result: a tool error, drift, a name that does not exist
	exitUsage    = 2 // invalid command line
	exitInput    = 3 // a local file, folder or address cannot be used
	exitRemote   = 4 // a remote host or another program failed
	exitNotExact = 5 // not representable: with --exact, or without a form for it
	exitPolicy   = 6 // refused by policy or for safety
)

// failure is an error in its form for the user.
type failure struct {
	code int
	text string // "what: why"
	hint string // the next command or edit, or empty
}

func (f *failure) Error() string { return f.text }

// The functions below return failures: one for each exit code, with a hint and a text in
// the form "what: why".

func usage(hint, format string, args ...any) *failure {
	return failed(exitUsage, hint, format, args)
}

func no(hint, format string, args ...any) *failure {
	return failed(exitNo, hint, format, args)
}

func badInput(hint, format string, args ...any) *failure {
	return failed(exitInput, hint, format, args)
}

func remoteFailed(hint, format string, args ...any) *failure {
	return failed(exitRemote, hint, format, args)
}

func notExact(hint, format string, args ...any) *failure {
	return failed(exitNotExact, hint, format, args)
}

func denied(hint, format string, args ...any) *failure {
	return failed(exitPolicy, hint, format, args)
}

func failed(code int, hint, format string, args []any) *failure {
	return &failure{code, fmt.Sprintf(format, args...), hint}
}

// interrupted returns the error of a command that a signal stopped before it was done.
func interrupted(cmd *cobra.Command, hint string) error {
	code := 128 + int(syscall.SIGINT)
	var signal *serve.Interrupted
	if errors.As(context.Cause(cmd.Context()), &signal) {
		code = signal.ExitCode()
	}
	return &failure{
		code: code,
		text: cmd.Name() + ": interrupted",
		hint: hint,
	}
}

// report prints err, if not nil, and returns the exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	f := explain(err)
	say(stderr, "%s", f.text)
	if f.hint != "" {
		hint(stderr, f.hint)
	}
	return f.code
}

// explain returns the failure for err.
func explain(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	if f := blocked(err.Error(), err); f != nil {
		return f
	}
	var opening *open.Error
	if errors.As(err, &opening) {
		if f := bundleFailure(opening.Arg, opening.Err); f != nil {
			return f
		}
		code := exitInput
		switch opening.Kind {
		case open.Remote:
			code = exitRemote
		case open.Ambiguous:
			code = exitUsage
		}
		return &failure{
			code: code,
			text: err.Error(),
			hint: opening.Hint,
		}
	}
	return &failure{
		code: codeOf(err),
		text: err.Error(),
	}
}

// codeOf returns the exit code for an error returned by a source.
func codeOf(err error) int {
	var e *mcp.Error
	if errors.As(err, &e) {
		switch e.Code {
		case mcp.CodeToolUnavailable, mcp.CodeToolTimeout, mcp.CodeResourceUnavailable, mcp.CodeResourceTimeout:
			return exitRemote
		case mcp.CodeToolDenied, mcp.CodeResourceDenied:
			return exitPolicy
		}
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		return exitInput
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) {
		return exitRemote
	}
	return exitNo
}

// answered returns the failure for an error that a source returned for a request.
func answered(what string, err error) error {
	f := &failure{
		code: codeOf(err),
		text: what + ": " + strings.TrimSpace(err.Error()),
	}
	if errors.Is(err, client.ErrHang) {
		f.hint = "find out what the server waits for; hangTimeoutMs and pingTimeoutMs in a definition give it more time"
	}
	return f
}
