package openapi

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleRef = rules.Warning("openapi/ref",
		"a reference that is broken, circular, or leads to the network or out of the folder")
	ruleOperationID = rules.Warning("openapi/operation-id", "two operations with the same id")
)

// Rules returns the rules for OpenAPI documents.
func Rules() []check.Rule {
	return rules.All()
}
