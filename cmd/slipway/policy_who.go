package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// shownPermission is a line of policy who --json.
type shownPermission struct {
	// Who is the holder of the permission, such as a group.
	Who      string `json:"who"`
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	// Depends means that arguments, time or place can change the decision.
	Depends bool `json:"dependsOnContext"`
}

func newPolicyWho() *cobra.Command {
	var f decisionFlags
	cmd := &cobra.Command{
		Use:   "who FILE ITEM",
		Short: "List who may use an item",
		Long: `List every user, group, role, scope and client that the rules name, and what
each may do with an item, with the best arguments and at the best time.

` + policyFileHelp + `
` + policyHelp,
		Example: `  slipway policy who examples/policy/policy.cedar github/create_issue`,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := openPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			r, err := f.request(cmd, args[1], nil)
			if err != nil {
				return err
			}
			var all []shownPermission
			for _, p := range set.Who(r.Action, r.Item) {
				all = append(all, shownPermission{p.Holder.String(), p.Decision.Effect.String(), p.Decision.RuleID(), p.Open})
			}
			if text := misnamedHint(set, r); text != "" {
				hint(cmd.ErrOrStderr(), text)
			}
			return showList(cmd, "who", all, printPermissions)
		},
	}
	f.itemFlags(cmd)
	jsonFlag(cmd, "the list")
	return cmd
}

// printPermissions prints one line for each caller or group, with the rule that decides.
func printPermissions(w io.Writer, all []shownPermission) error {
	for _, p := range all {
		depends := ""
		if p.Depends {
			depends = ", depending on arguments, time or place"
		}
		_, err := fmt.Fprintf(w, "%-5s  %s  (%s%s)\n", p.Decision, visible.Line(p.Who), visible.Line(p.Rule), depends)
		if err != nil {
			return err
		}
	}
	return nil
}
