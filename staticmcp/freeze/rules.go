package freeze

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleLeftOut   = rules.Note("freeze/left-out", "a tool that is not called; the message gives the reason")
	ruleArguments = rules.Warning("freeze/arguments",
		"a given call with an argument that the tool does not have")
	ruleUnknownTool = rules.Warning("freeze/unknown-tool",
		"a given call of a tool that the source does not have")
	ruleExpand   = rules.Warning("freeze/expand", "an expansion that finds nothing in any answer")
	ruleTooMany  = rules.Warning("freeze/too-many", "more questions than `--max-calls`")
	ruleFailed   = rules.Warning("freeze/failed", "a question without an answer, or with an error")
	ruleUnstable = rules.Warning("freeze/unstable", "an answer that differs when the question is repeated")
	ruleSecret   = rules.Warning("freeze/secret", "a secret in a question, an answer or a definition")
	rulePersonal = rules.Warning("freeze/personal", "personal data in an answer")
	ruleEmail    = rules.Warning("freeze/email", "an e-mail address in an answer")
	ruleDrift    = rules.Error("freeze/drift", "an answer of the source that differs from the frozen one")
	ruleNotAsked = rules.Warning("freeze/not-asked",
		"a tool that `--verify` may not call unless it is named")
)

// Rules returns the rules for freezing a source and verifying a frozen site.
func Rules() []check.Rule {
	return rules.All()
}
