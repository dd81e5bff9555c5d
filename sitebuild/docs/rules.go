package docs

import "github.com/slipway-mcp/slipway/check"

// The rules.
var (
	ruleBrokenLink = check.Warning.Rule("docs/broken-link",
		"a link or picture without a target; a note if the target may be outside the folder", "")
	ruleBrokenAnchor  = check.Warning.Rule("docs/broken-anchor", "a link to a heading that the page does not have", "")
	ruleDuplicateSlug = check.Warning.Rule("docs/duplicate-slug", "an id that a page gives to two headings", "")
	ruleDuplicatePage = check.Note.Rule("docs/duplicate-page", "two files for the same page", "")
	ruleFrontMatter   = check.Warning.Rule("docs/front-matter", "invalid front matter", "")
	ruleNotUTF8       = check.Warning.Rule("docs/not-utf8", "bytes that are not UTF-8", "")
	ruleTooLarge      = check.Warning.Rule("docs/too-large", "a document of more than 4 MiB", "")
	ruleInclude       = check.Warning.Rule("docs/include", "an included file that is missing from the folder", "")
	ruleNavigation    = check.Warning.Rule("docs/navigation",
		"an unreadable navigation file; a note for a part that only running it determines", "")
	ruleNavMissing  = check.Warning.Rule("docs/nav-missing", "a missing page in the navigation", "")
	rulePageLeftOut = check.Warning.Rule("docs/page-left-out",
		"a page of an `llms.txt` that cannot be fetched; a note if it is on another host", "")
)

// Rules returns the rules for documents.
func Rules() []check.Rule {
	return []check.Rule{
		ruleBrokenLink,
		ruleBrokenAnchor,
		ruleDuplicateSlug,
		ruleDuplicatePage,
		ruleFrontMatter,
		ruleNotUTF8,
		ruleTooLarge,
		ruleInclude,
		ruleNavigation,
		ruleNavMissing,
		rulePageLeftOut,
	}
}
