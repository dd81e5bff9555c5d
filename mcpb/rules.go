package mcpb

import (
	"slices"

	"github.com/slipway-mcp/slipway/check"
)

// The manifest as a document.
var (
	ruleNoManifest = check.Error.Rule("mcpb/no-manifest", "a packed bundle without manifest.json at its root", "")
	ruleBare       = check.Note.Rule("mcpb/manifest-only",
		"a folder with only a manifest and images; only the manifest is checked", "")
	ruleJSON      = check.Error.Rule("mcpb/json", "text that is not JSON", "")
	ruleBOM       = check.Error.Rule("mcpb/bom", "a file that begins with a byte order mark", "")
	ruleUTF8      = check.Warning.Rule("mcpb/utf-8", "bytes that are not UTF-8, which readers replace", "")
	ruleDuplicate = check.Warning.Rule("mcpb/duplicate-key",
		"an object that repeats a name; the last value counts", "")
	ruleVersion   = check.Error.Rule("mcpb/manifest-version", "a missing or unknown manifest_version", "")
	ruleDXT       = check.Warning.Rule("mcpb/dxt-version", "a version under its old name, dxt_version", "")
	ruleRequired  = check.Error.Rule("mcpb/required", "a missing field", "")
	ruleType      = check.Error.Rule("mcpb/type", "a value of the wrong type", "")
	ruleEnum      = check.Error.Rule("mcpb/enum", "a value that the field does not allow", "")
	ruleUnknown   = check.Error.Rule("mcpb/unknown-field", "a field that no version has", "")
	ruleTooNew    = check.Error.Rule("mcpb/newer-field", "a field that only later versions have", "")
	ruleURL       = check.Error.Rule("mcpb/url", "a URL that the URL standard rejects", "")
	ruleEmail     = check.Error.Rule("mcpb/email", "an invalid e-mail address", "")
	ruleFormat    = check.Error.Rule("mcpb/format", "an invalid icon size, theme, language or path of translations", "")
	ruleReference = check.Warning.Rule("mcpb/reference-refuses",
		"valid by the specification, but rejected by the reference CLI up to 2.1.2", "")
)

// The content of the manifest.
var (
	ruleIdentity = check.Warning.Rule("mcpb/name", "a name that needs quoting in commands, paths or URLs", "")
	ruleSemver   = check.Warning.Rule("mcpb/version", "a version that is not a semantic version", "")
	ruleTwice    = check.Warning.Rule("mcpb/duplicate-name",
		"two tools or prompts with the same name, or one without a name", "")
	ruleRange     = check.Warning.Rule("mcpb/range", "an invalid range of versions", "")
	rulePlatforms = check.Warning.Rule("mcpb/platforms", "an empty list of platforms, or one that repeats a name", "")
	ruleRuntimes  = check.Note.Rule("mcpb/runtimes", "a runtime that a server of that type does not use", "")
	ruleMetaKey   = check.Warning.Rule("mcpb/meta-key", "a key of _meta that is not a reversed domain name", "")
	rulePrivacy   = check.Warning.Rule("mcpb/privacy-policy",
		"a privacy policy over http or listed twice; none although data leaves the machine", "")
	ruleUndeclared = check.Warning.Rule("mcpb/undeclared-option",
		"${user_config.KEY} of an option that is not declared", "")
	ruleUnused   = check.Note.Rule("mcpb/unused-option", "an unused option", "")
	ruleVariable = check.Warning.Rule("mcpb/variable",
		"a ${...} with an unknown name or without its closing brace", "")
	ruleArray       = check.Note.Rule("mcpb/list-in-text", "an option with several values inside a text; hosts differ", "")
	ruleCommandList = check.Error.Rule("mcpb/list-as-command", "an option with several values as the command", "")
	ruleSecretArg   = check.Warning.Rule("mcpb/secret-in-args",
		"a sensitive option among arguments, which other programs can see", "")
	ruleInterpreter = check.Error.Rule("mcpb/option-as-flag",
		"a value that an interpreter would read as one of its own options", "")
	ruleInvisible    = check.Warning.Rule("mcpb/invisible", "characters that are invisible or control a terminal", "")
	ruleSecretOption = check.Warning.Rule("mcpb/secret-default",
		"a sensitive option with a default, which is public", "")
	ruleOption    = check.Warning.Rule("mcpb/option", "fields of an option that contradict each other", "")
	ruleArguments = check.Warning.Rule("mcpb/prompt-argument",
		"a prompt that uses an undeclared argument, or does not use a declared one", "")
	ruleOverride = check.Warning.Rule("mcpb/platform-override",
		"an override that is empty, or for an unknown or undeclared platform", "")
)

// The files of the bundle.
var (
	rulePath       = check.Error.Rule("mcpb/path", "a path that is absolute or outside the bundle", "")
	ruleEntryPoint = check.Error.Rule("mcpb/entry-point",
		"a missing entry point, or one that does not match the type of the server", "")
	ruleCommand    = check.Error.Rule("mcpb/command", "a missing command, or a missing path among the arguments", "")
	ruleExecutable = check.Warning.Rule("mcpb/executable", "a program without the execute bit", "")
	ruleDeveloper  = check.Error.Rule("mcpb/developer-path", "a path that exists only on the author's machine", "")
	ruleFetches    = check.Warning.Rule("mcpb/fetches",
		"a command that downloads the server on each start, such as npx or uvx", "")
	ruleRelative = check.Warning.Rule("mcpb/relative-path",
		"the path of a file in the bundle without ${__dirname}", "")
	ruleUV = check.Error.Rule("mcpb/uv",
		"a server of type uv without pyproject.toml, or with packages that uv installs", "")
	ruleIcon       = check.Error.Rule("mcpb/icon", "an icon that is missing, outside the bundle or not a PNG", "")
	ruleIconRemote = check.Warning.Rule("mcpb/remote-icon", "a remote icon, which not every host fetches", "")
	ruleIcons      = check.Warning.Rule("mcpb/icons",
		"an icon that is missing, not a square PNG, too large, or not of its declared size", "")
	ruleScreenshot   = check.Warning.Rule("mcpb/screenshot", "a screenshot that is missing or not a PNG", "")
	ruleLocalization = check.Warning.Rule("mcpb/localization",
		"translations without a file, or unknown to the manifest", "")
	ruleTranslation = check.Error.Rule("mcpb/translation",
		"a translation that is unreadable, or translates fields that cannot be", "")
	ruleUntranslated = check.Note.Rule("mcpb/untranslated",
		"texts without a translation, and what is shown instead", "")
	ruleBinaryPlatform = check.Error.Rule("mcpb/binary-platform",
		"machine code for a platform that the manifest does not declare", "")
	ruleBinaryCPU    = check.Note.Rule("mcpb/binary-cpu", "a program for one CPU, which a manifest cannot declare", "")
	ruleBinaryPython = check.Warning.Rule("mcpb/binary-python",
		"machine code for other versions of Python than the manifest allows", "")
	ruleImport     = check.Error.Rule("mcpb/import", "code that loads a file or package missing from the bundle", "")
	ruleDependency = check.Error.Rule("mcpb/dependency",
		"a package that package.json or another package needs, missing from the bundle", "")
	ruleWindowsName = check.Error.Rule("mcpb/windows-name",
		"a name that is invalid on Windows, or a path that is too long there", "")
	ruleSecretFile = check.Warning.Rule("mcpb/secret-file", "a file that usually contains passwords or keys", "")
	ruleSecret     = check.Warning.Rule("mcpb/secret", "a text that looks like a password, token or key", "")
)

// Packing.
var (
	rulePackLink    = check.Error.Rule("mcpb/pack-link", "a symbolic link that is broken or leads out of the folder", "")
	ruleDevelopment = check.Note.Rule("mcpb/dev-dependency", "packed packages that only development needs", "")
	ruleIgnored     = check.Warning.Rule("mcpb/pack-ignored",
		"a line of .mcpbignore that also excludes files of installed packages", "")
)

// Archives and signatures.
var (
	ruleDamaged = check.Error.Rule("mcpb/archive-damaged",
		"an archive that is damaged, incomplete or not a zip file", "")
	ruleAmbiguous = check.Error.Rule("mcpb/archive-ambiguous",
		"an archive that different zip readers read differently", "")
	ruleUnsupported = check.Error.Rule("mcpb/archive-unsupported",
		"an archive that is encrypted, split, or compressed with an unsupported method", "")
	ruleName = check.Error.Rule("mcpb/archive-name",
		"a name that leads out of the archive, or has another meaning on some systems", "")
	ruleCollision = check.Error.Rule("mcpb/archive-collision",
		"two entries with the same name, also ignoring case and Unicode form", "")
	ruleLink      = check.Error.Rule("mcpb/archive-link", "an entry that is neither a file nor a folder", "")
	ruleOverlap   = check.Error.Rule("mcpb/archive-overlap", "entries that share bytes", "")
	ruleLimit     = check.Error.Rule("mcpb/archive-limit", "more entries or bytes than allowed", "")
	ruleBomb      = check.Error.Rule("mcpb/archive-bomb", "a small archive that is far too large when unpacked", "")
	ruleSignature = check.Error.Rule("mcpb/signature", "a signed bundle that differs from what was signed", "")
	rulePortable  = check.Warning.Rule("mcpb/archive-portable", "folders that some systems treat as the same", "")
)

// User values and the platform, before the server starts.
var (
	ruleMissing     = check.Error.Rule("mcpb/missing-value", "a required option without a value", "")
	ruleValue       = check.Error.Rule("mcpb/value", "a value that the option does not allow", "")
	ruleValueKey    = check.Error.Rule("mcpb/unknown-option", "a value for an option that does not exist", "")
	ruleHost        = check.Error.Rule("mcpb/platform", "a bundle that does not support this platform", "")
	ruleEmptyOption = check.Warning.Rule("mcpb/empty-option", "an option without a value inside an argument", "")
)

// The cache.
var (
	ruleCacheChanged = check.Warning.Rule("mcpb/cache-changed",
		"an unpacked copy in the cache that was changed; it is replaced before it runs", "")
)

// Differences between the manifest and its running server.
var (
	ruleDriftTool = check.Error.Rule("mcpb/drift-tool",
		"a tool that only the manifest or only the running server has", "")
	ruleDriftPrompt = check.Error.Rule("mcpb/drift-prompt",
		"a prompt that only the manifest or only the running server has", "")
	ruleDriftArgument = check.Error.Rule("mcpb/drift-argument",
		"prompt arguments that differ between the manifest and the server", "")
	ruleDriftStatic = check.Error.Rule("mcpb/drift-static",
		"static_responses that differ from the answers of the server", "")
	ruleDriftStdout      = check.Error.Rule("mcpb/stdout", "text on stdout, which is only for messages", "")
	ruleDriftDescription = check.Warning.Rule("mcpb/drift-description",
		"a description that differs from that of the server", "")
	ruleDriftServer = check.Warning.Rule("mcpb/drift-server",
		"a server version that differs from that of the bundle", "")
	ruleDriftHint = check.Note.Rule("mcpb/tool-hints",
		"a tool without readOnlyHint or destructiveHint, which directories of bundles require", "")
)

// Rules returns all rules in the order of their documentation: the manifest as a document,
// its content, the bundle's files, archives, user values, and differences between a manifest
// and its server.
func Rules() []check.Rule {
	return []check.Rule{
		ruleNoManifest,
		ruleBare,
		ruleJSON,
		ruleBOM,
		ruleUTF8,
		ruleDuplicate,
		ruleVersion,
		ruleDXT,
		ruleRequired,
		ruleType,
		ruleEnum,
		ruleUnknown,
		ruleTooNew,
		ruleURL,
		ruleEmail,
		ruleFormat,
		ruleReference,

		ruleIdentity,
		ruleSemver,
		ruleTwice,
		ruleRange,
		rulePlatforms,
		ruleRuntimes,
		ruleMetaKey,
		rulePrivacy,
		ruleUndeclared,
		ruleUnused,
		ruleVariable,
		ruleArray,
		ruleCommandList,
		ruleSecretArg,
		ruleInterpreter,
		ruleInvisible,
		ruleSecretOption,
		ruleOption,
		ruleArguments,
		ruleOverride,

		rulePath,
		ruleEntryPoint,
		ruleCommand,
		ruleExecutable,
		ruleDeveloper,
		ruleFetches,
		ruleRelative,
		ruleUV,
		ruleIcon,
		ruleIconRemote,
		ruleIcons,
		ruleScreenshot,
		ruleLocalization,
		ruleTranslation,
		ruleUntranslated,
		ruleBinaryPlatform,
		ruleBinaryCPU,
		ruleBinaryPython,
		ruleImport,
		ruleDependency,
		ruleWindowsName,
		ruleSecretFile,
		ruleSecret,

		rulePackLink,
		ruleDevelopment,
		ruleIgnored,

		ruleDamaged,
		ruleAmbiguous,
		ruleUnsupported,
		ruleName,
		ruleCollision,
		ruleLink,
		ruleOverlap,
		ruleLimit,
		ruleBomb,
		ruleSignature,
		rulePortable,

		ruleMissing,
		ruleValue,
		ruleValueKey,
		ruleHost,
		ruleEmptyOption,

		ruleCacheChanged,

		ruleDriftTool,
		ruleDriftPrompt,
		ruleDriftArgument,
		ruleDriftStatic,
		ruleDriftStdout,
		ruleDriftDescription,
		ruleDriftServer,
		ruleDriftHint,
	}
}

// isTolerable reports whether a host can work with a manifest that violates rule.
func isTolerable(rule check.Rule) bool {
	return isOneOf(rule, ruleBOM, ruleUnknown, ruleTooNew, ruleURL, ruleEmail, ruleFormat)
}

// isReferenceRule reports whether the reference CLI reports violations of rule, too.
func isReferenceRule(rule check.Rule) bool {
	return isTolerable(rule) || isOneOf(rule, ruleJSON, ruleVersion, ruleRequired, ruleType, ruleEnum, ruleIcon)
}

func isOneOf(rule check.Rule, rules ...check.Rule) bool { return slices.ContainsFunc(rules, rule.Is) }
