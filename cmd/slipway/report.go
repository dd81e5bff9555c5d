package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
)

// reporting is how commands that check print their findings.
type reporting struct{ strict bool }

// flags adds --strict and --json.
func (o *reporting) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	jsonFlag(cmd, "the findings")
}

// print prints the findings about what to stdout, as text or JSON, and their number to
// stderr. It returns an error if there is an error among them, or with --strict a
// warning.
func (o *reporting) print(cmd *cobra.Command, what string, r *check.Report) error {
	if err := showFindings(cmd, r); err != nil {
		return err
	}
	if !r.OK(o.strict) {
		return no("", "%s: %s", what, r.Summary())
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", what, r.Summary())
	return err
}

// showFindings prints findings to stdout, as text or JSON.
func showFindings(cmd *cobra.Command, r *check.Report) error {
	out := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		return r.WriteJSON(out)
	}
	return r.WriteText(unescaped(out), colored(out))
}

// printFindings prints the findings about the input of a command to stderr.
func printFindings(cmd *cobra.Command, r *check.Report) {
	stderr := cmd.ErrOrStderr()
	_ = r.WriteText(unescaped(stderr), colored(stderr)) // there is nowhere to report the error
}

// colored reports whether text for w may be colored: on a terminal, unless NO_COLOR is
// set.
func colored(w any) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == ""
}
