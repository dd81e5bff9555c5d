package lock

import "github.com/slipway-mcp/slipway/check"

// Rule is a check of sources against a lock, or of sources that are being locked.
type Rule struct {
	ID       string // "lock/slug"
	Severity check.Severity
	About    string // the requirement, as one line of Markdown
}

// Rules returns all lock rules.
func Rules() []Rule {
	return []Rule{
		{"lock/changed", check.Error, "an item is as it was locked"},
		{"lock/new", check.Error, "an item is in the lock"},
		{"lock/gone", check.Error, "an item of the lock is offered"},
		{"lock/server", check.Error, "the server says of itself what it said"},
		{"lock/origin", check.Error, "it is started or reached as it was"},
		{"lock/unknown", check.Error, "the lock knows the source"},
		{"lock/unpinnable", check.Error, "an item has a canonical form; otherwise it is not offered"},
		{"lock/invisible", check.Warning, "people see what models read"},
		{"lock/mentions", check.Warning, "a source does not tell models of the tools of another"},
		{"lock/template", check.Warning, "a template can be matched; otherwise nothing is read through it"},
		{"lock/ui-unread", check.Warning, "a user interface can be read when it is locked; otherwise it is not offered"},
		{"lock/version", check.Note, "the version is the one that was locked"},
		{"lock/unused", check.Note, "the sources that are compared are all those of the lock"},
	}
}
