package main

import (
	"github.com/spf13/cobra"
)

func newConfigRemove() *cobra.Command {
	var s selecting
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "remove [SERVER...]",
		Short: "Remove Slipway's entries from client configs",
		Long: `Remove the entries that "slipway config apply" wrote, for all servers or the
given ones. Entries changed since are kept, and the exit code is 1. A file that
was not changed otherwise is restored to its previous bytes, or deleted if it
did not exist before.

` + ledgerHelp,
		Example: `  slipway config remove --dry-run
  slipway config remove github --client codex --dry-run`,
		Args: takes(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := s.selection(args)
			if err != nil {
				return err
			}
			ledger, err := openLedger()
			if err != nil {
				return err
			}
			removal := ledger.Remove(sel)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"dryRun": dryRun, "files": removal.Files})
			} else {
				printPlan(cmd.OutOrStdout(), removal.Files)
			}
			if err != nil {
				return err
			}
			if !dryRun {
				if err := removal.Apply(); err != nil {
					return &failure{code: exitInput, text: "config remove: " + err.Error()}
				}
			}
			return outcome("config remove", removal.Files, removal.Conflicts(), "remove them manually, or rewrite them with config apply --replace")
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan without writing")
	jsonFlag(cmd, &asJSON, "the plan")
	return cmd
}
