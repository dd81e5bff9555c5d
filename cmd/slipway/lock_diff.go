package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/lock"
)

func newLockDiff() *cobra.Command {
	var l locking
	cmd := &cobra.Command{
		Use:   "diff SOURCE...",
		Short: "Show changes of locked sources",
		Long: `Show the differences between sources and their lock, line by line. Invisible
characters are shown as escapes. The exit code is 1 if there is a difference.

` + lockHelp,
		Example: `  slipway lock diff locked/mcp.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, c, err := l.compare(cmd, args)
			if err != nil {
				return err
			}
			drifts := c.Expand(c.Drifts)
			if err := printDrifts(cmd, "drift", drifts); err != nil {
				return err
			}
			if n := len(slices.DeleteFunc(drifts, lock.Drift.Informational)); n > 0 {
				return no("slipway lock approve "+lockWords(l.file, args)+" accepts all of it; --server and --item select a part",
					"%s: items that differ: %d", path, n)
			}
			return nil
		},
	}
	l.lockFlag(cmd)
	l.flags(cmd)
	jsonFlag(cmd, "the differences")
	return cmd
}

// printDrifts prints drifts as text, or as the member of a JSON object.
func printDrifts(cmd *cobra.Command, member string, drifts []lock.Drift) error {
	return showList(cmd, member, drifts, lock.WriteDiff)
}
