package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

func newSiteDiff() *cobra.Command {
	var o freeze.DiffOptions
	cmd := &cobra.Command{
		Use:   "diff SOURCE SOURCE",
		Short: "Compare two sites, or a site with a source",
		Long: `Compare the definitions of two sources, and their answers to all requests that
one of them, a site, has stored. Each line of stdout is one difference: "added"
is only in the second, "removed" only in the first. The exit code is 1 if there
is a difference.

` + sourceHelp,
		Example: `  slipway site diff my-server/site my-server.mcpb
  slipway site diff my-server/site my-server.mcpb --definitions`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 1 {
				// Keep the sites in the order in which they were typed.
				args[0], args[1] = args[1], args[0]
			}
			o.Retries = cmp.Or(o.Retries, -1)
			return withSource(cmd, args[0], func(one *openSource) error {
				return withSource(cmd, args[1], func(two *openSource) error {
					t := newTracker(cmd, countOnly)
					o.Compared = t.compared
					o.Names = [2]string{one.arg, two.arg}
					t.tick()
					list, err := freeze.Diff(cmd.Context(), one.source, two.source, &o)
					t.finish()
					if err != nil {
						return answered("diff", err)
					}
					if err := showList(cmd, "differences", list, printDifferences); err != nil || len(list) == 0 {
						return err
					}
					return no("", "diff: %s", count(len(list), "difference"))
				})
			})
		},
	}
	bundleFlags(cmd)
	requestFlags(cmd.Flags(), &o.Requests)
	cmd.Flags().BoolVar(&o.Definitions, "definitions", false, "compare only definitions, not answers")
	wideFlag(cmd)
	jsonFlag(cmd, "the differences")
	return cmd
}

// printDifferences prints one line per tool, prompt or resource that differs.
func printDifferences(w io.Writer, list []freeze.Difference) error {
	out := newLayout(w)
	for _, d := range list {
		out.line(plain(fmt.Sprintf("%-8s %-9s ", d.Action, d.Kind)), named(d.Name))
	}
	return out.flush()
}
