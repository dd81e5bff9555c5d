package clients_test

import (
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func TestMain(m *testing.M) { ruletest.Main(m, clients.Rules()) }

// TestRulesOfTheLauncher reaches a server through the launcher because its client has no
// working directory, and writes an entry into a project that works on one machine only.
func TestRulesOfTheLauncher(t *testing.T) {
	m := definitions(t, "servers:\n  a: {command: x, cwd: /tmp}\n")
	tests := []struct {
		rule, client string
		opts         *clients.Options
	}{
		{"stax/via-launcher", "claude-code", &clients.Options{Via: clients.Auto, Sources: []string{"/m.yaml"}}},
		{"stax/not-portable", "kiro", &clients.Options{
			Via:     clients.Launcher,
			Sources: []string{"/project/m.yaml"},
			Project: "/project",
		}},
	}
	for _, test := range tests {
		c, _ := clients.ByID(test.client)
		_, report := clients.Translate(c, m, test.opts)
		if !slices.ContainsFunc(ruletest.Findings(report), func(f check.Finding) bool {
			return f.Rule.ID == test.rule && f.Severity == check.Note
		}) {
			t.Errorf("%s: findings %v, want a note of %s", test.client, report.Findings(), test.rule)
		}
	}
}
