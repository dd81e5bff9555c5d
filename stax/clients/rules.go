package clients

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// What a client can represent.
var (
	ruleLossy = rules.Warning("stax/lossy",
		"a member without an equivalent in the client",
		"--via auto sends the server through the launcher, which keeps it")
	ruleClientName = rules.Warning("stax/client-name",
		"a name that the client does not support; the server is omitted",
		"give the server another name, of letters, digits, - and _")
	ruleClientTransport = rules.Warning("stax/client-transport",
		"a transport that the client does not support; the server is omitted",
		"--via auto sends it through the launcher, which can")
	ruleWouldExpand = rules.Warning("stax/would-expand",
		"a literal that the client would expand as a reference",
		"--via auto sends the server through the launcher, which expands nothing")
	ruleSecretNoReference = rules.Warning("stax/secret-no-reference",
		"a secret that the client can only store, not refer to",
		"--via auto sends the server through the launcher, which gives it the secret")
	ruleLogin = rules.Warning("stax/client-login",
		"a login, or a setting of it, that the client cannot make",
		"--via auto sends the server through the launcher, which logs in")
	ruleNotWritten = rules.Note("stax/not-written",
		"a member without an equivalent that only describes, or that only Slipway applies",
		"no action needed: it does not change what the server does")
	ruleViaLauncher = rules.Note("stax/via-launcher",
		"a server that the client starts through the launcher", "--via direct writes what the client can say itself")
	ruleNotPortable = rules.Note("stax/not-portable",
		"a project file that names a folder of this machine",
		"keep the file in the project, or do not commit the entry")
	RuleNotImported = rules.Warning("stax/not-imported",
		"a part of a client file without an equivalent in a definition")
	ruleCommandNotFound = rules.Warning("stax/command-not-found",
		"a command that is not on the `PATH` of this machine", "install it, or write its whole path")
)

// Rules returns the rules about what a client can represent.
func Rules() []check.Rule {
	return rules.All()
}
