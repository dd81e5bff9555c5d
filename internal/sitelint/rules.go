package sitelint

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The manifest.
var (
	ruleManifestMissing = rules.Error("staticmcp/manifest-missing", "no `mcp.json` at the root")
	ruleJSON            = rules.Error("staticmcp/json", "a file that is empty or not JSON in UTF-8")
	ruleBOM             = rules.Fixable(rules.Warning("staticmcp/bom",
		"a byte order mark at the start of a file, which many JSON parsers reject"))
	ruleDuplicateKey = rules.Error("staticmcp/duplicate-key",
		"an object that repeats a member; readers differ in which one they use")
	ruleMemberMissing = rules.Fixable(rules.Error("staticmcp/member-missing",
		"a missing member that the standard requires"))
	ruleMemberType = rules.Error("staticmcp/member-type", "a member of the wrong type")
	ruleListPlace  = rules.Warning("staticmcp/list-place",
		"a list or the name at the top of the manifest instead of in `capabilities` or `serverInfo`")
	ruleProtocolVersion = rules.Error("staticmcp/protocol-version", "a `protocolVersion` that is not a date")
	ruleServerVersion   = rules.Warning("staticmcp/server-version",
		"a `serverInfo.version` that is not a semantic version")
	ruleGeneratorSyntax = rules.Warning("staticmcp/generator-syntax",
		"a name, title or description with the markup of a documentation generator, such as `{#id}`, `{{ name }}` or `!!!`")
	ruleDescriptionRepeats = rules.Note("staticmcp/description-repeats",
		"a description that only repeats the name or the title")
	ruleDuplicate = rules.Fixable(rules.Error("staticmcp/duplicate",
		"two entries of a list with the same name or URI"))
	ruleURI         = rules.Error("staticmcp/uri", "a resource URI without a scheme, or without a usable file name")
	ruleURITemplate = rules.Error("staticmcp/uri-template", "an invalid resource template")
	ruleSchema      = rules.Error("staticmcp/schema",
		"an `inputSchema` or `outputSchema` that is not a JSON Schema")
	ruleSchemaType = rules.Error("staticmcp/schema-type", "a schema whose type is not `object`")
	ruleSchemaNote = rules.Note("staticmcp/schema-note",
		"a part of a schema that cannot be checked and counts as fulfilled")
	ruleRequiredUnknown = rules.Warning("staticmcp/required-unknown",
		"a `required` argument that is missing from `properties`")
	ruleArgumentOrder = rules.Fixable(rules.Warning("staticmcp/argument-order",
		"`required` and `properties` with arguments in different orders"))
	ruleArgumentAmbiguous = rules.Warning("staticmcp/argument-ambiguous",
		"two optional arguments without defaults that share file names")
)

// The files and their names.
var (
	ruleFileMissing   = rules.Error("staticmcp/file-missing", "a listed resource or prompt without a file")
	ruleNoAnswers     = rules.Error("staticmcp/no-answers", "a listed tool without answers")
	ruleAnswerMissing = rules.Warning("staticmcp/answer-missing",
		"a value that the schema lists, or a combination of such values, without an answer")
	ruleSearchIndex = rules.Warning("staticmcp/search-index",
		"a search index that a tool declares and that is missing or unusable")
	ruleSearchBroken = rules.Error("staticmcp/search-broken",
		"a missing, damaged or outdated file of a search index, so that searches fail")
	ruleSearchOnly = rules.Note("staticmcp/search-only",
		"a tool with only a search index, which other readers do not support")
	ruleUnlisted    = rules.Warning("staticmcp/unlisted", "a file that belongs to no entry of the manifest")
	ruleUnreachable = rules.Warning("staticmcp/unreachable", "a file that no call or URI reaches")
	ruleFileName    = rules.Fixable(rules.Warning("staticmcp/file-name",
		"a file or folder name that only some readers try"))
	ruleLongName = rules.Fixable(rules.Warning("staticmcp/long-name",
		"a name over 200 characters, or with a different hash"))
	ruleEmptyName = rules.Error("staticmcp/empty-name",
		"a file called `.json`: a value that encodes to nothing")
	ruleCollision    = rules.Error("staticmcp/collision", "two values or URIs with the same file name")
	ruleCase         = rules.Warning("staticmcp/case", "two names that differ only in case")
	ruleReservedName = rules.Note("staticmcp/reserved-name",
		"an answer called `index` or `_schema`, which some readers treat as a listing")
	ruleWindowsName = rules.Warning("staticmcp/windows-name",
		"a name that Windows reserves for devices, such as `con`")
	ruleStrayFile = rules.Note("staticmcp/stray-file",
		"a file in a folder of the site without the extension `.json`")
	ruleLargeFolder = rules.Note("staticmcp/large-folder", "a folder with more than 10,000 entries")
	ruleSpecialFile = rules.Error("staticmcp/special-file",
		"a symbolic link that is broken or points outside the site, or a special file")
	ruleUnreadable  = rules.Error("staticmcp/unreadable", "an unreadable file or folder")
	ruleTooLarge    = rules.Error("staticmcp/too-large", "a file larger than readers accept")
	ruleLargeAnswer = rules.Warning("staticmcp/large-answer",
		"an answer of more than 1 MB, too large for any model")
)

// The content of files.
var (
	ruleHTML        = rules.Error("staticmcp/html", "a web page instead of JSON; readers treat it as missing")
	ruleAnswerShape = rules.Warning("staticmcp/answer-shape",
		"an answer without `content`, which only some readers add")
	ruleContentItem = rules.Error("staticmcp/content-item",
		"an item of `content` without the members that its type requires")
	ruleContentType = rules.Warning("staticmcp/content-type",
		"an item of `content` with a type unknown to the protocol")
	ruleBase64            = rules.Error("staticmcp/base64", "binary data that is not base64")
	ruleStructuredContent = rules.Error("staticmcp/structured-content",
		"a missing `structuredContent`, or one that violates the `outputSchema`")
	ruleStoredError = rules.Warning("staticmcp/stored-error", "an answer that is a stored error")
	ruleParameters  = rules.Error("staticmcp/parameters",
		"an answer that names other arguments than its path")
	ruleDisambiguation = rules.Error("staticmcp/disambiguation",
		"a file for several answers that are not next to it")
	ruleResourceShape = rules.Warning("staticmcp/resource-shape",
		"a resource file that is not `{uri, mimeType, text}`")
	ruleURIMismatch = rules.Error("staticmcp/uri-mismatch", "a resource file that names another URI")
	ruleMIMEType    = rules.Warning("staticmcp/mime-type",
		"a resource file with another MIME type than the manifest")
	rulePromptShape = rules.Error("staticmcp/prompt-shape",
		"a prompt file without `messages`, or with an invalid message")
	ruleSecret = rules.Error("staticmcp/secret", "a key, a token, a password or an environment in a file")
)

// The index, and the host.
var (
	ruleIndexStale = rules.Warning("staticmcp/index-stale",
		"an index in `.staticmcp` that differs from the files")
	ruleIndexMissing = rules.Error("staticmcp/index-missing",
		"a missing file that the index in `.staticmcp` lists")
	rulePack = rules.Error("staticmcp/pack",
		"a pack of answers that is missing or broken, or an answer in the wrong pack")
	ruleNoJekyll = rules.Fixable(rules.Warning("staticmcp/nojekyll",
		"names that begin with `_` without a `.nojekyll`, so that GitHub Pages omits them"))
	ruleNotFoundPage = rules.Warning("staticmcp/not-found-page",
		"a host that answers missing files with status 200 unless there is a `404.html`")
	ruleHostLimit   = rules.Warning("staticmcp/host-limit", "a site over a limit of its host")
	ruleWebNotFound = rules.Warning("staticmcp/web-not-found",
		"a web host that does not answer 404 for missing files")
	ruleWebHeaders = rules.Note("staticmcp/web-headers",
		"a web host that sends no CORS header, or JSON as another type")
	rulePartial = rules.Note("staticmcp/partial",
		"a web host that does not list its files, so that some could not be checked")
	ruleReaderPath = rules.Warning("staticmcp/reader-path",
		"a file that a reader named with `--for` does not find")
	ruleReaderShape = rules.Warning("staticmcp/reader-shape",
		"a file that a reader named with `--for` cannot use")
	ruleReaderLoss = rules.Note("staticmcp/reader-loss", "a part that a reader named with `--for` ignores")
)

// Rules returns all rules of a site in reading order: the manifest, the files, their
// contents, the host. The names of tools have their own rules.
func Rules() []check.Rule {
	return rules.All()
}
