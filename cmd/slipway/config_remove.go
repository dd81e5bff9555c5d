package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func newConfigRemove() *cobra.Command {
	var s *clients.Selection
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "remove [SERVER...]",
		Short: "Remove Slipway's entries from client configs",
		Long: `Remove the entries that "slipway config apply" wrote, for all servers or the
given ones. Entries changed since are kept, and the exit code is 1. A file that
was not changed otherwise is restored to its previous bytes, or deleted if it
did not exist before.

` + stateHelp,
		Example: `  slipway config remove --dry-run
  slipway config apply examples/definitions/mcp.yaml --client codex
  slipway config remove github --client codex`,
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := openState()
			if err != nil {
				return err
			}
			known := state.Servers(s)
			for _, name := range args {
				if slices.Contains(known, name) {
					continue
				}
				hint := "slipway config remove --dry-run lists them"
				if near := nearest.DidYouMean(name, known); near != "" {
					hint = "did you mean " + near + "?"
				}
				return no(hint, "config remove: no Slipway entry named %q in these client configs", name)
			}
			if len(known) == 0 {
				say(cmd.ErrOrStderr(), "these client configs have no entries of Slipway")
			}
			s.Servers = args
			removal := state.Remove(s)
			if wantsJSON(cmd) {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"dryRun": dryRun, "files": removal.Files})
			} else {
				printPlan(cmd.OutOrStdout(), removal.Files)
			}
			if err != nil {
				return err
			}
			if !dryRun {
				if err := removal.Apply(); err != nil {
					return badInput("", "config remove: %v", err)
				}
			}
			return outcome("config remove", removal.Files, removal.Conflicts(),
				"remove them manually, or rewrite them with config apply --replace")
		},
	}
	s = selection(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan without writing")
	jsonFlag(cmd, "the plan")
	return cmd
}
