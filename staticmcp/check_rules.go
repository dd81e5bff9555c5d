package staticmcp

import "github.com/slipway-mcp/slipway/check"

// Rule is a rule that a check of a site verifies.
type Rule struct {
	// ID identifies the rule in findings: "staticmcp/" and a slug.
	ID string
	// Severity is the severity of all its findings.
	Severity check.Severity
	// About describes the finding in half a sentence.
	About string
	// Repaired reports whether [Fix] can repair at least some of its findings.
	Repaired bool
}

// Rules returns all rules of a site in reading order: the manifest, the files, their
// contents, the host. The names of tools have their own rules, those of
// [mcp.CheckToolName].
func Rules() []Rule { return append([]Rule(nil), ruleTable[:]...) }

// rule is the index of a rule in the table.
type rule uint8

const (
	ruleManifestMissing rule = iota
	ruleJSON
	ruleBOM
	ruleDuplicateKey
	ruleMemberMissing
	ruleMemberType
	ruleListPlace
	ruleProtocolVersion
	ruleServerVersion
	ruleDuplicate
	ruleURI
	ruleURITemplate
	ruleSchema
	ruleSchemaType
	ruleSchemaNote
	ruleRequiredUnknown
	ruleArgumentOrder
	ruleArgumentAmbiguous

	ruleFileMissing
	ruleNoAnswers
	ruleAnswerMissing
	ruleSearchIndex
	ruleSearchBroken
	ruleSearchOnly
	ruleUnlisted
	ruleUnreachable
	ruleFileName
	ruleLongName
	ruleEmptyName
	ruleCollision
	ruleCase
	ruleReservedName
	ruleWindowsName
	ruleStrayFile
	ruleLargeFolder
	ruleSpecialFile
	ruleUnreadable
	ruleTooLarge
	ruleLargeAnswer

	ruleHTML
	ruleAnswerShape
	ruleContentItem
	ruleContentType
	ruleBase64
	ruleStructuredContent
	ruleStoredError
	ruleParameters
	ruleDisambiguation
	ruleResourceShape
	ruleURIMismatch
	ruleMIMEType
	rulePromptShape
	ruleSecret
	ruleIndexStale
	ruleIndexMissing

	ruleNoJekyll
	ruleNotFoundPage
	ruleHostLimit
	ruleWebNotFound
	ruleWebHeaders
	rulePartial
	ruleReaderPath
	ruleReaderShape
	ruleReaderLoss
	ruleCount
)

var ruleTable = [ruleCount]Rule{
	ruleManifestMissing: {"staticmcp/manifest-missing", check.Error, "there is no `mcp.json` at the root", false},
	ruleJSON:            {"staticmcp/json", check.Error, "a file is not JSON in UTF-8, or empty", false},
	ruleBOM: {"staticmcp/bom", check.Warning,
		"a file begins with a byte order mark, which many JSON parsers refuse", true},
	ruleDuplicateKey: {"staticmcp/duplicate-key", check.Error,
		"an object has a member twice; readers differ in which one counts", false},
	ruleMemberMissing: {"staticmcp/member-missing", check.Error,
		"a member that the standard requires is not there", true},
	ruleMemberType: {"staticmcp/member-type", check.Error, "a member has a type that it must not have", false},
	ruleListPlace: {"staticmcp/list-place", check.Warning,
		"a list or the name is at the top of the manifest instead of in `capabilities` or `serverInfo`", false},
	ruleProtocolVersion: {"staticmcp/protocol-version", check.Error, "`protocolVersion` is not a date", false},
	ruleServerVersion: {"staticmcp/server-version", check.Warning,
		"`serverInfo.version` is not a semantic version", false},
	ruleDuplicate: {"staticmcp/duplicate", check.Error, "two entries of a list have the same name or URI", true},
	ruleURI: {"staticmcp/uri", check.Error,
		"the URI of a resource has no scheme, or leaves nothing to name a file by", false},
	ruleURITemplate: {"staticmcp/uri-template", check.Error, "a resource template is no URI template", false},
	ruleSchema:      {"staticmcp/schema", check.Error, "an `inputSchema` or `outputSchema` is no JSON Schema", false},
	ruleSchemaType:  {"staticmcp/schema-type", check.Error, "the type of a schema is not `object`", false},
	ruleSchemaNote: {"staticmcp/schema-note", check.Note,
		"a part of a schema cannot be checked and is taken as fulfilled", false},
	ruleRequiredUnknown: {"staticmcp/required-unknown", check.Warning,
		"`required` names an argument that `properties` does not have", false},
	ruleArgumentOrder: {"staticmcp/argument-order", check.Warning,
		"`required` and `properties` name the arguments in different orders", true},
	ruleArgumentAmbiguous: {"staticmcp/argument-ambiguous", check.Warning,
		"two optional arguments without a default share their file names", false},

	ruleFileMissing: {"staticmcp/file-missing", check.Error, "a resource or a prompt is listed and has no file", false},
	ruleNoAnswers:   {"staticmcp/no-answers", check.Error, "a tool is listed and has no answers", false},
	ruleAnswerMissing: {"staticmcp/answer-missing", check.Warning,
		"a value that the schema lists, or a combination of such values, has no answer", false},
	ruleSearchIndex: {"staticmcp/search-index", check.Warning,
		"a tool says that it has a search index, and it is not there or cannot be meant", false},
	ruleSearchBroken: {"staticmcp/search-broken", check.Error,
		"a file of a search index is missing, damaged or of another build, so searches fail", false},
	ruleSearchOnly: {"staticmcp/search-only", check.Note,
		"a tool is answered from its search index alone, which other readers do not know", false},
	ruleUnlisted:    {"staticmcp/unlisted", check.Warning, "a file belongs to nothing in the manifest", false},
	ruleUnreachable: {"staticmcp/unreachable", check.Warning, "no call and no URI leads to a file", false},
	ruleFileName: {"staticmcp/file-name", check.Warning,
		"a file or folder has a name that only some readers look for", true},
	ruleLongName: {"staticmcp/long-name", check.Warning,
		"a name over 200 characters, or one that ends in another hash", true},
	ruleEmptyName: {"staticmcp/empty-name", check.Error,
		"a file is called `.json`: a value that encodes to nothing", false},
	ruleCollision: {"staticmcp/collision", check.Error, "two values or URIs have the same file name", false},
	ruleCase:      {"staticmcp/case", check.Warning, "two names differ only in upper and lower case", false},
	ruleReservedName: {"staticmcp/reserved-name", check.Note,
		"an answer is called `index` or `_schema`, which some readers take for a listing", false},
	ruleWindowsName: {"staticmcp/windows-name", check.Warning,
		"a name that Windows keeps for devices, such as `con`", false},
	ruleStrayFile:   {"staticmcp/stray-file", check.Note, "a file in a folder of the site is no `.json` file", false},
	ruleLargeFolder: {"staticmcp/large-folder", check.Note, "a folder has more than 10,000 entries", false},
	ruleSpecialFile: {"staticmcp/special-file", check.Error,
		"a symbolic link leads out of the site or nowhere, or something is no regular file", false},
	ruleUnreadable: {"staticmcp/unreadable", check.Error, "a file or folder cannot be read", false},
	ruleTooLarge:   {"staticmcp/too-large", check.Error, "a file is larger than readers accept", false},
	ruleLargeAnswer: {"staticmcp/large-answer", check.Warning,
		"an answer of more than 1 MB, of which no model can make use", false},

	ruleHTML: {"staticmcp/html", check.Error, "a file is a web page; readers take it for missing", false},
	ruleAnswerShape: {"staticmcp/answer-shape", check.Warning,
		"an answer has no `content`; only some readers make one of it", false},
	ruleContentItem: {"staticmcp/content-item", check.Error, "an item of `content` lacks what its type needs", false},
	ruleContentType: {"staticmcp/content-type", check.Warning,
		"an item of `content` has a type that the protocol does not know", false},
	ruleBase64: {"staticmcp/base64", check.Error, "binary data is not base64", false},
	ruleStructuredContent: {"staticmcp/structured-content", check.Error,
		"`structuredContent` is missing or does not follow the tool's `outputSchema`", false},
	ruleStoredError: {"staticmcp/stored-error", check.Warning, "an answer is a stored error", false},
	ruleParameters: {"staticmcp/parameters", check.Error,
		"an answer says that it is for other arguments than its path", false},
	ruleDisambiguation: {"staticmcp/disambiguation", check.Error,
		"a file stands for several answers, and they are not beside it", false},
	ruleResourceShape: {"staticmcp/resource-shape", check.Warning,
		"the file of a resource is not `{uri, mimeType, text}`", false},
	ruleURIMismatch: {"staticmcp/uri-mismatch", check.Error, "the file of a resource says another URI", false},
	ruleMIMEType: {"staticmcp/mime-type", check.Warning,
		"the file of a resource says another MIME type than the manifest", false},
	rulePromptShape: {"staticmcp/prompt-shape", check.Error,
		"the file of a prompt has no `messages`, or one is no message", false},
	ruleSecret: {"staticmcp/secret", check.Error,
		"a file contains a key, a token, a password or an environment", false},

	ruleIndexStale: {"staticmcp/index-stale", check.Warning,
		"the index in `.staticmcp` says something else than the files", false},
	ruleIndexMissing: {"staticmcp/index-missing", check.Error,
		"a file that the index in `.staticmcp` lists is missing", false},
	ruleNoJekyll: {"staticmcp/nojekyll", check.Warning,
		"names begin with `_` and there is no `.nojekyll`, so GitHub Pages leaves them out", true},
	ruleNotFoundPage: {"staticmcp/not-found-page", check.Warning,
		"the host sends a page with status 200 for what is missing, unless there is a `404.html`", false},
	ruleHostLimit: {"staticmcp/host-limit", check.Warning, "the site is over a limit of its host", false},
	ruleWebNotFound: {"staticmcp/web-not-found", check.Warning,
		"the web host does not answer 404 for what is missing", false},
	ruleWebHeaders: {"staticmcp/web-headers", check.Note,
		"the web host sends no header that lets web pages read the site, or another type than JSON", false},
	rulePartial: {"staticmcp/partial", check.Note,
		"a web host does not list its files, so not all could be looked at", false},
	ruleReaderPath:  {"staticmcp/reader-path", check.Warning, "a reader named with `--for` looks elsewhere", false},
	ruleReaderShape: {"staticmcp/reader-shape", check.Warning, "a reader named with `--for` cannot use a file", false},
	ruleReaderLoss:  {"staticmcp/reader-loss", check.Note, "a reader named with `--for` leaves something out", false},
}
