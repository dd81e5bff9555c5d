package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// policySummary is the output of policy check --json.
type policySummary struct {
	File  string `json:"file"`
	Rules int    `json:"rules"`
	// Forbids and Approvals count the rules with that effect.
	Forbids   int `json:"forbids"`
	Approvals int `json:"approvals"`
	// ReadsHints reports that decisions depend on the hints of servers, which a lock should pin.
	ReadsHints bool `json:"readsHints"`
}

func newPolicyCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate the rules of a policy",
		Long: `Validate the rules of a policy against the schema: actions, types, attributes,
annotations and ids. The exit code is 1 if a rule is invalid.`,
		Example: `  slipway policy check examples/policy/policy.cedar`,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := openPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			s := policySummary{
				File:       args[0],
				Rules:      set.Len(),
				ReadsHints: set.ReadsHints(),
			}
			for _, r := range set.Rules() {
				if r.Forbid {
					s.Forbids++
				}
				if r.Approval != "" {
					s.Approvals++
				}
			}
			return show(cmd, &s, func(w io.Writer, s *policySummary) error {
				_, err := fmt.Fprintf(w, "%s: valid, %s: %d permit, %d forbid (%d until the user approves)\n",
					s.File, count(s.Rules, "rule"), s.Rules-s.Forbids, s.Forbids, s.Approvals)
				return err
			})
		},
	}
	jsonFlag(cmd, "the number of rules")
	return cmd
}
