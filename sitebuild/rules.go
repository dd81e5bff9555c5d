package sitebuild

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleToolName        = check.Error.Rule("site/tool-name", "a tool name that no folder can have", "")
	rulePromptName      = check.Error.Rule("site/prompt-name", "a prompt name that no folder can have", "")
	ruleDuplicateTool   = check.Error.Rule("site/duplicate-tool", "two tools with the same name", "")
	ruleDuplicateURI    = check.Error.Rule("site/duplicate-uri", "a resource that is listed twice", "")
	ruleCase            = check.Warning.Rule("site/case", "two tools whose names differ only in case", "")
	ruleUnknownTool     = check.Error.Rule("site/unknown-tool", "an answer of an undefined tool", "")
	ruleUnknownPrompt   = check.Error.Rule("site/unknown-prompt", "an answer of an undefined prompt", "")
	ruleArguments       = check.Error.Rule("site/arguments", "arguments that violate the definition", "")
	ruleResult          = check.Error.Rule("site/result", "a result that violates the definition", "")
	ruleUnnameable      = check.Error.Rule("site/unnameable", "an answer whose file can have no name", "")
	rulePath            = check.Error.Rule("site/path", "a path outside the site, or one that is not free", "")
	ruleCompletion      = check.Error.Rule("site/completion", "values of one argument that are given twice", "")
	ruleEmptyAnswer     = check.Error.Rule("site/empty-answer", "an answer without a question", "")
	ruleDuplicateAnswer = check.Error.Rule("site/duplicate-answer", "two different answers to the same question", "")
	ruleCollision       = check.Error.Rule("site/collision",
		"answers that share a file name; a note if they can be distinguished", "")
	ruleSize        = check.Error.Rule("site/size", "an answer of more than 16 MiB", "")
	ruleLargeAnswer = check.Warning.Rule("site/large-answer", "an answer of more than 1 MiB", "")
	ruleFileLimit   = check.Error.Rule("site/file-limit", "a file that is larger than the host accepts", "")
	ruleHostFiles   = check.Warning.Rule("site/host-files", "more files than the host accepts", "")
	ruleHostSize    = check.Warning.Rule("site/host-size", "a site that is larger than the host accepts", "")
)

// Rules returns the rules for building sites.
func Rules() []check.Rule {
	return []check.Rule{
		ruleToolName,
		rulePromptName,
		ruleDuplicateTool,
		ruleDuplicateURI,
		ruleCase,
		ruleUnknownTool,
		ruleUnknownPrompt,
		ruleArguments,
		ruleResult,
		ruleUnnameable,
		rulePath,
		ruleCompletion,
		ruleEmptyAnswer,
		ruleDuplicateAnswer,
		ruleCollision,
		ruleSize,
		ruleLargeAnswer,
		ruleFileLimit,
		ruleHostFiles,
		ruleHostSize,
	}
}
