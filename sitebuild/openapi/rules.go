package openapi

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleRef = check.Warning.Rule("openapi/ref",
		"a reference that is broken, circular, or leads to the network or out of the folder", "")
	ruleOperationID = check.Warning.Rule("openapi/operation-id", "two operations with the same id", "")
)

// Rules returns the rules for OpenAPI documents.
func Rules() []check.Rule {
	return []check.Rule{
		ruleRef,
		ruleOperationID,
	}
}
