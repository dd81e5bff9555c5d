package cataloglint

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleToolName      = rules.Error("mcp/tool-name", "a tool name outside `[A-Za-z0-9_./-]{1,128}`")
	ruleToolNameStyle = rules.Warning("mcp/tool-name-style",
		"a tool name that is longer than 64 characters, has a slash or is not snake_case")
	ruleName = rules.Error("mcp/name",
		"a server, resource, template or prompt without a name, or a server without a version")
	ruleDuplicate = rules.Error("mcp/duplicate", "two entries of a list with the same name or URI")
	ruleList      = rules.Error("mcp/list", "a list that the server declares and does not return")
	ruleEntry     = rules.Error("mcp/entry",
		"an entry of a list that clients cannot use: invalid, or with the name of another one")
	ruleURI         = rules.Error("mcp/uri", "a resource URI without a scheme")
	ruleURITemplate = rules.Error("mcp/uri-template", "an invalid resource template")
	ruleSchema      = rules.Error("mcp/schema", "an invalid `inputSchema` or `outputSchema`")
	ruleDescription = rules.Warning("mcp/description", "a tool without a description")
	ruleSchemaNote  = rules.Note("mcp/schema-note", "a part of a schema that cannot be checked")
)

// Rules returns the rules for the catalogs of all servers.
func Rules() []check.Rule {
	return rules.All()
}
