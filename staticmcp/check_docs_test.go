package staticmcp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// TestRulesAreDocumented verifies that the table in docs/check.md matches the rules. With
// -update it writes the table.
func TestRulesAreDocumented(t *testing.T) {
	const page, head = "../docs/check.md", "| rule | severity | what is found | `--fix` |\n| --- | --- | --- | --- |\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString(head)
	seen := map[string]bool{}
	for _, r := range staticmcp.Rules() {
		fixed := ""
		if r.Fixable {
			fixed = "yes"
		}
		if r.Title == "" || seen[r.ID] || !strings.HasPrefix(r.ID, "staticmcp/") {
			t.Errorf("rule %q: its id is taken or it says nothing", r.ID)
		}
		seen[r.ID] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, r.Title, fixed)
	}
	before, _, _ := strings.Cut(string(text), head)
	if *updateChecks {
		if err := os.WriteFile(page, []byte(before+table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(before+table.String(), string(text)); diff != "" {
		t.Errorf("docs/check.md (- want, + got), see -update:\n%s", diff)
	}
}
