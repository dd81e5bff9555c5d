package apps

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleURI           = rules.Error("apps/uri", "a user interface whose URI is not `ui://…`")
	ruleVisibility    = rules.Error("apps/visibility", "an unknown or empty visibility of a tool")
	ruleCSPSource     = rules.Error("apps/csp-source", "an invalid origin in a content security policy")
	ruleCSPEverything = rules.Warning("apps/csp-everything",
		"a content security policy that allows every host")
	ruleCSPScheme = rules.Warning("apps/csp-scheme", "an origin without a scheme")
	ruleCSPPath   = rules.Warning("apps/csp-path", "an origin with a path")
	ruleDomain    = rules.Error("apps/domain", "an invalid domain")
	ruleHTML      = rules.Error("apps/html", "a user interface with an empty document")
	ruleMIMEType  = rules.Error("apps/mime-type", "a user interface with another MIME type than hosts accept")
	ruleMeta      = rules.Error("apps/meta", "invalid metadata of a user interface")
	ruleMissing   = rules.Error("apps/missing", "a tool that links to a user interface that does not exist")
)

// Rules returns the rules for MCP Apps.
func Rules() []check.Rule {
	return rules.All()
}
