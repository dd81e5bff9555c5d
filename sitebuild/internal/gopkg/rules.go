package gopkg

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleSyntax     = rules.Warning("go/syntax", "a file that does not parse, which is omitted")
	ruleUnreadable = rules.Warning("go/unreadable",
		"a file or package that cannot be documented, which is omitted")
)

// Rules returns the rules for Go packages.
func Rules() []check.Rule {
	return rules.All()
}
