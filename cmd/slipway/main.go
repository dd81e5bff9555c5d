// Command slipway serves MCP sources, and acts as a client to look into them.
//
//	slipway serve examples/http-reference
//	slipway call examples/http-reference get_status code=404
//
// Each command is one file, named after it, and a thin one: the work is done by
// the library. What a command prints is what was asked for; everything else goes
// to stderr. Exit codes are in exit.go, the whole reference in docs/cli.md.
package main

import (
	"context"
	"os"
)

func main() {
	asFirstProcess()
	giveBackLater()
	root := newRoot()
	completeFlags(root, os.Args)
	out, stderr := stdout(), newScreen(os.Stderr)
	root.SetOut(out)
	root.SetErr(stderr)
	code := report(stderr, root.ExecuteContext(context.Background()))
	if s, ok := out.(*screen); ok {
		_ = s.Flush() // the command has ended
	}
	_ = stderr.Flush()
	os.Exit(code)
}
