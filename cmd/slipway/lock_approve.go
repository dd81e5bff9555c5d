package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/lock"
)

func newLockApprove() *cobra.Command {
	var l locking
	var items []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "approve SOURCE...",
		Short: "Accept what sources offer now",
		Long: `Ask sources what they offer, and write what is different into the lock: all of
it, or what --server and --item name. An item is written as slipway lock diff
shows it: tools/NAME, prompts/NAME, resources/URI, resourceTemplates/TEMPLATE,
ui/URI, instructions, server or origin. What was accepted is printed; look at it
with slipway lock diff before. A server that runs shows it at once.

A source that is in the lock and gone is taken out if --server names it.`,
		Example: `  slipway lock approve locked/mcp.yaml
  slipway lock approve locked/mcp.yaml --server shop`,
		Args: takesSource(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := l.compare(cmd, sourceFirst(cmd, args))
			if err != nil {
				return err
			}
			accepted, err := c.choose(l.servers, items)
			if err != nil {
				return err
			}
			if asJSON {
				return c.approve(cmd, accepted, func() error {
					return printJSON(cmd.OutOrStdout(), map[string]any{"approved": driftRows(c.shown(accepted))})
				})
			}
			return c.approve(cmd, accepted, func() error { return printDrifts(cmd.OutOrStdout(), c.shown(accepted)) })
		},
	}
	l.lockFlag(cmd)
	l.flags(cmd)
	cmd.Flags().StringArrayVar(&items, "item", nil, "only this `item`, such as tools/get_issue (repeatable)")
	jsonFlag(cmd, &asJSON, "what was accepted")
	return cmd
}

// choose returns the drifts to accept. For a source that is not locked, that is all of
// its items or none.
func (c *compared) choose(servers, items []string) (accepted []lock.Drift, err error) {
	found := make(map[string]bool)
	for _, text := range items {
		if _, err := lock.ParseItem(text); err != nil {
			return nil, usage("see slipway lock approve --help", "approve: %v", err)
		}
	}
	for _, d := range c.drifts {
		switch {
		case d.Item.Kind == lock.Whole && d.Is == nil:
			if slices.Contains(servers, d.Source) && len(items) == 0 {
				accepted = append(accepted, d)
			}
		case len(items) == 0:
			accepted = append(accepted, d)
		case d.Item.Kind == lock.Whole:
			return nil, no("leave --item out to accept all of it, or name other servers with --server",
				"approve: the lock does not know %s", d.Source)
		case slices.Contains(items, d.Item.String()):
			found[d.Item.String()] = true
			accepted = append(accepted, d)
		}
	}
	for _, text := range items {
		if !found[text] {
			return nil, no("slipway lock diff shows what is different", "approve: %s is as it was locked, or is nowhere", text)
		}
	}
	return accepted, nil
}

func (c *compared) approve(cmd *cobra.Command, accepted []lock.Drift, tell func() error) error {
	if err := c.placed(accepted).WriteText(cmd.ErrOrStderr(), colored(cmd.ErrOrStderr())); err != nil {
		return err
	}
	if len(accepted) > 0 {
		file := c.file.Approve(accepted, c.now)
		if len(file.Definitions) > 0 { // otherwise it covers all
			file.Definitions = append(file.Definitions, c.definitions...)
			slices.Sort(file.Definitions)
			file.Definitions = slices.Compact(file.Definitions)
		}
		if err := fsutil.Replace(c.path, 0o644, file.Write); err != nil {
			return &failure{code: exitInput, text: c.path + ": " + fsutil.Reason(err)}
		}
	}
	if err := tell(); err != nil {
		return err
	}
	var words []string
	for _, d := range accepted {
		what := d.Source
		if d.Item.Kind != lock.Whole {
			what += ": " + d.Item.String()
		}
		words = append(words, visible.Line(what))
	}
	what := "everything is as it was locked"
	if len(words) > 0 {
		what = "accepted " + strings.Join(words, ", ")
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", c.path, what)
	return err
}
