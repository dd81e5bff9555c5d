package stax

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// Reading the file.
var (
	ruleSyntax = rules.Error("stax/syntax",
		"a file that cannot be parsed", "fix this first: nothing after it is read")
	ruleScript = rules.Error("stax/script",
		"a script with a value that only running it can determine",
		"write the value out, or generate a .json file with a program")
	ruleSize = rules.Error("stax/size",
		"a file of more than 1 MB, or a name of more than 1,024 bytes",
		"definitions are small; is this the right file?")
	ruleDuplicateName = rules.Error("stax/duplicate-name",
		"a name that is repeated in one object", "give each its own name, or remove one")
	ruleServers   = rules.Error("stax/servers", "a file without an object `servers`")
	ruleNoServers = rules.Warning("stax/no-servers",
		"an empty `servers`", `write "servers": {"name": {"command": "..."}}`)
	ruleSpecVersion = rules.Error("stax/spec-version",
		"a `specVersion` that is not a version, or newer than 1.x", `write "1.0.0"`)
)

// The members of a server.
var (
	ruleName = rules.Error("stax/name",
		"a server name that is empty or has control characters",
		"use letters, digits, - and _, which every client supports")
	ruleKind = rules.Error("stax/kind",
		"a server without exactly one of `command`, and `url` with `transport`")
	ruleTransport = rules.Error("stax/transport", "a `transport` other than `http` or `sse`")
	ruleType      = rules.Error("stax/type", "a member of the wrong type")
	ruleIsolate   = rules.Error("stax/isolate",
		"an `isolate` other than `session` or `principal`, or its process limit not between 1 and 10,000",
		`write "isolate": "session"`)
	ruleFailover = rules.Error("stax/failover",
		"a `failover` other than `end`, `restart` or `stateless`, or `stateless` next to `isolate`",
		`write "failover": "restart"`)
	ruleAuth = rules.Error("stax/auth",
		"an `auth` with a missing or contradictory setting", `write "auth": {"kind": "oauth"}`)
	ruleAuthIssuer = rules.Warning("stax/auth-issuer",
		"an `auth` with a secret, an assertion or a subject token, but without the `issuer` that gets it",
		`write "issuer": "https://id.example.com"`)
	ruleCallerHeader = rules.Error("stax/caller-header",
		"a header of `callerHeaders` that belongs to HTTP, the protocol or the login, is set twice, or has no value",
		`write "callerHeaders": {"X-User": "subject"}`)
	ruleWrongKindField = rules.Error("stax/wrong-kind-field",
		"`args`, `env` or `cwd` next to `url`, or `headers`, `callerHeaders` or `auth` next to `command`")
	ruleUnknownField = rules.Warning("stax/unknown-field", "an unknown member, which is kept")
	ruleURL          = rules.Error("stax/url",
		"a `url` that is not an absolute http or https URL", "write it whole, as in https://mcp.example.com/mcp")
	rulePlainHttp = rules.Warning("stax/plain-http", "a secret sent over plain http to another machine")
	ruleEnvName   = rules.Error("stax/env-name",
		"a variable that an environment cannot contain", "names have no =, and neither names nor values have a zero byte")
	ruleHeader = rules.Error("stax/header",
		"a header that HTTP cannot carry", "names are letters, digits and -, and values have no line breaks")
	ruleCommand = rules.Error("stax/command",
		"an empty `command`, or a zero byte in it or in an argument",
		`write the name or the path of a program, as in "npx"`)
	ruleShell         = rules.Warning("stax/shell", "a `command` that needs a shell: pipes, redirects, variables")
	ruleCommandLine   = rules.Warning("stax/command-line", "a `command` that includes its arguments")
	ruleReference     = rules.Warning("stax/reference", "`${NAME}` in a member, where nothing is expanded")
	ruleDuplicateItem = rules.Warning("stax/duplicate-item", "a list that repeats an item", "remove one")
	ruleToolsOverlap  = rules.Error("stax/tools-overlap", "a tool that is both enabled and disabled")
	ruleNoTools       = rules.Warning("stax/no-tools", "an empty list of enabled tools, which allows none")
	ruleDigest        = rules.Warning("stax/digest", "a digest without its algorithm, or of the wrong length")
	ruleProvenance    = rules.Note("stax/provenance",
		"where a server came from: digest, package, version, registry")
	ruleDisabled = rules.Note("stax/disabled",
		"a disabled server, which is kept but neither started nor configured",
		`"enabled": true starts it, also in a file that is merged on top`)
)

// Secrets.
var (
	RuleSecretLiteral = rules.Error("stax/secret-literal",
		"the value of a secret in `env` or `headers`; elsewhere in a server, a warning")
	ruleSecretKey        = rules.Error("stax/secret-key", "a secret key that is not the name of a variable")
	ruleSecretShadowed   = rules.Error("stax/secret-shadowed", "a secret that `env` or `headers` also set")
	ruleSecretUndeclared = rules.Error("stax/secret-undeclared",
		"a secret of a server that no file declares")
	ruleSecretDeclaration = rules.Error("stax/secret-declaration",
		"a declaration without a key, or with a member of the wrong type",
		"letters, digits and _, as in GITHUB_TOKEN")
	ruleSecretKind    = rules.Warning("stax/secret-kind", "an unknown kind of secret")
	RuleSecretUnbound = rules.Warning("stax/secret-unbound", "a secret of a remote server without a header")
	ruleBinding       = rules.Error("stax/binding",
		"a binding for a local server, or with secrets that its server does not name",
		`bindings are written {"server": {"Header": "Bearer {KEY}"}}, for a secret of that server`)
	ruleSecretsUnknown = rules.Note("stax/secrets-unknown",
		"secrets that cannot be checked because no file declares any")
)

// Tools.
var (
	ruleOverride = rules.Error("stax/override",
		"an override of an unknown or disabled tool, or with an invalid name",
		"overrides are written below the name of the server and its own name of the tool")
	ruleToolCollision = rules.Error("stax/tool-collision",
		"two tools of a server shown under the same name", "give one of them another name")
)

// Rules returns all rules for definitions. Packages clients and registry have additional
// ones.
func Rules() []check.Rule {
	return rules.All()
}
