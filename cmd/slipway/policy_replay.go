package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/visible"
)

func newPolicyReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay FILE AUDITLOG",
		Short: "Compare a policy with the decisions in an audit log",
		Long: `Decide the requests in an audit log of "slipway serve --policy" again by other
rules, and list the decisions that change. The exit code is 1 if there are any.

Callers have the groups, roles, scopes, tenant and mapped claims that the log
records. The log contains no arguments, so rules about them, and about time and
place, count as favourable to the caller.`,
		Example: `  slipway policy replay examples/policy/policy.cedar audit.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := openPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			in, stop, err := openInput(cmd, args[1])
			if err != nil {
				return err
			}
			defer stop()
			replay, err := set.Replay(in)
			if err != nil {
				return badInput("an audit log has JSON lines, as --audit-log writes them", "%s: %v", args[1], err)
			}
			if replay.Lines == 0 && replay.Undecided > 0 {
				return badInput(
					"record the log with a policy that permits everything: slipway serve --policy FILE --audit-log FILE",
					"%s: none of its %s was decided by a policy", args[1], count(replay.Undecided, "request"))
			}
			if replay.Changed == nil {
				replay.Changed = []policy.Replayed{}
			}
			if err := show(cmd, replay, printReplay); err != nil {
				return err
			}
			if len(replay.Changed) > 0 {
				return no("slipway policy explain shows the rule that decides", "policy replay: decisions change")
			}
			return nil
		},
	}
	jsonFlag(cmd, "the changes")
	return cmd
}

// printReplay prints each request whose decision has changed, with the number of times it was
// made, and how many requests depend on what the log does not contain.
func printReplay(w io.Writer, r *policy.Replay) error {
	for i := range r.Changed {
		c := &r.Changed[i]
		who := c.Principal
		if who == "" {
			who = "a caller without a token"
		}
		_, err := fmt.Fprintf(w, "%s (%s) -> %s (%s): %s, %s %s (×%d)\n", c.Was, visible.Line(c.WasRule), c.Now,
			visible.Line(c.NowRule), visible.Line(who), visible.Line(c.Method), visible.Line(c.Item), c.Times)
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "requests: %d, different decisions: %d, dependent on what the log lacks: %d\n", r.Lines,
		len(r.Changed), r.Open)
	if err == nil && r.Undecided > 0 {
		_, err = fmt.Fprintf(w, "not compared, since no policy decided them: %d\n", r.Undecided)
	}
	return err
}
