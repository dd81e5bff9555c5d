package registry

import "github.com/slipway-mcp/slipway/check"

// Conversion from and to the format of the registry.
var (
	ruleNotAdded = check.Warning.Rule("stax/not-added",
		"a part of a `server.json` without an equivalent in a definition", "")
	ruleSecretShared = check.Warning.Rule("stax/secret-shared",
		"a secret of an added server that already exists for another one", "")
	ruleNotExported = check.Warning.Rule("stax/not-exported",
		"a part of a definition without an equivalent in a `server.json`",
		"write it where users find the instructions for the server")
)

// Rules returns the rules for conversions from and to the format of the registry.
func Rules() []check.Rule {
	return []check.Rule{
		ruleNotAdded,
		ruleSecretShared,
		ruleNotExported,
	}
}
