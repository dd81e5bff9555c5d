package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/lock"
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
			report := c.placed(c.drifts)
			for _, d := range c.drifts {
				report.Add(c.place(d.Finding()))
			}
			err = r.print(cmd, c.path, report)
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

// placed returns the findings about the catalogs and the drifts, with their positions in
// the lock. Findings that need human review are only included for drifts, because the
// rest was approved.
func (c *compared) placed(drifts []lock.Drift) *check.Report {
	placed := &check.Report{}
	for _, f := range c.report.Findings() {
		look := f.Rule == "lock/invisible" || f.Rule == "lock/mentions"
		if !look || slices.ContainsFunc(drifts, func(d lock.Drift) bool { return concerns(d, f) }) {
			placed.Add(c.place(f))
		}
	}
	return placed
}

// concerns reports whether a finding is about the item of a drift.
func concerns(d lock.Drift, f check.Finding) bool {
	at := d.Finding().Pointer
	return f.Pointer == at || d.Item.Kind == lock.Whole && strings.HasPrefix(f.Pointer, at+"/")
}

// place sets the position of a finding in the lock.
func (c *compared) place(f check.Finding) check.Finding {
	f.File = c.path
	offset, _ := check.Offset(c.text, f.Pointer)
	f.Line, f.Column = check.LineColumn(c.text, offset)
	return f
}
