package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
)

// reporting is how commands that check print their findings.
type reporting struct {
	strict bool
	json   bool
}

// flags adds --strict and --json.
func (o *reporting) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	jsonFlag(cmd, &o.json, "the findings")
}

// print prints the findings about what to stdout, as text or JSON, and their number to
// stderr. It returns an error if there is an error among them, or with --strict a
// warning.
func (o *reporting) print(cmd *cobra.Command, what string, r *check.Report) error {
	out := cmd.OutOrStdout()
	var err error
	if o.json {
		err = r.WriteJSON(out)
	} else {
		err = r.WriteText(unescaped(out), colored(out))
	}
	switch {
	case err != nil:
		return err
	case !r.OK(o.strict):
		return &failure{code: exitNo, text: what + ": " + r.Summary()}
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", what, r.Summary())
	return err
}

// colored reports whether text for w may be colored: on a terminal, unless NO_COLOR is
// set.
func colored(w any) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
