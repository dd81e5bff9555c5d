package staticmcp

import "github.com/slipway-mcp/slipway/check"

// The manifest.
var (
	ruleManifestMissing = check.Error.Rule("staticmcp/manifest-missing", "no `mcp.json` at the root", "")
	ruleJSON            = check.Error.Rule("staticmcp/json", "a file that is empty or not JSON in UTF-8", "")
	ruleBOM             = check.Warning.Rule("staticmcp/bom",
		"a byte order mark at the start of a file, which many JSON parsers reject", "").WithFix()
	ruleDuplicateKey = check.Error.Rule("staticmcp/duplicate-key",
		"an object that repeats a member; readers differ in which one they use", "")
	ruleMemberMissing = check.Error.Rule("staticmcp/member-missing",
		"a missing member that the standard requires", "").WithFix()
	ruleMemberType = check.Error.Rule("staticmcp/member-type", "a member of the wrong type", "")
	ruleListPlace  = check.Warning.Rule("staticmcp/list-place",
		"a list or the name at the top of the manifest instead of in `capabilities` or `serverInfo`", "")
	ruleProtocolVersion = check.Error.Rule("staticmcp/protocol-version", "a `protocolVersion` that is not a date", "")
	ruleServerVersion   = check.Warning.Rule("staticmcp/server-version",
		"a `serverInfo.version` that is not a semantic version", "")
	ruleDuplicate   = check.Error.Rule("staticmcp/duplicate", "two entries of a list with the same name or URI", "").WithFix()
	ruleURI         = check.Error.Rule("staticmcp/uri", "a resource URI without a scheme, or without a usable file name", "")
	ruleURITemplate = check.Error.Rule("staticmcp/uri-template", "an invalid resource template", "")
	ruleSchema      = check.Error.Rule("staticmcp/schema",
		"an `inputSchema` or `outputSchema` that is not a JSON Schema", "")
	ruleSchemaType = check.Error.Rule("staticmcp/schema-type", "a schema whose type is not `object`", "")
	ruleSchemaNote = check.Note.Rule("staticmcp/schema-note",
		"a part of a schema that cannot be checked and counts as fulfilled", "")
	ruleRequiredUnknown = check.Warning.Rule("staticmcp/required-unknown",
		"a `required` argument that is missing from `properties`", "")
	ruleArgumentOrder = check.Warning.Rule("staticmcp/argument-order",
		"`required` and `properties` with arguments in different orders", "").WithFix()
	ruleArgumentAmbiguous = check.Warning.Rule("staticmcp/argument-ambiguous",
		"two optional arguments without defaults that share file names", "")
)

// The files and their names.
var (
	ruleFileMissing   = check.Error.Rule("staticmcp/file-missing", "a listed resource or prompt without a file", "")
	ruleNoAnswers     = check.Error.Rule("staticmcp/no-answers", "a listed tool without answers", "")
	ruleAnswerMissing = check.Warning.Rule("staticmcp/answer-missing",
		"a value that the schema lists, or a combination of such values, without an answer", "")
	ruleSearchIndex = check.Warning.Rule("staticmcp/search-index",
		"a search index that a tool declares and that is missing or unusable", "")
	ruleSearchBroken = check.Error.Rule("staticmcp/search-broken",
		"a missing, damaged or outdated file of a search index, so that searches fail", "")
	ruleSearchOnly = check.Note.Rule("staticmcp/search-only",
		"a tool with only a search index, which other readers do not support", "")
	ruleUnlisted    = check.Warning.Rule("staticmcp/unlisted", "a file that belongs to no entry of the manifest", "")
	ruleUnreachable = check.Warning.Rule("staticmcp/unreachable", "a file that no call or URI reaches", "")
	ruleFileName    = check.Warning.Rule("staticmcp/file-name",
		"a file or folder name that only some readers try", "").WithFix()
	ruleLongName = check.Warning.Rule("staticmcp/long-name",
		"a name over 200 characters, or with a different hash", "").WithFix()
	ruleEmptyName = check.Error.Rule("staticmcp/empty-name",
		"a file called `.json`: a value that encodes to nothing", "")
	ruleCollision    = check.Error.Rule("staticmcp/collision", "two values or URIs with the same file name", "")
	ruleCase         = check.Warning.Rule("staticmcp/case", "two names that differ only in case", "")
	ruleReservedName = check.Note.Rule("staticmcp/reserved-name",
		"an answer called `index` or `_schema`, which some readers treat as a listing", "")
	ruleWindowsName = check.Warning.Rule("staticmcp/windows-name",
		"a name that Windows reserves for devices, such as `con`", "")
	ruleStrayFile = check.Note.Rule("staticmcp/stray-file",
		"a file in a folder of the site without the extension `.json`", "")
	ruleLargeFolder = check.Note.Rule("staticmcp/large-folder", "a folder with more than 10,000 entries", "")
	ruleSpecialFile = check.Error.Rule("staticmcp/special-file",
		"a symbolic link that is broken or leads out of the site, or a special file", "")
	ruleUnreadable  = check.Error.Rule("staticmcp/unreadable", "an unreadable file or folder", "")
	ruleTooLarge    = check.Error.Rule("staticmcp/too-large", "a file larger than readers accept", "")
	ruleLargeAnswer = check.Warning.Rule("staticmcp/large-answer",
		"an answer of more than 1 MB, too large for any model", "")
)

// The content of files.
var (
	ruleHTML        = check.Error.Rule("staticmcp/html", "a web page instead of JSON; readers treat it as missing", "")
	ruleAnswerShape = check.Warning.Rule("staticmcp/answer-shape",
		"an answer without `content`, which only some readers add", "")
	ruleContentItem = check.Error.Rule("staticmcp/content-item",
		"an item of `content` without the members that its type requires", "")
	ruleContentType = check.Warning.Rule("staticmcp/content-type",
		"an item of `content` with a type unknown to the protocol", "")
	ruleBase64            = check.Error.Rule("staticmcp/base64", "binary data that is not base64", "")
	ruleStructuredContent = check.Error.Rule("staticmcp/structured-content",
		"a missing `structuredContent`, or one that violates the `outputSchema`", "")
	ruleStoredError = check.Warning.Rule("staticmcp/stored-error", "an answer that is a stored error", "")
	ruleParameters  = check.Error.Rule("staticmcp/parameters",
		"an answer that names other arguments than its path", "")
	ruleDisambiguation = check.Error.Rule("staticmcp/disambiguation",
		"a file for several answers that are not next to it", "")
	ruleResourceShape = check.Warning.Rule("staticmcp/resource-shape",
		"a resource file that is not `{uri, mimeType, text}`", "")
	ruleURIMismatch = check.Error.Rule("staticmcp/uri-mismatch", "a resource file that names another URI", "")
	ruleMIMEType    = check.Warning.Rule("staticmcp/mime-type",
		"a resource file with another MIME type than the manifest", "")
	rulePromptShape = check.Error.Rule("staticmcp/prompt-shape",
		"a prompt file without `messages`, or with an invalid message", "")
	ruleSecret = check.Error.Rule("staticmcp/secret", "a key, a token, a password or an environment in a file", "")
)

// The index, and the host.
var (
	ruleIndexStale = check.Warning.Rule("staticmcp/index-stale",
		"an index in `.staticmcp` that differs from the files", "")
	ruleIndexMissing = check.Error.Rule("staticmcp/index-missing",
		"a missing file that the index in `.staticmcp` lists", "")
	ruleNoJekyll = check.Warning.Rule("staticmcp/nojekyll",
		"names that begin with `_` without a `.nojekyll`, so that GitHub Pages omits them", "").WithFix()
	ruleNotFoundPage = check.Warning.Rule("staticmcp/not-found-page",
		"a host that answers missing files with status 200 unless there is a `404.html`", "")
	ruleHostLimit   = check.Warning.Rule("staticmcp/host-limit", "a site over a limit of its host", "")
	ruleWebNotFound = check.Warning.Rule("staticmcp/web-not-found",
		"a web host that does not answer 404 for missing files", "")
	ruleWebHeaders = check.Note.Rule("staticmcp/web-headers",
		"a web host that sends no CORS header, or JSON as another type", "")
	rulePartial = check.Note.Rule("staticmcp/partial",
		"a web host that does not list its files, so that some could not be checked", "")
	ruleReaderPath = check.Warning.Rule("staticmcp/reader-path",
		"a file that a reader named with `--for` does not find", "")
	ruleReaderShape = check.Warning.Rule("staticmcp/reader-shape",
		"a file that a reader named with `--for` cannot use", "")
	ruleReaderLoss = check.Note.Rule("staticmcp/reader-loss", "a part that a reader named with `--for` ignores", "")
)

// Rules returns all rules of a site in reading order: the manifest, the files, their
// contents, the host. The names of tools have their own rules, those of [lint.ToolName].
func Rules() []check.Rule {
	return []check.Rule{
		ruleManifestMissing,
		ruleJSON,
		ruleBOM,
		ruleDuplicateKey,
		ruleMemberMissing,
		ruleMemberType,
		ruleListPlace,
		ruleProtocolVersion,
		ruleServerVersion,
		ruleDuplicate,
		ruleURI,
		ruleURITemplate,
		ruleSchema,
		ruleSchemaType,
		ruleSchemaNote,
		ruleRequiredUnknown,
		ruleArgumentOrder,
		ruleArgumentAmbiguous,

		ruleFileMissing,
		ruleNoAnswers,
		ruleAnswerMissing,
		ruleSearchIndex,
		ruleSearchBroken,
		ruleSearchOnly,
		ruleUnlisted,
		ruleUnreachable,
		ruleFileName,
		ruleLongName,
		ruleEmptyName,
		ruleCollision,
		ruleCase,
		ruleReservedName,
		ruleWindowsName,
		ruleStrayFile,
		ruleLargeFolder,
		ruleSpecialFile,
		ruleUnreadable,
		ruleTooLarge,
		ruleLargeAnswer,

		ruleHTML,
		ruleAnswerShape,
		ruleContentItem,
		ruleContentType,
		ruleBase64,
		ruleStructuredContent,
		ruleStoredError,
		ruleParameters,
		ruleDisambiguation,
		ruleResourceShape,
		ruleURIMismatch,
		ruleMIMEType,
		rulePromptShape,
		ruleSecret,

		ruleIndexStale,
		ruleIndexMissing,
		ruleNoJekyll,
		ruleNotFoundPage,
		ruleHostLimit,
		ruleWebNotFound,
		ruleWebHeaders,
		rulePartial,
		ruleReaderPath,
		ruleReaderShape,
		ruleReaderLoss,
	}
}
