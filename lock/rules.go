package lock

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// The rules of sources that are compared with a lock, or locked. Titles state the
// requirement.
var (
	ruleChanged    = check.Error.Rule("lock/changed", "an item is as it was locked", "")
	ruleNew        = check.Error.Rule("lock/new", "an item is in the lock", "")
	ruleGone       = check.Error.Rule("lock/gone", "an item of the lock is offered", "")
	ruleServer     = check.Error.Rule("lock/server", "the server says of itself what it said", "")
	ruleOrigin     = check.Error.Rule("lock/origin", "it is started or reached as it was", "")
	ruleUnknown    = check.Error.Rule("lock/unknown", "the lock knows the source", "")
	ruleUnpinnable = check.Error.Rule("lock/unpinnable", "an item has a canonical form; otherwise it is not offered",
		"its server has to be corrected")
	ruleInvisible = check.Warning.Rule("lock/invisible", "people see what models read",
		"models read it, and people do not see it; slipway lock diff shows it as an escape")
	ruleMentions = check.Warning.Rule("lock/mentions", "a source does not tell models of the tools of another",
		"does it have models use that tool otherwise than they would?")
	ruleTemplate = check.Warning.Rule("lock/template",
		"a template can be matched; otherwise nothing is read through it", "")
	ruleUnread = check.Warning.Rule("lock/ui-unread",
		"a user interface can be read when it is locked; otherwise it is not offered", "")
	ruleVersion = check.Note.Rule("lock/version", "the version is the one that was locked", "")
	ruleUnused  = check.Note.Rule("lock/unused", "the sources that are compared are all those of the lock",
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
