package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
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
	// cause is the error that it explains, if a caller may act on that.
	cause error
}

// Unwrap returns the error that it explains, or nil.
func (f *failure) Unwrap() error { return f.cause }

func (f *failure) Error() string { return f.text }

// The functions below return failures: one for each exit code. The hint is the next command or edit,
// or empty; the text has the form "what: why".

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

// failed returns a failure with an exit code. An empty hint prints none.
func failed(code int, hint, format string, args []any) *failure {
	return &failure{
		code: code,
		text: fmt.Sprintf(format, args...),
		hint: hint,
	}
}

// interrupted returns the error of a command that a signal stopped before it was done.
func interrupted(cmd *cobra.Command, hint string) error {
	return &failure{
		code: cmp.Or(signalOf(cmd.Context()), 128+int(syscall.SIGINT)),
		text: cmd.Name() + ": interrupted",
		hint: hint,
	}
}

// report prints err, if not nil, and returns the exit code.
func report(stderr io.Writer, err error) int { return reportAs(stderr, err, false) }

// reportAs is report with a choice of text or JSON. An error in writing to a closed pipe is
// not printed: the reader has what it wanted.
func reportAs(stderr io.Writer, err error, asJSON bool) int {
	stderr = loud(stderr)
	switch {
	case err == nil:
		return exitOK
	case closedPipe(err):
		return exitPipe
	}
	f := explain(err)
	if asJSON {
		_ = writeJSONError(stderr, f) // there is nowhere to report the error
		return f.code
	}
	sayAs(stderr, style.Error, "slipway: ", "%s", f.text)
	if f.hint != "" {
		hint(stderr, f.hint)
	}
	return f.code
}

// errorKinds are the members "kind" of errors in JSON, by exit code.
var errorKinds = map[int]string{
	exitNo:       "negative",
	exitUsage:    "usage",
	exitInput:    "input",
	exitRemote:   "remote",
	exitNotExact: "inexact",
	exitPolicy:   "refused",
}

// writeJSONError writes an error as one JSON object on one line. Fields may be added.
func writeJSONError(w io.Writer, f *failure) error {
	enc := json.NewEncoder(visible.JSONWriter{To: w})
	enc.SetEscapeHTML(false)
	type object struct {
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
		Kind    string `json:"kind"`
		Exit    int    `json:"exit"`
	}
	return enc.Encode(map[string]object{"error": {
		Message: f.text,
		Hint:    f.hint,
		Kind:    cmp.Or(errorKinds[f.code], "interrupted"),
		Exit:    f.code,
	}})
}

// jsonErrors reports whether errors are printed as JSON: with --json, also if the command
// line was invalid before the flag was parsed, or has no such command.
func jsonErrors(cmd *cobra.Command, args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return cmd != nil && wantsJSON(cmd)
}

// explain turns any error of a command into a failure with exit code and hint: a failure
// stays as it is; then blocked addresses, missing logins, errors of opening a source by their
// kind, and all others by their code in the protocol.
func explain(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	// These apply to the cause, wherever it occurred.
	if f := blocked(err.Error(), err); f != nil {
		return f
	}
	if f := loginFailure(err.Error(), err); f != nil {
		return f
	}
	var opening *open.Error
	if errors.As(err, &opening) {
		if f := bundleFailure(opening.Arg, opening.Err); f != nil {
			return f
		}
		code := exitInput
		hint := opening.Hint
		switch opening.Kind {
		case open.Remote:
			code = exitRemote
			if hint == "" {
				hint = doctorHint(opening.Arg)
			}
		case open.Ambiguous:
			code = exitUsage
		}
		return &failure{
			code: code,
			text: err.Error(),
			hint: hint,
		}
	}
	return &failure{
		code: codeOf(err),
		text: err.Error(),
	}
}

// doctorHint returns the command that checks each step of connecting to the URL arg, or "" for another
// source. A secret in the URL is not repeated.
func doctorHint(arg string) string {
	a := open.Argument(arg)
	switch {
	case a.Endpoint() == "":
		return ""
	case a.Redacted() != arg:
		return "slipway doctor URL checks each step of connecting"
	}
	return "slipway doctor " + shell.PathWord(arg)
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
	if errors.As(err, &network) || errors.As(err, new(*mcp.IncompleteError)) || errors.Is(err, context.DeadlineExceeded) {
		return exitRemote
	}
	return exitNo
}

// answered returns the failure for an error that a source returned for a request.
func answered(what string, err error) error {
	f := &failure{
		code:  codeOf(err),
		text:  what + ": " + strings.TrimSpace(err.Error()),
		cause: err,
	}
	if login := loginFailure(f.text, err); login != nil {
		return login
	}
	var file *staticmcp.FileError
	if errors.As(err, &file) {
		f.text += ": " + file.Error()
		f.hint = "slipway check of the site lists all files that cannot be used"
	}
	if errors.Is(err, client.ErrHang) {
		f.hint = "find out what the server is waiting for; hangTimeoutMs and pingTimeoutMs in a definition give it more time"
	}
	return f
}
