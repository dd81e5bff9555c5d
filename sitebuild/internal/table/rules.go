package table

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleSyntax       = rules.Error("table/syntax", "an unreadable row, which is omitted")
	ruleDuplicateKey = rules.Error("table/duplicate-key",
		"a row that repeats a key; a warning if a column only looks like a key")
	ruleEmptyKey        = rules.Warning("table/empty-key", "rows with an empty key, which no call finds")
	ruleRaggedRow       = rules.Warning("table/ragged-row", "a row with more or fewer cells than columns")
	ruleEncoding        = rules.Warning("table/encoding", "bytes that are not UTF-8")
	ruleDuplicateColumn = rules.Warning("table/duplicate-column", "two columns with the same name")
	ruleDuplicateMember = rules.Warning("table/duplicate-member", "a row that repeats a member")
	ruleEmpty           = rules.Warning("table/empty", "a table without rows, which is omitted")
	ruleLargeBlob       = rules.Warning("table/large-blob", "binary data of more than 4 KiB, which is omitted")
	ruleLargeInteger    = rules.Note("table/large-integer",
		"integers beyond 9007199254740991, which are shown as text")
	ruleNoKey   = rules.Note("table/no-key", "a table without a column that identifies its rows")
	ruleLeftOut = rules.Note("table/left-out", "a member of a JSON object that is not a table")
)

// Rules returns the rules for tables.
func Rules() []check.Rule {
	return rules.All()
}
