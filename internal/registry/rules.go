package registry

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// Conversion from and to the format of the registry.
var (
	ruleNotAdded = rules.Warning("stax/not-added",
		"a part of a `server.json` without an equivalent in a definition")
	ruleSecretShared = rules.Warning("stax/secret-shared",
		"a secret of an added server that already exists for another one")
	ruleNotExported = rules.Warning("stax/not-exported",
		"a part of a definition without an equivalent in a `server.json`",
		"write it where users find the instructions for the server")
)

// Rules returns the rules for conversions from and to the format of the registry.
func Rules() []check.Rule {
	return rules.All()
}
