package docs

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules.
var (
	ruleBrokenLink = rules.Warning("docs/broken-link",
		"a link or picture without a target; a note if the target may be outside the folder")
	ruleBrokenAnchor  = rules.Warning("docs/broken-anchor", "a link to a heading that the page does not have")
	ruleDuplicateSlug = rules.Warning("docs/duplicate-slug", "an id that a page gives to two headings")
	ruleDuplicatePage = rules.Note("docs/duplicate-page", "two files for the same page")
	ruleFrontMatter   = rules.Warning("docs/front-matter", "invalid front matter")
	ruleNotUTF8       = rules.Warning("docs/not-utf8",
		"bytes that are neither UTF-8 nor in the encoding that the page declares")
	ruleUnreadable = rules.Warning("docs/unreadable",
		"an HTML page, a notebook, a Word document or PDF that cannot be read, or a name that is not UTF-8")
	ruleUnrendered = rules.Note("docs/unrendered", "documents in reStructuredText or AsciiDoc beside others")
	ruleSymlink    = rules.Note("docs/symlink", "a document or a folder that is a symbolic link")
	ruleTooLarge   = rules.Warning("docs/too-large",
		"a document of more than 4 MiB, or a notebook, Word document or PDF of more than 64 MiB")
	ruleInclude     = rules.Warning("docs/include", "an included file that is missing from the folder")
	ruleStatement   = rules.Warning("docs/statement", "an import or export of MDX without an end, which is kept as text")
	ruleUnpublished = rules.Warning("docs/unpublished",
		"a setting that keeps pages unpublished and cannot be applied, and the pages omitted because of it")
	rulePlugin     = rules.Warning("docs/plugin", "text that a plugin of MkDocs writes, which is missing")
	ruleNavigation = rules.Warning("docs/navigation",
		"an unreadable navigation file; a note for a part that only running it determines")
	ruleVariant     = rules.Warning("docs/variant", "a version or language without documents")
	rulePin         = rules.Warning("docs/pin", "a page that searches put first and that does not exist")
	ruleNavMissing  = rules.Warning("docs/nav-missing", "a missing page in the navigation")
	rulePageLeftOut = rules.Warning("docs/page-left-out",
		"a page of a website or an `llms.txt` that cannot be fetched; a note if it is on another host")
	rulePageUnavailable = rules.Error("docs/page-unavailable",
		"a page or sitemap that its host fails to deliver, so that the site would be built without")
)

// Rules returns the rules for documents.
func Rules() []check.Rule {
	return rules.All()
}
