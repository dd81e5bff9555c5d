package freeze

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleLeftOut   = check.Note.Rule("freeze/left-out", "a tool that is not called; the message gives the reason", "")
	ruleArguments = check.Warning.Rule("freeze/arguments",
		"a given call with an argument that the tool does not have", "")
	ruleUnknownTool = check.Warning.Rule("freeze/unknown-tool",
		"a given call of a tool that the source does not have", "")
	ruleExpand   = check.Warning.Rule("freeze/expand", "an expansion that finds nothing in any answer", "")
	ruleTooMany  = check.Warning.Rule("freeze/too-many", "more questions than `--max-calls`", "")
	ruleFailed   = check.Warning.Rule("freeze/failed", "a question without an answer, or with an error", "")
	ruleUnstable = check.Warning.Rule("freeze/unstable", "an answer that differs when the question is repeated", "")
	ruleSecret   = check.Warning.Rule("freeze/secret", "a secret in a question, an answer or a definition", "")
	rulePersonal = check.Warning.Rule("freeze/personal", "personal data in an answer", "")
	ruleEmail    = check.Warning.Rule("freeze/email", "an e-mail address in an answer", "")
	ruleDrift    = check.Error.Rule("freeze/drift", "an answer of the source that differs from the frozen one", "")
	ruleNotAsked = check.Warning.Rule("freeze/not-asked",
		"a tool that `--verify` may not call unless it is named", "")
)

// Rules returns the rules for freezing a source and verifying a frozen site.
func Rules() []check.Rule {
	return []check.Rule{
		ruleLeftOut,
		ruleArguments,
		ruleUnknownTool,
		ruleExpand,
		ruleTooMany,
		ruleFailed,
		ruleUnstable,
		ruleSecret,
		rulePersonal,
		ruleEmail,
		ruleDrift,
		ruleNotAsked,
	}
}
