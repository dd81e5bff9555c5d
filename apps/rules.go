package apps

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleURI           = check.Error.Rule("apps/uri", "a user interface whose URI is not `ui://…`", "")
	ruleVisibility    = check.Error.Rule("apps/visibility", "an unknown or empty visibility of a tool", "")
	ruleCSPSource     = check.Error.Rule("apps/csp-source", "an invalid origin in a content security policy", "")
	ruleCSPEverything = check.Warning.Rule("apps/csp-everything",
		"a content security policy that allows every host", "")
	ruleCSPScheme = check.Warning.Rule("apps/csp-scheme", "an origin without a scheme", "")
	ruleCSPPath   = check.Warning.Rule("apps/csp-path", "an origin with a path", "")
	ruleDomain    = check.Error.Rule("apps/domain", "an invalid domain", "")
	ruleHTML      = check.Error.Rule("apps/html", "a user interface with an empty document", "")
	ruleMIMEType  = check.Error.Rule("apps/mime-type", "a user interface with another MIME type than hosts accept", "")
	ruleMeta      = check.Error.Rule("apps/meta", "invalid metadata of a user interface", "")
	ruleMissing   = check.Error.Rule("apps/missing", "a tool that links to a user interface that does not exist", "")
)

// Rules returns the rules for MCP Apps.
func Rules() []check.Rule {
	return []check.Rule{
		ruleURI,
		ruleVisibility,
		ruleCSPSource,
		ruleCSPEverything,
		ruleCSPScheme,
		ruleCSPPath,
		ruleDomain,
		ruleHTML,
		ruleMIMEType,
		ruleMeta,
		ruleMissing,
	}
}
