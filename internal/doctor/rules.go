package doctor

import "github.com/slipway-mcp/slipway/check"

var rules check.RuleSet

// The rules of the installation.
var (
	rulePathShadowed = rules.Warning("doctor/path-shadowed",
		"another slipway on the `PATH` runs instead of this one")
	rulePathMissing       = rules.Warning("doctor/path-missing", "slipway is not on the `PATH`")
	ruleConfigFolder      = rules.Error("doctor/config-folder", "the config folder of the user cannot be used")
	ruleDefinitions       = rules.Error("doctor/definitions", "a definitions file cannot be read")
	ruleState             = rules.Error("doctor/state", "the record of the entries that Slipway wrote cannot be read")
	rulePortBusy          = rules.Warning("doctor/port-busy", "the port of `slipway serve` is in use")
	rulePortPrivileged    = rules.Error("doctor/port-privileged", "the user must not listen on the port of a server")
	ruleAddress           = rules.Error("doctor/address", "the address of a server is not one of this machine")
	ruleServerCertificate = rules.Error("doctor/server-certificate",
		"the certificate of a server cannot be read, does not match its key, or is not valid now")
	ruleNoClients = rules.Note("doctor/no-clients", "no client is installed for this user")
)

// The rules of clients and their servers.
var (
	ruleClientFile = rules.Error("doctor/client-file", "a client's config file cannot be read")
	ruleNoFile     = rules.Note("doctor/client-absent", "a client has no config file")
	ruleShadowed   = rules.Warning("doctor/entry-shadowed",
		"a project entry replaces a user entry of the same name")
	ruleEntry    = rules.Error("doctor/entry", "an entry does not say what to start or where to connect")
	ruleLauncher = rules.Error("doctor/launcher", "an entry starts a server that the definitions do not have")
	ruleProgram  = rules.Error("doctor/program-missing", "the program of a server is missing")
	ruleMode     = rules.Error("doctor/not-executable", "the program of a server is not executable")
	ruleCommand  = rules.Error("doctor/command-line", "a command contains its arguments")
	ruleDesktop  = rules.Warning("doctor/desktop-path",
		"a desktop app may not find a program, because it does not have the `PATH` of the shell")
	ruleNode     = rules.Error("doctor/node-version", "Node.js is too old for servers from npm")
	ruleVariable = rules.Warning("doctor/variable-missing", "an entry refers to a variable that is not set here")
	ruleSecret   = rules.Error("doctor/secret-missing", "a server needs a secret that no source has")
)

// The rules of servers that are started or connected to.
var (
	ruleArchitecture = rules.Error("doctor/architecture", "a program is for another system, or a script has no first line",
		"install the build for this system; a script needs a first line such as #!/bin/sh")
	ruleExits = rules.Error("doctor/exits", "a server exits instead of answering")
	ruleJunk  = rules.Warning("doctor/junk", "a server prints text on stdout that is not a message",
		"change the server to log to stderr: some clients disconnect at such a line")
	ruleProtocol = rules.Error("doctor/protocol", "a server does not speak the protocol")
	ruleList     = rules.Warning("doctor/list-missing", "a server declares a list and does not return it")
	ruleSilent   = rules.Error("doctor/no-answer", "a server does not answer in time")
	ruleSlow     = rules.Warning("doctor/slow-start", "a server takes long to start")
	ruleBlocked  = rules.Warning("doctor/blocked", "a server in a file has an address that is not on the public internet")
	ruleRedirect = rules.Error("doctor/redirect", "a server redirects to an address that is not on the public internet")
	ruleSource   = rules.Error("doctor/source", "a source cannot be opened")
)

// The rules of URLs.
var (
	ruleURL       = rules.Error("doctor/url", "not the URL of a server")
	ruleDNS       = rules.Error("doctor/dns", "a host name does not resolve")
	ruleConnect   = rules.Error("doctor/connect", "a host refuses connections, or does not answer")
	ruleProxy     = rules.Note("doctor/proxy", "requests use a proxy from the environment")
	ruleExpired   = rules.Error("doctor/tls-expired", "a certificate has expired, or is not valid yet")
	ruleWrongHost = rules.Error("doctor/tls-host", "a certificate is for another host")
	ruleAuthority = rules.Error("doctor/tls-authority", "no trusted authority has signed a certificate")
	ruleTLS       = rules.Error("doctor/tls", "a TLS connection fails")
	ruleClock     = rules.Warning("doctor/clock", "the clocks of this machine and of a server differ")
	ruleToken     = rules.Error("doctor/token", "a server requires a token, or rejects the one it receives")
	ruleStatus    = rules.Error("doctor/http-status", "a server answers with an HTTP error")
	ruleWebPage   = rules.Error("doctor/web-page", "a URL is that of a web page",
		"use the URL in the server's documentation; most servers answer at /mcp")
	ruleOldSSE = rules.Warning("doctor/old-sse", "a URL supports only the HTTP+SSE transport of 2024-11-05",
		"use its URL for Streamable HTTP; if it has none, slipway serve URL serves it to clients of all versions")
)

// Rules returns the rules of this package.
func Rules() []check.Rule { return rules.All() }
