package lock

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// The rules of sources that are compared with a lock, or locked.
var (
	ruleChanged    = check.Error.Rule("lock/changed", "an item that differs from the lock", "")
	ruleNew        = check.Error.Rule("lock/new", "an item that is missing from the lock", "")
	ruleGone       = check.Error.Rule("lock/gone", "a locked item that is no longer offered", "")
	ruleServer     = check.Error.Rule("lock/server", "a server that describes itself differently", "")
	ruleOrigin     = check.Error.Rule("lock/origin", "a source that is started or reached in a different way", "")
	ruleUnknown    = check.Error.Rule("lock/unknown", "a source that is missing from the lock", "")
	ruleUnpinnable = check.Error.Rule("lock/unpinnable", "an item without a canonical form, which is not offered",
		"its server has to be corrected")
	ruleInvisible = check.Warning.Rule("lock/invisible", "characters that models read and people do not see",
		"models read it, and people do not see it; slipway lock diff shows it as an escape")
	ruleMentions = check.Warning.Rule("lock/mentions", "a source that tells models about a tool of another source",
		"check that the text does not change how models use that tool")
	ruleTemplate = check.Warning.Rule("lock/template",
		"a template that cannot be matched, so that nothing is read through it", "")
	ruleUnread = check.Warning.Rule("lock/ui-unread",
		"a user interface that cannot be read when it is locked, and is not offered", "")
	ruleVersion = check.Note.Rule("lock/version", "a server with another version", "")
	ruleUnused  = check.Note.Rule("lock/unused", "a locked source that is not among the compared ones",
		"slipway lock verify compares the sources that it is given")
)

// Rules returns all lock rules.
func Rules() []check.Rule {
	return []check.Rule{
		ruleChanged, ruleNew, ruleGone, ruleServer, ruleOrigin, ruleUnknown, ruleUnpinnable,
		ruleInvisible, ruleMentions, ruleTemplate, ruleUnread, ruleVersion, ruleUnused,
	}
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
