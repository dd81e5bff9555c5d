// Command slipway serves MCP sources, and inspects them as a client.
//
//	slipway serve examples/http-reference
//	slipway call examples/http-reference get_status code=404
//
// Each command is a thin file of its own, named after it; the library does the work.
// Results go to stdout, messages to stderr. Exit codes are in exit.go, the full reference
// in docs/cli.md.
package main

import (
	"context"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// main runs the command and exits with its code. Everything that is buffered for the terminal
// is flushed and the console restored before os.Exit, which runs no deferred calls.
func main() {
	asFirstProcess()
	releaseMemoryLater()
	restoreConsole := enableEscapes()
	args := plainPaths(os.Args[1:])
	root := newRootFor(args)
	root.SetArgs(args)
	suggestWords(root, os.Args)
	out := stdout()
	stderr := newScreen(os.Stderr)
	if out.progress != nil {
		out.progress = stderr.progress // both are the same terminal
	}
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(context.Background())
	stderr.progress.end()
	code := reportAs(stderr, out.complete(err), jsonErrors(cmd, os.Args))
	_ = stderr.Flush()
	restoreConsole()
	os.Exit(code)
}

// plainPaths returns arguments with paths in the form that all of our code accepts. Those of
// other programs, after --, stay as they are.
func plainPaths(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		args[i] = fsutil.PlainPath(arg)
	}
	return args
}
