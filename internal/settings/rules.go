package settings

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

var (
	ruleUnknown = rules.Error("serve/unknown-field", "a member that is not a setting of `slipway serve`")
	ruleType    = rules.Error("serve/type", "a setting of the wrong type")
	ruleValue   = rules.Error("serve/value", "a value that the setting does not accept")
	ruleSecret  = rules.Error("serve/secret-literal", "a token or another secret in the configuration file",
		"keep it in a file that access.tokenFile names, or in the environment")
	ruleReference = rules.Warning("serve/reference", "`${NAME}` in a setting, where nothing is expanded")
	ruleSources   = rules.Error("serve/sources", "a source without exactly one of `source` and `command`",
		"write a path, a URL, or {source: ..., name: ...}")
	ruleSourceName = rules.Error("serve/source-name", "two sources with the same name, or a name that is not one",
		"use lower-case letters, digits, - and _")
	ruleNothing = rules.Error("serve/nothing", "a configuration without `sources` and `servers`",
		"add sources: [./docs], or servers")
	ruleMissing  = rules.Error("serve/missing", "a source or file that cannot be used")
	ruleConflict = rules.Error("serve/conflict", "settings that contradict each other")
)

// Rules returns the rules for the configuration file of serve.
func Rules() []check.Rule { return rules.All() }
