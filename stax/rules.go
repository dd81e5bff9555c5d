package stax

import "github.com/slipway-mcp/slipway/check"

// Reading the file.
var (
	ruleSyntax = check.Error.Rule("stax/syntax",
		"a file that cannot be parsed", "fix this first: nothing after it is read")
	ruleScript = check.Error.Rule("stax/script",
		"a script with a value that only running it can determine",
		"write the value out, or generate a .json file with a program")
	ruleSize = check.Error.Rule("stax/size",
		"a file of more than 1 MB", "definitions are small; is this the right file?")
	ruleDuplicateName = check.Error.Rule("stax/duplicate-name",
		"a name that is repeated in one object", "give each its own name, or remove one")
	ruleServers   = check.Error.Rule("stax/servers", "a file without an object `servers`", "")
	ruleNoServers = check.Warning.Rule("stax/no-servers",
		"an empty `servers`", `write "servers": {"name": {"command": "..."}}`)
	ruleSpecVersion = check.Error.Rule("stax/spec-version",
		"a `specVersion` that is not a version, or newer than 1.x", `write "1.0.0"`)
)

// The members of a server.
var (
	ruleName = check.Error.Rule("stax/name",
		"a server name that is empty or has control characters",
		"use letters, digits, - and _, which every client supports")
	ruleKind = check.Error.Rule("stax/kind",
		"a server without exactly one of `command`, and `url` with `transport`", "")
	ruleTransport = check.Error.Rule("stax/transport", "a `transport` other than `http` or `sse`", "")
	ruleType      = check.Error.Rule("stax/type", "a member of the wrong type", "")
	ruleIsolate   = check.Error.Rule("stax/isolate",
		"an `isolate` other than `session` or `principal`, or its process limit not between 1 and 10,000",
		`write "isolate": "session"`)
	ruleWrongKindField = check.Error.Rule("stax/wrong-kind-field",
		"`args`, `env` or `cwd` next to `url`, or `headers` next to `command`", "")
	ruleUnknownField = check.Warning.Rule("stax/unknown-field", "an unknown member, which is kept", "")
	ruleURL          = check.Error.Rule("stax/url",
		"a `url` that is not an absolute http or https URL", "write it whole, as in https://mcp.example.com/mcp")
	rulePlainHttp = check.Warning.Rule("stax/plain-http", "a secret sent over plain http to another machine", "")
	ruleEnvName   = check.Error.Rule("stax/env-name",
		"a variable that no environment can hold", "names have no =, and neither names nor values have a zero byte")
	ruleHeader = check.Error.Rule("stax/header",
		"a header that HTTP cannot carry", "names are letters, digits and -, and values have no line breaks")
	ruleCommand = check.Error.Rule("stax/command",
		"an empty `command`, or a zero byte in it or in an argument",
		`write the name or the path of a program, as in "npx"`)
	ruleShell         = check.Warning.Rule("stax/shell", "a `command` that needs a shell: pipes, redirects, variables", "")
	ruleCommandLine   = check.Warning.Rule("stax/command-line", "a `command` that includes its arguments", "")
	ruleReference     = check.Warning.Rule("stax/reference", "`${NAME}` in a member, where nothing is expanded", "")
	ruleDuplicateItem = check.Warning.Rule("stax/duplicate-item", "a list that repeats an item", "remove one")
	ruleToolsOverlap  = check.Error.Rule("stax/tools-overlap", "a tool that is both enabled and disabled", "")
	ruleNoTools       = check.Warning.Rule("stax/no-tools", "an empty list of enabled tools, which allows none", "")
	ruleDigest        = check.Warning.Rule("stax/digest", "a digest without its algorithm, or of the wrong length", "")
	ruleProvenance    = check.Note.Rule("stax/provenance",
		"where a server came from: digest, package, version, registry", "")
	ruleDisabled = check.Note.Rule("stax/disabled",
		"a disabled server, which is kept but neither started nor configured",
		`"enabled": true starts it, also in a file that is merged on top`)
)

// Secrets.
var (
	RuleSecretLiteral = check.Error.Rule("stax/secret-literal",
		"the value of a secret in `env` or `headers`; elsewhere in a server, a warning", "")
	ruleSecretKey        = check.Error.Rule("stax/secret-key", "a secret key that is not the name of a variable", "")
	ruleSecretShadowed   = check.Error.Rule("stax/secret-shadowed", "a secret that `env` or `headers` also set", "")
	ruleSecretUndeclared = check.Error.Rule("stax/secret-undeclared",
		"a secret of a server that no file declares", "")
	ruleSecretDeclaration = check.Error.Rule("stax/secret-declaration",
		"a declaration without a key, or with a member of the wrong type",
		"letters, digits and _, as in GITHUB_TOKEN")
	ruleSecretKind    = check.Warning.Rule("stax/secret-kind", "an unknown kind of secret", "")
	RuleSecretUnbound = check.Warning.Rule("stax/secret-unbound", "a secret of a remote server without a header", "")
	ruleBinding       = check.Error.Rule("stax/binding",
		"a binding for a local server, or with secrets that its server does not name",
		`bindings are written {"server": {"Header": "Bearer {KEY}"}}, for a secret of that server`)
	ruleSecretsUnknown = check.Note.Rule("stax/secrets-unknown",
		"secrets that cannot be checked because no file declares any", "")
)

// Tools.
var (
	ruleOverride = check.Error.Rule("stax/override",
		"an override of an unknown or disabled tool, or with an invalid name",
		"overrides are written below the name of the server and its own name of the tool")
	ruleToolCollision = check.Error.Rule("stax/tool-collision",
		"two tools of a server shown under the same name", "give one of them another name")
)

// Rules returns all rules for definitions. Packages clients and registry have additional
// ones.
func Rules() []check.Rule {
	return []check.Rule{
		ruleSyntax,
		ruleScript,
		ruleSize,
		ruleDuplicateName,
		ruleServers,
		ruleNoServers,
		ruleSpecVersion,

		ruleName,
		ruleKind,
		ruleTransport,
		ruleType,
		ruleIsolate,
		ruleWrongKindField,
		ruleUnknownField,
		ruleURL,
		rulePlainHttp,
		ruleEnvName,
		ruleHeader,
		ruleCommand,
		ruleShell,
		ruleCommandLine,
		ruleReference,
		ruleDuplicateItem,
		ruleToolsOverlap,
		ruleNoTools,
		ruleDigest,
		ruleProvenance,
		ruleDisabled,

		RuleSecretLiteral,
		ruleSecretKey,
		ruleSecretShadowed,
		ruleSecretUndeclared,
		ruleSecretDeclaration,
		ruleSecretKind,
		RuleSecretUnbound,
		ruleBinding,
		ruleSecretsUnknown,

		ruleOverride,
		ruleToolCollision,
	}
}
