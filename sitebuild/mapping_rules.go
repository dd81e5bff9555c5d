package sitebuild

import "github.com/slipway-mcp/slipway/check"

var mappingRules check.RuleSet

// The rules.
var (
	ruleSyntax = mappingRules.Error("mapping/syntax", "a file that is not YAML")
	ruleSchema = mappingRules.Error("mapping/schema", "a file that violates its JSON Schema")
	ruleKind   = mappingRules.Error("mapping/kind",
		"an input without exactly one of `docs`, `table`, `openapi`, `go` and `data`")
	ruleMember    = mappingRules.Error("mapping/member", "a member that belongs to another kind of input")
	rulePath      = mappingRules.Error("mapping/path", "a missing input file")
	ruleDelimiter = mappingRules.Error("mapping/delimiter", "a separator that is not a single character")
	ruleTool      = mappingRules.Error("mapping/tool", "a change of a tool that does not exist")
	ruleAnswers   = mappingRules.Error("mapping/answers", "an invalid answer")
)
