package mcpb

import (
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

var rules check.RuleSet

// The manifest as a document.
var (
	ruleNoManifest = rules.Error("mcpb/no-manifest", "a packed bundle without manifest.json at its root")
	ruleBare       = rules.Note("mcpb/manifest-only",
		"a folder with only a manifest and images; only the manifest is checked")
	ruleJSON      = rules.Error("mcpb/json", "text that is not JSON")
	ruleBOM       = rules.Error("mcpb/bom", "a file that begins with a byte order mark")
	ruleUTF8      = rules.Warning("mcpb/utf-8", "bytes that are not UTF-8, which readers replace")
	ruleDuplicate = rules.Warning("mcpb/duplicate-key",
		"an object that repeats a name; the last value counts")
	ruleVersion   = rules.Error("mcpb/manifest-version", "a missing or unknown manifest_version")
	ruleDXT       = rules.Warning("mcpb/dxt-version", "a version under its old name, dxt_version")
	ruleRequired  = rules.Error("mcpb/required", "a missing field")
	ruleType      = rules.Error("mcpb/type", "a value of the wrong type")
	ruleEnum      = rules.Error("mcpb/enum", "a value that the field does not allow")
	ruleUnknown   = rules.Error("mcpb/unknown-field", "a field that no version has")
	ruleTooNew    = rules.Error("mcpb/newer-field", "a field that only later versions have")
	ruleURL       = rules.Error("mcpb/url", "a URL that the URL standard rejects")
	ruleEmail     = rules.Error("mcpb/email", "an invalid e-mail address")
	ruleFormat    = rules.Error("mcpb/format", "an invalid icon size, theme, language or path of translations")
	ruleReference = rules.Warning("mcpb/reference-refuses",
		"valid by the specification, but rejected by the reference CLI up to 2.1.2")
)

// The content of the manifest.
var (
	ruleIdentity = rules.Warning("mcpb/name", "a name that needs quoting in commands, paths or URLs")
	ruleSemver   = rules.Warning("mcpb/version", "a version that is not a semantic version")
	ruleTwice    = rules.Warning("mcpb/duplicate-name",
		"two tools or prompts with the same name, or one without a name")
	ruleRange     = rules.Warning("mcpb/range", "an invalid range of versions")
	rulePlatforms = rules.Warning("mcpb/platforms", "an empty list of platforms, or one that repeats a name")
	ruleRuntimes  = rules.Note("mcpb/runtimes", "a runtime that a server of that type does not use")
	ruleMetaKey   = rules.Warning("mcpb/meta-key", "a key of _meta that is not a reversed domain name")
	rulePrivacy   = rules.Warning("mcpb/privacy-policy",
		"a privacy policy over http or listed twice; none although data leaves the machine")
	ruleUndeclared = rules.Warning("mcpb/undeclared-option",
		"${user_config.KEY} of an option that is not declared")
	ruleUnused   = rules.Note("mcpb/unused-option", "an unused option")
	ruleVariable = rules.Warning("mcpb/variable",
		"a ${...} with an unknown name or without its closing brace")
	ruleArray       = rules.Note("mcpb/list-in-text", "an option with several values inside a text; hosts differ")
	ruleCommandList = rules.Error("mcpb/list-as-command", "an option with several values as the command")
	ruleSecretArg   = rules.Warning("mcpb/secret-in-args",
		"a sensitive option among arguments, which other programs can see")
	ruleInterpreter = rules.Error("mcpb/option-as-flag",
		"a value that an interpreter would read as one of its own options")
	ruleInvisible    = rules.Warning("mcpb/invisible", "characters that are invisible or control a terminal")
	ruleSecretOption = rules.Warning("mcpb/secret-default",
		"a sensitive option with a default, which is public")
	ruleOption    = rules.Warning("mcpb/option", "fields of an option that contradict each other")
	ruleArguments = rules.Warning("mcpb/prompt-argument",
		"a prompt that uses an undeclared argument, or does not use a declared one")
	ruleOverride = rules.Warning("mcpb/platform-override",
		"an override that is empty, or for an unknown or undeclared platform")
)

// The files of the bundle.
var (
	rulePath       = rules.Error("mcpb/path", "a path that is absolute or outside the bundle")
	ruleEntryPoint = rules.Error("mcpb/entry-point",
		"a missing entry point, or one that does not match the type of the server")
	ruleCommand    = rules.Error("mcpb/command", "a missing command, or a missing path among the arguments")
	ruleExecutable = rules.Warning("mcpb/executable", "a program without the execute bit")
	ruleDeveloper  = rules.Error("mcpb/developer-path", "a path that exists only on the author's machine")
	ruleFetches    = rules.Warning("mcpb/fetches",
		"a command that downloads the server on each start, such as npx or uvx")
	ruleRelative = rules.Warning("mcpb/relative-path",
		"the path of a file in the bundle without ${__dirname}")
	ruleUV = rules.Error("mcpb/uv",
		"a server of type uv without pyproject.toml, or with packages that uv installs")
	ruleIcon       = rules.Error("mcpb/icon", "an icon that is missing, outside the bundle or not a PNG")
	ruleIconRemote = rules.Warning("mcpb/remote-icon", "a remote icon, which not every host fetches")
	ruleIcons      = rules.Warning("mcpb/icons",
		"an icon that is missing, not a square PNG, too large, or not of its declared size")
	ruleScreenshot   = rules.Warning("mcpb/screenshot", "a screenshot that is missing or not a PNG")
	ruleLocalization = rules.Warning("mcpb/localization",
		"translations without a file, or unknown to the manifest")
	ruleTranslation = rules.Error("mcpb/translation",
		"a translation that is unreadable, or translates fields that cannot be")
	ruleUntranslated = rules.Note("mcpb/untranslated",
		"texts without a translation, and what is shown instead")
	ruleBinaryPlatform = rules.Error("mcpb/binary-platform",
		"machine code for a platform that the manifest does not declare")
	ruleBinaryCPU    = rules.Note("mcpb/binary-cpu", "a program for one CPU, which a manifest cannot declare")
	ruleBinaryPython = rules.Warning("mcpb/binary-python",
		"machine code for other versions of Python than the manifest allows")
	ruleImport     = rules.Error("mcpb/import", "code that loads a file or package missing from the bundle")
	ruleDependency = rules.Error("mcpb/dependency",
		"a package that package.json or another package needs, missing from the bundle")
	ruleWindowsName = rules.Error("mcpb/windows-name",
		"a name that is invalid on Windows, or a path that is too long there")
	ruleSecretFile = rules.Warning("mcpb/secret-file", "a file that usually contains passwords or keys")
	ruleSecret     = rules.Warning("mcpb/secret", "a text that looks like a password, token or key")
)

// Packing.
var (
	rulePackLink    = rules.Error("mcpb/pack-link", "a symbolic link that is broken or points outside the folder")
	ruleDevelopment = rules.Note("mcpb/dev-dependency", "packed packages that only development needs")
	ruleIgnored     = rules.Warning("mcpb/pack-ignored",
		"a line of .mcpbignore that also excludes files of installed packages")
)

// User values and the platform, before the server starts.
var (
	ruleMissing     = rules.Error("mcpb/missing-value", "a required option without a value")
	ruleValue       = rules.Error("mcpb/value", "a value that the option does not allow")
	ruleValueKey    = rules.Error("mcpb/unknown-option", "a value for an option that does not exist")
	ruleHost        = rules.Error("mcpb/platform", "a bundle that does not support this platform")
	ruleEmptyOption = rules.Warning("mcpb/empty-option", "an option without a value inside an argument")
)

// The cache.
var (
	ruleCacheChanged = rules.Warning("mcpb/cache-changed",
		"an unpacked copy in the cache that was changed; it is replaced before it runs")
)

// Differences between the manifest and its running server.
var (
	ruleDriftTool = rules.Error("mcpb/drift-tool",
		"a tool that only the manifest or only the running server has")
	ruleDriftPrompt = rules.Error("mcpb/drift-prompt",
		"a prompt that only the manifest or only the running server has")
	ruleDriftArgument = rules.Error("mcpb/drift-argument",
		"prompt arguments that differ between the manifest and the server")
	ruleDriftStatic = rules.Error("mcpb/drift-static",
		"static_responses that differ from the answers of the server")
	ruleDriftStdout      = rules.Error("mcpb/stdout", "text on stdout, which is only for messages")
	ruleDriftDescription = rules.Warning("mcpb/drift-description",
		"a description that differs from that of the server")
	ruleDriftServer = rules.Warning("mcpb/drift-server",
		"a server version that differs from that of the bundle")
	ruleDriftHint = rules.Note("mcpb/tool-hints",
		"a tool without readOnlyHint or destructiveHint, which directories of bundles require")
)

// Rules returns all rules in the order of their documentation: the manifest as a document,
// its content, the bundle's files, user values, differences between a manifest and its
// server, and archives.
func Rules() []check.Rule { return append(rules.All(), zip.Rules()...) }

// isTolerable reports whether a host can work with a manifest that violates rule.
func isTolerable(rule check.Rule) bool {
	return isOneOf(rule, ruleBOM, ruleUnknown, ruleTooNew, ruleURL, ruleEmail, ruleFormat)
}

// isReferenceRule reports whether the reference CLI reports violations of rule, too.
func isReferenceRule(rule check.Rule) bool {
	return isTolerable(rule) ||
		isOneOf(rule, ruleJSON, ruleVersion, ruleRequired, ruleType, ruleEnum, ruleIcon)
}

// isOneOf reports whether rule is in a list of rules.
func isOneOf(rule check.Rule, rules ...check.Rule) bool {
	return slices.ContainsFunc(rules, rule.Is)
}
