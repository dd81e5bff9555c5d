package main

import "github.com/spf13/cobra"

func newLockVerify() *cobra.Command {
	var l locking
	var r reporting
	cmd := &cobra.Command{
		Use:   "verify SOURCE...",
		Short: "Verify sources against their lock",
		Long: `Compare sources with their lock. The exit code is 1 if an item was changed,
added or removed. A new version alone is reported, but is not drift.

` + lockHelp,
		Example: `  slipway lock verify locked/mcp.yaml
  slipway lock verify locked/mcp.yaml --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, c, err := l.compare(cmd, args)
			if err != nil {
				return err
			}
			err = r.print(cmd, []string{path}, c.Findings())
			if f, ok := err.(*failure); ok {
				f.hint = reviewHint(l.file, args...)
			}
			return err
		},
	}
	l.lockFlag(cmd)
	l.flags(cmd)
	r.flags(cmd)
	return cmd
}
