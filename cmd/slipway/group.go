package main

import (
	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// group adds subcommands to cmd: without arguments it prints its help, and for an unknown
// subcommand it suggests the nearest one.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		hint := "see " + cmd.CommandPath() + " --help"
		if near := nearest.DidYouMean(args[0], names); near != "" {
			hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
		}
		return usage(hint, "%s: unknown command %q", cmd.Name(), args[0])
	}
	cmd.AddCommand(subcommands...)
	return cmd
}
