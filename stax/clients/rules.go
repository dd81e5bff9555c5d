package clients

import "github.com/slipway-mcp/slipway/check"

// What a client can represent.
var (
	ruleLossy = check.Warning.Rule("stax/lossy",
		"a member without an equivalent in the client",
		"--via auto sends the server through the launcher, which keeps it")
	ruleClientName = check.Warning.Rule("stax/client-name",
		"a name that the client does not support; the server is omitted",
		"give the server another name, of letters, digits, - and _")
	ruleClientTransport = check.Warning.Rule("stax/client-transport",
		"a transport that the client does not support; the server is omitted",
		"--via auto sends it through the launcher, which can")
	ruleWouldExpand = check.Warning.Rule("stax/would-expand",
		"a literal that the client would expand as a reference",
		"--via auto sends the server through the launcher, which expands nothing")
	ruleSecretNoReference = check.Warning.Rule("stax/secret-no-reference",
		"a secret that the client can only store, not refer to",
		"--via auto sends the server through the launcher, which gives it the secret")
	ruleNotWritten = check.Note.Rule("stax/not-written",
		"a member without an equivalent that only describes, or that only Slipway applies",
		"nothing is to be done: it describes, and changes nothing")
	ruleViaLauncher = check.Note.Rule("stax/via-launcher",
		"a server that the client starts through the launcher", "--via direct writes what the client can say itself")
	ruleNotPortable = check.Note.Rule("stax/not-portable",
		"a project file that names a folder of this machine",
		"keep the file in the project, or do not commit the entry")
	RuleNotImported = check.Warning.Rule("stax/not-imported",
		"a part of a client file without an equivalent in a definition", "")
	ruleCommandNotFound = check.Warning.Rule("stax/command-not-found",
		"a command that is not on the `PATH` of this machine", "install it, or write its whole path")
)

// Rules returns the rules about what a client can represent.
func Rules() []check.Rule {
	return []check.Rule{
		ruleLossy,
		ruleClientName,
		ruleClientTransport,
		ruleWouldExpand,
		ruleSecretNoReference,
		ruleNotWritten,
		ruleViaLauncher,
		ruleNotPortable,
		RuleNotImported,
		ruleCommandNotFound,
	}
}
