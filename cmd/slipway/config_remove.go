package main

import (
	"github.com/spf13/cobra"
)

func newConfigRemove() *cobra.Command {
	var s selecting
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "remove [SERVER...]",
		Short: "Take out of the files of clients what was written",
		Long: `Take the entries out again that config apply wrote: of all servers, or of
those that are named. An entry that was changed since stays, and the exit code
is 1. A file that nobody changed since becomes what it was before, byte for
byte; one that was not there before goes.

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
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and write nothing")
	jsonFlag(cmd, &asJSON, "the plan")
	return cmd
}
