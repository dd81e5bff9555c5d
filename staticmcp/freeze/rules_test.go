package freeze_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

func TestMain(m *testing.M) { ruletest.Main(m, freeze.Rules()) }

// TestRules violates the rules of planned calls.
func TestRules(t *testing.T) {
	question := func(tool, arguments string) []staticmcp.Question {
		return []staticmcp.Question{{Tool: tool, Arguments: json.RawMessage(arguments)}}
	}
	tests := map[string]*freeze.Options{
		"freeze/left-out":     {},
		"freeze/arguments":    {Calls: question("get_item", `{"id":"a","color":"red"}`)},
		"freeze/unknown-tool": {Calls: question("get_itm", `{"id":"a"}`)},
		"freeze/too-many":     {Limits: freeze.Limits{Calls: 1}},
	}
	for rule, opts := range tests {
		t.Run(rule, func(t *testing.T) {
			_, plan, _, err := frozen(t, &shop{}, opts)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(ruletest.Findings(&plan.Report), func(f check.Finding) bool {
				return f.Rule.ID == rule
			}) {
				t.Errorf("findings %v, want one of the rule", plan.Report.Findings())
			}
		})
	}
}

// TestRulesOfVerify verifies a frozen site against a source whose answer has changed, and
// that has a tool with side effects.
func TestRulesOfVerify(t *testing.T) {
	src := &shop{}
	m, _, _, err := frozen(t, src, &freeze.Options{
		Requests:   freeze.Requests{Tools: []string{"delete_item"}},
		Calls:      []staticmcp.Question{{Tool: "get_item", Arguments: json.RawMessage(`{"id":"a"}`)}},
		KeepErrors: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	site, err := staticmcp.Open(t.Context(), m, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	src.secret = " in red"
	called := len(src.deleted)
	v, err := freeze.Verify(t.Context(), site, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range ruletest.Findings(&v.Report) {
		got[f.Rule.ID] = true
	}
	if !got["freeze/drift"] || !got["freeze/not-asked"] || len(src.deleted) != called {
		t.Errorf("findings %v, deleted %v; want a drift, and a tool that is not called", v.Report.Findings(), src.deleted)
	}
}
