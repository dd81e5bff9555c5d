package mcpb

import "github.com/slipway-mcp/slipway/check"

// Rule is a rule of [Check], [OpenArchive] or another function.
type Rule struct {
	ID       string         // as in the findings
	Severity check.Severity // the highest that it reports
	About    string         // the problem, on one line
}

// The rules for the manifest as a document.
const (
	ruleBare       = "mcpb/manifest-only"
	rulePackLink   = "mcpb/pack-link"
	ruleNoManifest = "mcpb/no-manifest"
	ruleJSON       = "mcpb/json"
	ruleBOM        = "mcpb/bom"
	ruleUTF8       = "mcpb/utf-8"
	ruleDuplicate  = "mcpb/duplicate-key"
	ruleVersion    = "mcpb/manifest-version"
	ruleDXT        = "mcpb/dxt-version"
	ruleRequired   = "mcpb/required"
	ruleType       = "mcpb/type"
	ruleEnum       = "mcpb/enum"
	ruleUnknown    = "mcpb/unknown-field"
	ruleTooNew     = "mcpb/newer-field"
	ruleURL        = "mcpb/url"
	ruleEmail      = "mcpb/email"
	ruleFormat     = "mcpb/format"
	ruleReference  = "mcpb/reference-refuses"
)

// tolerable reports whether a host can work with a manifest that violates rule.
func tolerable(rule string) bool {
	switch rule {
	case ruleBOM, ruleUnknown, ruleTooNew, ruleURL, ruleEmail, ruleFormat:
		return true
	}
	return false
}

// referenceRules returns the rules whose errors the reference CLI reports, too.
func referenceRules() []string {
	return []string{
		ruleJSON,
		ruleBOM,
		ruleVersion,
		ruleRequired,
		ruleType,
		ruleEnum,
		ruleUnknown,
		ruleTooNew,
		ruleURL,
		ruleEmail,
		ruleFormat,
		ruleIcon,
	}
}

// Rules returns all rules in the order of their documentation: problems of a manifest as
// a document, of its content, of a bundle's files, of archives, of user values, and
// differences between a manifest and its server.
func Rules() []Rule {
	return []Rule{
		{ruleNoManifest, check.Error, "a packed bundle has no manifest.json at its root"},
		{ruleBare, check.Note, "a folder with nothing but a manifest and pictures, of which only the manifest is checked"},
		{ruleJSON, check.Error, "the text is not JSON"},
		{ruleBOM, check.Error, "the file begins with a byte order mark"},
		{ruleUTF8, check.Warning, "bytes that are not UTF-8, which readers replace"},
		{ruleDuplicate, check.Warning, "an object has a name twice; the last one counts"},
		{ruleVersion, check.Error, "manifest_version is missing or names no version"},
		{ruleDXT, check.Warning, "the version stands under its old name dxt_version"},
		{ruleRequired, check.Error, "a field is missing"},
		{ruleType, check.Error, "a value is of another type than the field"},
		{ruleEnum, check.Error, "a value is none of those that the field allows"},
		{ruleUnknown, check.Error, "no version has a field of that name"},
		{ruleTooNew, check.Error, "only later versions have the field"},
		{ruleURL, check.Error, "a URL that the URL standard refuses"},
		{ruleEmail, check.Error, "an e-mail address that is none"},
		{ruleFormat, check.Error, "an icon size, theme, path of translations or language that is none"},
		{ruleReference, check.Warning, "the specification allows it, and the reference CLI up to 2.1.2 refuses it"},

		{ruleIdentity, check.Warning, "a name that commands, paths and URLs cannot hold"},
		{ruleSemver, check.Warning, "a version that is not a semantic version"},
		{ruleTwice, check.Warning, "two tools or prompts of one name, or one without a name"},
		{ruleRange, check.Warning, "a range of versions that nobody can read"},
		{rulePlatforms, check.Warning, "an empty list of platforms, or one with a name twice"},
		{ruleRuntimes, check.Note, "a runtime that a server of that type does not use"},
		{ruleMetaKey, check.Warning, "a key of _meta that is not a reversed domain name"},
		{rulePrivacy, check.Warning, "a privacy policy over http or named twice; none where data leaves the machine"},
		{ruleUndeclared, check.Warning, "${user_config.KEY} of an option that is not declared"},
		{ruleUnused, check.Note, "an option that nothing uses"},
		{ruleVariable, check.Warning, "a ${...} of an unknown name, or without an end"},
		{ruleArray, check.Note, "an option with several values inside a text, where hosts differ"},
		{ruleCommandList, check.Error, "an option with several values as the command"},
		{ruleSecretArg, check.Warning, "a sensitive option among arguments, which other programs can see"},
		{ruleInterpreter, check.Error, "a value that an interpreter would take for one of its own options"},
		{ruleInvisible, check.Warning, "characters that people cannot see, or that a terminal acts on"},
		{ruleSecretOption, check.Warning, "a sensitive option with a default that everybody can read"},
		{ruleOption, check.Warning, "fields of an option that contradict each other"},
		{ruleArguments, check.Warning, "a prompt names an argument that it does not have, or has one it does not use"},
		{ruleOverride, check.Warning, "an override for a platform that is unknown or not declared, or an empty one"},

		{rulePath, check.Error, "a path that leads out of the bundle, or is absolute"},
		{ruleEntryPoint, check.Error, "the entry point is not there, or is of another kind than the server"},
		{ruleCommand, check.Error, "a command, or a path among the arguments, is not there"},
		{ruleExecutable, check.Warning, "a program without the execute bit"},
		{ruleDeveloper, check.Error, "a path that exists on the machine of the author only"},
		{ruleFetches, check.Warning, "a command that downloads the server each time, as npx and uvx do"},
		{ruleRelative, check.Warning, "the path of a file of the bundle that does not begin with ${__dirname}"},
		{ruleUV, check.Error, "a server of type uv without pyproject.toml, or with what uv would install"},
		{ruleIcon, check.Error, "the icon is not there, no PNG, or outside of the bundle"},
		{ruleIconRemote, check.Warning, "the icon is on the web, where not every host fetches it"},
		{ruleIcons, check.Warning, "an icon is not there, no PNG, not square, too large, or of another size than it says"},
		{ruleScreenshot, check.Warning, "a screenshot is not there or no PNG"},
		{ruleLocalization, check.Warning, "translations that no file has, or that the manifest does not mention"},
		{ruleTranslation, check.Error, "a translation that cannot be read, or holds what is not translated"},
		{ruleUntranslated, check.Note, "texts that a translation leaves out, and what is shown instead"},
		{ruleBinaryPlatform, check.Error, "machine code for another system than the manifest says"},
		{ruleBinaryCPU, check.Note, "a program for one CPU, which a manifest cannot say"},
		{ruleBinaryPython, check.Warning, "machine code for other versions of Python than the manifest allows"},
		{ruleImport, check.Error, "code loads a file or a package that is not in the bundle"},
		{ruleDependency, check.Error, "package.json or a package needs another package that is not in the bundle"},
		{ruleWindowsName, check.Error, "a name that Windows cannot hold, or a path that is too long there"},
		{ruleSecretFile, check.Warning, "a file in which passwords or keys usually are"},
		{ruleSecret, check.Warning, "a text that looks like a password, token or key"},

		{rulePackLink, check.Error, "a symbolic link that leads out of the folder, or nowhere"},
		{ruleDevelopment, check.Note, "packages are packed that only development needs"},
		{ruleIgnored, check.Warning, "a line of .mcpbignore also leaves out files of installed packages"},

		{"mcpb/archive-damaged", check.Error, "the archive is no zip, or not all of one"},
		{"mcpb/archive-ambiguous", check.Error, "readers of zip files would see different things"},
		{"mcpb/archive-unsupported", check.Error, "the archive is encrypted, split, or packed in another way"},
		{"mcpb/archive-name", check.Error, "a name that leads out of the archive, or means something else elsewhere"},
		{"mcpb/archive-collision", check.Error, "two entries for one place, also where case or Unicode form does not count"},
		{"mcpb/archive-link", check.Error, "an entry that is neither a file nor a folder"},
		{"mcpb/archive-overlap", check.Error, "files that share bytes"},
		{"mcpb/archive-limit", check.Error, "more entries or bytes than allowed"},
		{"mcpb/archive-bomb", check.Error, "small, and far too large when unpacked"},
		{ruleSignature, check.Error, "a signed bundle is not what was signed"},
		{"mcpb/archive-portable", check.Warning, "folders that some systems take for one"},

		{ruleMissing, check.Error, "a required option has no value"},
		{ruleValue, check.Error, "a value that the option does not allow"},
		{ruleValueKey, check.Error, "a value for an option that does not exist"},
		{ruleHost, check.Error, "the bundle is not for this platform"},
		{ruleEmptyOption, check.Warning, "an option without a value inside an argument"},

		{ruleCacheChanged, check.Warning, "an unpacked copy in the cache that was changed, and is replaced before it runs"},

		{ruleDriftTool, check.Error, "a tool that only the manifest, or only the running server has"},
		{ruleDriftPrompt, check.Error, "a prompt that only the manifest, or only the running server has"},
		{ruleDriftArgument, check.Error, "arguments of a prompt that the server does not take, or others"},
		{ruleDriftStatic, check.Error, "static_responses that the server does not give"},
		{ruleDriftStdout, check.Error, "text on stdout, where a server writes messages and nothing else"},
		{ruleDriftDescription, check.Warning, "a description that differs from that of the server"},
		{ruleDriftServer, check.Warning, "a version of the server that is not that of the bundle"},
		{ruleDriftHint, check.Note, "a tool that does not say whether it changes anything, as directories of bundles ask"},
	}
}
