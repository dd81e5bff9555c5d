package openapi

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleRef = rules.Warning("openapi/ref",
		"a reference that is broken or circular, or points to the network or outside the folder")
	ruleOperationID = rules.Warning("openapi/operation-id", "two operations with the same id")
)

// Rules returns the rules for OpenAPI documents.
func Rules() []check.Rule {
	return rules.All()
}
