package stax_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

// TestRulesOfIsolation violates the rule of isolated servers.
func TestRulesOfIsolation(t *testing.T) {
	for isolate, pointer := range map[string]string{
		`"user"`:                        "/servers/a/isolate",
		`{"total": 2}`:                  "/servers/a/isolate",
		`{"by": "tenant"}`:              "/servers/a/isolate/by",
		`{"by": "session", "total": 0}`: "/servers/a/isolate/total",
	} {
		_, report := stax.Parse("x.json", []byte(`{"servers": {"a": {"command": "x", "isolate": `+isolate+`}}}`), nil)
		found := ruletest.Findings(report)
		if len(found) != 1 || found[0].Rule.ID != "stax/isolate" || found[0].Pointer != pointer {
			t.Errorf("isolate %s: findings %v, want one of stax/isolate at %s", isolate, found, pointer)
		}
	}
}

// TestRulesOfFailover violates the rule of sessions that move.
func TestRulesOfFailover(t *testing.T) {
	for members, findings := range map[string]int{
		`"failover": "restart", "isolate": "session"`:   0,
		`"failover": "stateless"`:                       0,
		`"failover": "move"`:                            1,
		`"failover": "stateless", "isolate": "session"`: 1,
	} {
		_, report := stax.Parse("x.json", []byte(`{"servers": {"a": {"command": "x", `+members+`}}}`), nil)
		found := ruletest.Findings(report)
		if len(found) != findings {
			t.Errorf("%s: findings %v, want %d", members, found, findings)
		}
		for _, f := range found {
			if f.Rule.ID != "stax/failover" || f.Pointer != "/servers/a/failover" {
				t.Errorf("%s: %v, want stax/failover at the member", members, f)
			}
		}
	}
}

// TestRulesOfDeclarations violates the rule of declared secrets.
func TestRulesOfDeclarations(t *testing.T) {
	for text, pointer := range map[string]string{
		`{"secret": [{"key": "A"}]}`:                             "/secrets",
		`{"secrets": [{"key": "A B"}]}`:                          "/secrets/0",
		`{"secrets": [{"description": "a key without a name"}]}`: "/secrets/0",
	} {
		_, report := stax.ParseSecrets("x.json", []byte(text), nil)
		found := ruletest.Findings(report)
		if len(found) != 1 || found[0].Rule.ID != "stax/secret-declaration" || found[0].Pointer != pointer {
			t.Errorf("%s: findings %v, want one of stax/secret-declaration at %s", text, found, pointer)
		}
	}
}
