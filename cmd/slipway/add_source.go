package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
)

// typedSource is what a command line of add or config add names.
type typedSource struct {
	file   string   // of definitions, or empty
	source string   // as for open.Entry
	args   []string // of the program in a package
}

// sourceOf splits a command line: [FILE] SOURCE [-- ARG...] or [FILE] -- COMMAND....
func sourceOf(cmd *cobra.Command, args []string) (*typedSource, error) {
	typed := &typedSource{}
	before := args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		before = args[:dash]
		typed.args = args[dash:]
	}
	most := 1
	if cmd.HasParent() && cmd.Parent().Name() == "config" {
		most = 2
	}
	isFile := most == 2 && len(before) == 1 && len(typed.args) > 0 && stax.FormatOf(before[0]) != 0
	switch {
	case len(before) > most:
		return nil, usage("usage: "+cmd.UseLine(), "%s: unexpected argument %q", cmd.Name(), before[most])
	case len(typed.args) > 0 && (len(before) == 0 || isFile):
		typed.source = open.Command(typed.args)
		typed.args = nil
		if isFile {
			typed.file = before[0]
		}
	case len(before) == 0:
		return nil, usage("usage: "+cmd.UseLine(), "%s: missing argument SOURCE", cmd.Name())
	default:
		typed.source = before[len(before)-1]
		if len(before) == 2 {
			typed.file = before[0]
		}
	}
	return typed, nil
}

// readDefinitions returns the text of a definitions file, which is empty if the file does
// not exist.
func readDefinitions(file string) ([]byte, error) {
	text, err := fsutil.ReadFile(file, stax.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(file, err)
	}
	return text, nil
}
