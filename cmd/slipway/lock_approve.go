package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/lock"
)

func newLockApprove() *cobra.Command {
	var l locking
	var items []lock.Item
	cmd := &cobra.Command{
		Use:   "approve SOURCE...",
		Short: "Accept changes of locked sources",
		Long: `Write the current state of sources to the lock: all changes, or those selected
with --server and --item. An item has the form that "slipway lock diff" prints:
tools/NAME, prompts/NAME, resources/URI, resourceTemplates/TEMPLATE, ui/URI,
instructions, server or origin. Prints the accepted changes; review them with
"slipway lock diff" first. Running servers apply the new lock immediately.

A source that no longer exists is removed from the lock if --server names it.`,
		Example: `  slipway lock approve locked/mcp.yaml
  slipway lock approve locked/mcp.yaml --server shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, c, err := l.compare(cmd, args)
			if err != nil {
				return err
			}
			accepted, err := c.Select(l.servers, items)
			if err != nil {
				return notSelected(cmd, err)
			}
			printFindings(cmd, c.Review(accepted))
			if err := c.Approve(accepted, lock.DefinitionsOf(targetsOf(args))); err != nil {
				return badInput("", "%s: %s", path, fsutil.Reason(err))
			}
			if err := printDrifts(cmd, "approved", c.Expand(accepted)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", path, acceptedText(accepted))
			return err
		},
	}
	l.lockFlag(cmd)
	l.flags(cmd)
	cmd.Flags().Var(eachOf(&items, lock.ParseItem), "item", "only this `item`, such as tools/get_issue (repeatable)")
	jsonFlag(cmd, "what was accepted")
	return cmd
}

// acceptedText names the accepted items.
func acceptedText(accepted []lock.Drift) string {
	if len(accepted) == 0 {
		return "nothing to approve: everything matches the lock"
	}
	var words []string
	for _, d := range accepted {
		what := d.Source
		if d.Item.Kind != lock.Whole {
			what += ": " + d.Item.String()
		}
		words = append(words, visible.Line(what))
	}
	return "accepted " + strings.Join(words, ", ")
}
