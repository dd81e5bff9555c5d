package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
)

func newLockVerify() *cobra.Command {
	var l locking
	var r reporting
	cmd := &cobra.Command{
		Use:   "verify SOURCE...",
		Short: "Say whether sources are as they were locked",
		Long: `Ask sources what they offer, and compare it with the lock. The exit code is 1 if
something has changed, is new or is gone; a new version of a server alone is
told and no drift.

` + lockHelp,
		Example: `  slipway lock verify locked/mcp.yaml
  slipway lock verify locked/mcp.yaml --json`,
		Args: takesSource(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := l.compare(cmd, sourceFirst(cmd, args))
			if err != nil {
				return err
			}
			for _, d := range c.drifts {
				c.report.Add(d.Finding())
			}
			err = r.print(cmd, c.path, c.placed())
			if f, ok := err.(*failure); ok {
				f.hint = "slipway lock diff shows what is different, slipway lock approve accepts it"
			}
			return err
		},
	}
	l.lockFlag(cmd)
	l.flags(cmd)
	r.flags(cmd)
	return cmd
}

// placed returns the findings with their places in the lock.
func (c *compared) placed() *check.Report {
	placed := &check.Report{}
	text, err := os.ReadFile(c.path)
	for _, f := range c.report.Findings() {
		f.File = c.path
		if err == nil { // it was read before; without it there are no lines
			offset, _ := check.Offset(text, f.Pointer)
			f.Line, f.Column = check.LineColumn(text, offset)
		}
		placed.Add(f)
	}
	return placed
}
