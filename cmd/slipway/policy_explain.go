package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity/policy"
)

// explanation is the output of policy explain --json.
type explanation struct {
	Decision string        `json:"decision"`
	Rule     string        `json:"rule"`
	Reason   string        `json:"reason,omitempty"`
	Rules    []shownRule   `json:"rules"`
	Errors   []shownFailed `json:"errors,omitempty"`
}

// shownRule is a rule that decided.
type shownRule struct {
	ID   string `json:"id"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// shownFailed is a rule that could not be evaluated.
type shownFailed struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func newPolicyExplain() *cobra.Command {
	var f decisionFlags
	cmd := &cobra.Command{
		Use:   "explain FILE ITEM [NAME=VALUE...]",
		Short: "Explain which rule decides about a request",
		Long: `Answer whether a caller may use an item with some arguments, and show the rules
that decide. The exit code is 1 if the request is denied.

` + policyHelp + ` A VALUE is JSON if it can be, otherwise a string.`,
		Example: `  slipway policy explain examples/policy/policy.cedar github/create_issue \
      --user ann --group engineering title=Hello
  slipway policy explain examples/policy/policy.cedar billing/refund \
      --user bob --group finance amount=500`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := openPolicy(args[0])
			if err != nil {
				return err
			}
			r, err := f.request(args[1], args[2:])
			if err != nil {
				return err
			}
			d := set.Decide(r)
			if err := show(cmd, explainDecision(&d), func(w io.Writer, e *explanation) error {
				return e.print(w, args[0])
			}); err != nil {
				return err
			}
			if d.Effect != policy.Allow {
				return no("", "%s", d.Reason())
			}
			return nil
		},
	}
	f.callerFlags(cmd)
	f.itemFlags(cmd)
	f.situationFlags(cmd)
	jsonFlag(cmd, "the decision and its rules")
	return cmd
}

func explainDecision(d *policy.Decision) *explanation {
	e := &explanation{
		Decision: d.Effect.String(),
		Rule:     d.RuleID(),
		Rules:    []shownRule{},
	}
	if d.Effect != policy.Allow {
		e.Reason = d.Reason()
	}
	for _, r := range d.Rules {
		e.Rules = append(e.Rules, shownRule{r.ID, r.Line, r.Text()})
	}
	for _, failed := range d.Errors {
		e.Errors = append(e.Errors, shownFailed{failed.Rule.ID, failed.Reason})
	}
	return e
}

func (e *explanation) print(w io.Writer, file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s\n", e.Decision, e.Rule)
	for _, r := range e.Rules {
		fmt.Fprintf(&b, "\n%s:%d: %s\n%s\n", file, r.Line, r.ID, r.Text)
	}
	if len(e.Rules) == 0 {
		b.WriteString("no rule permits it\n")
	}
	for _, failed := range e.Errors {
		fmt.Fprintf(&b, "\n%s could not be evaluated: %s\n", failed.ID, failed.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
