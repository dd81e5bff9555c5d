package lock

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
)

var rules check.RuleSet

// The rules of sources that are compared with a lock, or locked.
var (
	ruleChanged    = rules.Error("lock/changed", "an item that differs from the lock")
	ruleNew        = rules.Error("lock/new", "an item that is missing from the lock")
	ruleGone       = rules.Error("lock/gone", "a locked item that is no longer offered")
	ruleServer     = rules.Error("lock/server", "a server that describes itself differently")
	ruleOrigin     = rules.Error("lock/origin", "a source that is started or reached in a different way")
	ruleUnknown    = rules.Error("lock/unknown", "a source that is missing from the lock")
	ruleUnpinnable = rules.Error("lock/unpinnable", "an item without a canonical form, which is not offered",
		"its server has to be corrected")
	ruleInvisible = rules.Warning("lock/invisible", "characters that models read and people do not see",
		"models read it, and people do not see it; slipway lock diff shows it as an escape")
	ruleMentions = rules.Warning("lock/mentions", "a source that tells models about a tool of another source",
		"check that the text does not change how models use that tool")
	ruleTemplate = rules.Warning("lock/template",
		"a template that cannot be matched, so that nothing is read through it")
	ruleUnread = rules.Warning("lock/ui-unread",
		"a user interface that cannot be read when it is locked, and is not offered")
	ruleVersion = rules.Note("lock/version", "a server with another version")
	ruleUnused  = rules.Note("lock/unused", "a locked source that is not among the compared ones",
		"slipway lock verify compares the sources that it is given")
)

// Rules returns all lock rules.
func Rules() []check.Rule {
	return rules.All()
}

// finding returns a finding about an item of a source, located in the lock file.
func finding(rule check.Rule, source string, item Item, message string) check.Finding {
	pointer := "/sources/" + jsonscan.EscapeToken(source)
	if item.Kind != Whole {
		pointer += "/" + jsonscan.EscapeToken(string(item.Kind))
	}
	if item.Name != "" {
		pointer += "/" + jsonscan.EscapeToken(item.Name)
	}
	r := check.Reporter{File: FileName}
	return r.Finding(rule, pointer, "", "%s", visible.Line(source+": "+message))
}
