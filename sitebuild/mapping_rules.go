package sitebuild

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleSyntax = rules.Error("mapping/syntax", "a file that is not YAML")
	ruleSchema = rules.Error("mapping/schema", "a file that violates its JSON Schema")
	ruleKind   = rules.Error("mapping/kind",
		"an input without exactly one of `docs`, `table`, `openapi`, `go` and `data`")
	ruleMember = rules.Error("mapping/member", "a member that belongs to another kind of input")
	rulePath   = rules.Error("mapping/path", "a missing input file")
	ruleURL    = rules.Error("mapping/url", "a `baseURL` that is not the address of pages",
		"write an address such as https://example.com/docs/")
	ruleDelimiter = rules.Error("mapping/delimiter", "a separator that is not a single character")
	ruleTool      = rules.Error("mapping/tool", "a change of a tool that does not exist")
	ruleAnswers   = rules.Error("mapping/answers", "an invalid answer")
)
