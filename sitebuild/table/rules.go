package table

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleSyntax       = check.Error.Rule("table/syntax", "an unreadable row, which is omitted", "")
	ruleDuplicateKey = check.Error.Rule("table/duplicate-key",
		"a row that repeats a key; a warning if a column only looks like a key", "")
	ruleEmptyKey        = check.Warning.Rule("table/empty-key", "rows with an empty key, which no call finds", "")
	ruleRaggedRow       = check.Warning.Rule("table/ragged-row", "a row with more or fewer cells than columns", "")
	ruleEncoding        = check.Warning.Rule("table/encoding", "bytes that are not UTF-8", "")
	ruleDuplicateColumn = check.Warning.Rule("table/duplicate-column", "two columns with the same name", "")
	ruleDuplicateMember = check.Warning.Rule("table/duplicate-member", "a row that repeats a member", "")
	ruleEmpty           = check.Warning.Rule("table/empty", "a table without rows, which is omitted", "")
	ruleLargeBlob       = check.Warning.Rule("table/large-blob", "binary data of more than 4 KiB, which is omitted", "")
	ruleLargeInteger    = check.Note.Rule("table/large-integer",
		"integers beyond 9007199254740991, which are shown as text", "")
	ruleNoKey   = check.Note.Rule("table/no-key", "a table without a column that identifies its rows", "")
	ruleLeftOut = check.Note.Rule("table/left-out", "a member of a JSON object that is not a table", "")
)

// Rules returns the rules for tables.
func Rules() []check.Rule {
	return []check.Rule{
		ruleSyntax,
		ruleDuplicateKey,
		ruleEmptyKey,
		ruleRaggedRow,
		ruleEncoding,
		ruleDuplicateColumn,
		ruleDuplicateMember,
		ruleEmpty,
		ruleLargeBlob,
		ruleLargeInteger,
		ruleNoKey,
		ruleLeftOut,
	}
}
