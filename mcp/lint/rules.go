package lint

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleToolName      = check.Error.Rule("mcp/tool-name", "a tool name outside `[A-Za-z0-9_./-]{1,128}`", "")
	ruleToolNameStyle = check.Warning.Rule("mcp/tool-name-style",
		"a tool name that is longer than 64 characters, has a slash or is not snake_case", "")
	ruleName = check.Error.Rule("mcp/name",
		"a server, resource, template or prompt without a name, or a server without a version", "")
	ruleDuplicate   = check.Error.Rule("mcp/duplicate", "two entries of a list with the same name or URI", "")
	ruleURI         = check.Error.Rule("mcp/uri", "a resource URI without a scheme", "")
	ruleURITemplate = check.Error.Rule("mcp/uri-template", "an invalid resource template", "")
	ruleSchema      = check.Error.Rule("mcp/schema", "an invalid `inputSchema` or `outputSchema`", "")
	ruleDescription = check.Warning.Rule("mcp/description", "a tool without a description", "")
	ruleSchemaNote  = check.Note.Rule("mcp/schema-note", "a part of a schema that cannot be checked", "")
)

// Rules returns the rules for the catalogs of all servers.
func Rules() []check.Rule {
	return []check.Rule{
		ruleToolName,
		ruleToolNameStyle,
		ruleName,
		ruleDuplicate,
		ruleURI,
		ruleURITemplate,
		ruleSchema,
		ruleDescription,
		ruleSchemaNote,
	}
}
