package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

func newSiteDiff() *cobra.Command {
	var o freeze.DiffOptions
	var asJSON bool
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
		Args: takesSource(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = sourceFirst(cmd, args)
			if cmd.ArgsLenAtDash() == 1 {
				// Keep the sites in the order in which they were typed.
				args[0], args[1] = args[1], args[0]
			}
			o.Retries = cmp.Or(o.Retries, -1)
			return withSource(cmd, args[0], func(one *openSource) error {
				return withSource(cmd, args[1], func(two *openSource) error {
					list, err := freeze.Diff(cmd.Context(), one.source, two.source, &o)
					if err != nil {
						return answered("diff", err)
					}
					return printDifferences(cmd, list, asJSON)
				})
			})
		},
	}
	bundleFlags(cmd)
	requestFlags(cmd.Flags(), &o.Requests)
	cmd.Flags().BoolVar(&o.Definitions, "definitions", false, "compare only definitions, not answers")
	jsonFlag(cmd, &asJSON, "the differences")
	return cmd
}

func printDifferences(cmd *cobra.Command, list []freeze.Difference, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		if list == nil {
			list = []freeze.Difference{}
		}
		if err := printJSON(out, map[string]any{"differences": list}); err != nil {
			return err
		}
	} else {
		for _, d := range list {
			fmt.Fprintf(out, "%-8s %-9s %s\n", d.Action, d.Kind, d.Name)
		}
	}
	if len(list) > 0 {
		return no("", "diff: %s", count(len(list), "difference"))
	}
	return nil
}
