package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity/policy"
	shell "github.com/slipway-mcp/slipway/internal/process"
)

// explanation is the output of policy explain --json.
type explanation struct {
	// Decision is the outcome, and Rule the ID of the rule that decided first.
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason,omitempty"`
	// Scopes are what a token needs, if that is all that is missing.
	Scopes []string `json:"scopes,omitempty"`
	// Rules are those that decided, and Errors those that could not be evaluated.
	Rules  []shownRule   `json:"rules"`
	Errors []shownFailed `json:"errors,omitempty"`
}

// shownRule is a rule that decided.
type shownRule struct {
	ID string `json:"id"`
	// File and Line are where the rule is. Without a line, it is not from a file.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
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

` + policyFileHelp + `
` + policyHelp + ` A VALUE is JSON if it can be, otherwise a string.`,
		Example: `  slipway policy explain examples/policy/policy.cedar github/create_issue \
      --user ann --group engineering title=Hello
  slipway policy explain examples/policy/policy.cedar billing/refund \
      --user bob --group finance amount=500`,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := openPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			r, err := f.request(cmd, args[1], args[2:])
			if err != nil {
				return err
			}
			d := set.Decide(r)
			if err := show(cmd, explainDecision(&d), func(w io.Writer, e *explanation) error { return e.print(w) }); err != nil {
				return err
			}
			if d.Effect != policy.Allow {
				return no(explainHint(set, r, &d, args), "%s", d.Reason())
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

// explainHint returns the next step after a denial, or "". args are those of the command.
func explainHint(
	set *policy.Set,
	r *policy.Request,
	d *policy.Decision,
	args []string,
) string {
	if len(d.Scopes) > 0 {
		user := ""
		if r.Principal == nil {
			user = "--user NAME "
		}
		return "add " + user + "--scope " + strings.Join(d.Scopes, ",") + " to decide about a token with the missing scopes"
	}
	if len(d.Rules) > 0 {
		return ""
	}
	if hint := misnamedHint(set, r); hint != "" {
		return hint
	}
	return fmt.Sprintf(`add a permit; "slipway policy who %s %s" lists who may use the item`,
		shell.PathWord(args[0]), shell.PathWord(args[1]))
}

// misnamedHint returns the nearest name for one that no rule names, or "".
func misnamedHint(set *policy.Set, r *policy.Request) string {
	name, near := set.Misnamed(r)
	if near == "" {
		return ""
	}
	return "no rule names " + name + "; did you mean " + near + "?"
}

// explainDecision returns a decision with the text of the rules that made it. A reason exists
// only for a refusal: it is what the caller would read.
func explainDecision(d *policy.Decision) *explanation {
	e := &explanation{
		Decision: d.Effect.String(),
		Rule:     d.RuleID(),
		Scopes:   d.Scopes,
		Rules:    []shownRule{},
	}
	if d.Effect != policy.Allow {
		e.Reason = d.Reason()
	}
	for _, r := range d.Rules {
		e.Rules = append(e.Rules, shownRule{r.ID, r.File, r.Line, r.Text()})
	}
	for _, failed := range d.Errors {
		e.Errors = append(e.Errors, shownFailed{failed.Rule.ID, failed.Reason})
	}
	return e
}

// print prints the decision, its rules with their positions, and the rules that could not be
// evaluated.
func (e *explanation) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s\n", e.Decision, e.Rule)
	for _, r := range e.Rules {
		where := r.File
		if r.Line > 0 {
			where = fmt.Sprintf("%s:%d", r.File, r.Line)
		}
		fmt.Fprintf(&b, "\n%s: %s\n%s\n", where, r.ID, r.Text)
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
