package sitewriter

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleToolName        = rules.Error("site/tool-name", "a tool name that no folder can have")
	rulePromptName      = rules.Error("site/prompt-name", "a prompt name that no folder can have")
	ruleDuplicateTool   = rules.Error("site/duplicate-tool", "two tools with the same name")
	ruleDuplicateURI    = rules.Error("site/duplicate-uri", "a resource that is listed twice")
	ruleCase            = rules.Warning("site/case", "two tools whose names differ only in case")
	ruleUnknownTool     = rules.Error("site/unknown-tool", "an answer of an undefined tool")
	ruleUnknownPrompt   = rules.Error("site/unknown-prompt", "an answer of an undefined prompt")
	ruleArguments       = rules.Error("site/arguments", "arguments that violate the definition")
	ruleResult          = rules.Error("site/result", "a result that violates the definition")
	ruleUnnameable      = rules.Error("site/unnameable", "an answer whose file can have no name")
	rulePath            = rules.Error("site/path", "a path outside the site, or one that is not free")
	ruleCompletion      = rules.Error("site/completion", "duplicate values of one argument")
	ruleEmptyAnswer     = rules.Error("site/empty-answer", "an answer without a question")
	ruleDuplicateAnswer = rules.Error("site/duplicate-answer", "two different answers to the same question")
	ruleCollision       = rules.Error("site/collision",
		"answers that share a file name; a note if they can be distinguished")
	ruleSize        = rules.Error("site/size", "an answer of more than 16 MiB")
	ruleLargeAnswer = rules.Warning("site/large-answer", "an answer of more than 1 MiB")
	ruleFileLimit   = rules.Error("site/file-limit", "a file that is larger than the host accepts")
	ruleHostFiles   = rules.Warning("site/host-files", "more files than the host accepts")
	ruleTwinKept    = rules.Note("site/markdown-kept", "Markdown next to a page that Slipway did not write")
	ruleHostSize    = rules.Warning("site/host-size", "a site that is larger than the host accepts")
)

// Rules returns the rules for building sites.
func Rules() []check.Rule {
	return rules.All()
}
