package registry_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

func TestMain(m *testing.M) { ruletest.Main(m, registry.Rules()) }

// TestReview reports secrets that the server would share.
func TestReview(t *testing.T) {
	e, err := made(t, `"packages": [{"registryType": "npm", "identifier": "w", "version": "1.2.3",
"transport": {"type": "stdio"},
"environmentVariables": [{"name": "W_TOKEN", "isSecret": true, "isRequired": true}]}]`, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("W_TOKEN", "x")
	_, report := e.Review("mcp.yaml", &stax.Added{Shared: []string{"W_TOKEN"}})
	counts := map[string]int{}
	for _, f := range ruletest.Findings(report) {
		counts[f.Rule.ID]++
	}
	if counts["stax/secret-shared"] != 2 {
		t.Errorf("findings %v, want two of stax/secret-shared", report.Findings())
	}
}
