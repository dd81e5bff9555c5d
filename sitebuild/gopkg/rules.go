package gopkg

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleSyntax     = check.Warning.Rule("go/syntax", "a file that does not parse, which is omitted", "")
	ruleUnreadable = check.Warning.Rule("go/unreadable",
		"a file or package that cannot be documented, which is omitted", "")
)

// Rules returns the rules for Go packages.
func Rules() []check.Rule {
	return []check.Rule{
		ruleSyntax,
		ruleUnreadable,
	}
}
