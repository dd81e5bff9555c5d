package mapping

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleSyntax = check.Error.Rule("mapping/syntax", "a file that is not YAML", "")
	ruleSchema = check.Error.Rule("mapping/schema", "a file that violates its JSON Schema", "")
	ruleKind   = check.Error.Rule("mapping/kind",
		"an input without exactly one of `docs`, `table`, `openapi`, `go` and `data`", "")
	ruleMember    = check.Error.Rule("mapping/member", "a member that belongs to another kind of input", "")
	rulePath      = check.Error.Rule("mapping/path", "a missing input file", "")
	ruleDelimiter = check.Error.Rule("mapping/delimiter", "a separator that is not a single character", "")
	ruleTool      = check.Error.Rule("mapping/tool", "a change of a tool that does not exist", "")
	ruleAnswers   = check.Error.Rule("mapping/answers", "an invalid answer", "")
)

// Rules returns the rules for mapping files.
func Rules() []check.Rule {
	return []check.Rule{
		ruleSyntax,
		ruleSchema,
		ruleKind,
		ruleMember,
		rulePath,
		ruleDelimiter,
		ruleTool,
		ruleAnswers,
	}
}
