package main

import (
	"github.com/spf13/cobra"
)

// group adds subcommands to cmd: without arguments it prints its help, and for an unknown
// subcommand it suggests the nearest one.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := nearCommand(cmd, args[0], "see "+cmd.CommandPath()+" --help")
		return usage(hint, "%s: unknown command %q", cmd.Name(), args[0])
	}
	cmd.AddCommand(subcommands...)
	return cmd
}
