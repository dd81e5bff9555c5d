package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// caseOutcome is a line of policy test --json.
type caseOutcome struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Problem is the difference between the expected and the actual decision.
	Problem string `json:"problem,omitempty"`
}

func newPolicyTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE CASES...",
		Short: "Test a policy with expected decisions",
		Long: `Decide the cases in YAML or JSON files, and compare the decisions with the
expected ones. The exit code is 1 if one differs. A case names a caller, an item
and what is expected:

  - name: no refunds over 100
    user: bob
    groups: [cashiers]
    tool: billing/refund
    arguments: {amount: 101}
    expect: deny
    rule: no-refunds-over-100`,
		Example: `  slipway policy test examples/policy/policy.cedar examples/policy/cases.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := openPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			var outcomes []caseOutcome
			failed := 0
			for _, path := range args[1:] {
				cases, err := readCases(cmd, path)
				if err != nil {
					return err
				}
				for i := range cases {
					o := caseOutcome{Name: cases[i].Name}
					if err := set.Check(&cases[i]); err != nil {
						o.Problem = err.Error()
						failed++
					}
					o.OK = o.Problem == ""
					outcomes = append(outcomes, o)
				}
			}
			if err := showList(cmd, "cases", outcomes, printCaseOutcomes); err != nil {
				return err
			}
			if failed > 0 {
				return no("slipway policy explain shows the rule that decides", "policy test: %d of %d cases failed", failed,
					len(outcomes))
			}
			return nil
		},
	}
	jsonFlag(cmd, "the outcome of each case")
	return cmd
}

// readCases reads a file of cases in YAML or JSON.
func readCases(cmd *cobra.Command, path string) ([]policy.Case, error) {
	text, err := readInput(cmd, path, policy.MaxBytes)
	if err != nil {
		return nil, badInput("", "%s: %s", path, fsutil.Reason(err))
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, badInput("", "%s: %v", path, err)
	}
	if text, err = mcp.Marshal(document); err != nil {
		return nil, badInput("", "%s: %v", path, err)
	}
	cases, err := policy.ParseCases(text)
	if err != nil {
		return nil, badInput("", "%s: %v", path, err)
	}
	return cases, nil
}

// printCaseOutcomes prints the failed cases, and how many passed.
func printCaseOutcomes(w io.Writer, outcomes []caseOutcome) error {
	failed := 0
	for _, o := range outcomes {
		if o.OK {
			continue
		}
		failed++
		if _, err := fmt.Fprintf(w, "FAIL %s: %s\n", visible.Line(o.Name), visible.Line(o.Problem)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d cases passed\n", len(outcomes)-failed, len(outcomes))
	return err
}
