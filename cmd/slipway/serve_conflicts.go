package main

import (
	"net"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/serve"
)

// conflict is a contradiction between settings.
type conflict struct {
	flag    string // the setting to change
	hint    string
	message string
	outside bool // variables without a flag may solve it
}

// conflicts returns the contradictions between the settings for these sources.
func (f *serveFlags) conflicts(args []string) (all []conflict) {
	add := func(found bool, flag, hint, message string) {
		if found {
			all = append(all, conflict{flag, hint, message, false})
		}
	}
	tokens := f.tokenFile != "" || f.tokenPath != "" || f.tokens != "" || len(f.issuers) > 0 || f.signIn.issuer != ""
	add(f.TLS.ClientCA != "" && f.TLS.Cert == "", "tls-client-ca", "add --tls-cert and --tls-key",
		"--tls-client-ca requires --tls-cert")
	add(f.TLS.ClientCA != "" && f.cluster.urls != "", "tls-client-ca", "omit one of them, and use tokens",
		"--tls-client-ca does not work with --cluster")
	add((f.TLS.Cert == "") != (f.TLS.Key == ""), "tls-cert", "set both", "--tls-cert and --tls-key require each other")
	add(f.fallback.source != "" && f.prefix != "", "prefix", "omit one of them",
		"--prefix is for several sources, and --fallback for one site")
	add(f.fallback.source != "" && f.fallback.source != "-" && len(args) > 1, "fallback", "omit one of them",
		"--fallback goes with one site")
	add(f.fallback.write && f.fallback.source == "", "fallback-write", "add --fallback SOURCE",
		"--fallback-write requires --fallback")
	add(f.cluster.urls != "" && f.approvalsFile != "", "approvals", "omit it: the engine of the cluster keeps approvals",
		"--approvals does not work with --cluster")
	add(f.policyFile == "" && f.approvalsFile != "", "approvals", "add --policy FILE", "--approvals requires --policy")
	add(f.Limits.Burst > 0 && f.Limits.Rate == 0, "rate-burst", "add --rate-limit", "--rate-burst requires --rate-limit")
	add(f.audit.path == "" && (f.audit.key != "" || f.audit.required), "audit-key", "--audit-log specifies its path",
		"the other --audit flags require an audit log")
	add(f.recorder.output == "" && len(f.recorder.redact) > 0, "redact", "add --record FILE.mcplog",
		"--redact requires --record")
	forIssuers := len(f.introspection.urls)+len(f.jwksURLs)+len(f.jwt.Audience)+len(f.jwt.Algorithms) > 0 ||
		len(f.claims) > 0 && f.signIn.issuer == ""
	add(len(f.issuers) == 0 && forIssuers, "auth-issuer", "add --auth-issuer",
		"keys, claims or audiences are set, but no issuer")
	add(len(f.issuers) > 0 && len(f.jwt.Audience) == 0 && f.PublicURL == "", "auth-issuer",
		"--public-url https://mcp.example.com, or --auth-audience", "--auth-issuer requires an audience")
	add(len(f.issuers) == 0 && (f.connect.clientID != "" || len(f.connect.scopes) > 0 || f.connect.noResource),
		"auth-issuer", "add --auth-issuer", "the --connect flags require --auth-issuer")
	add(f.connect.secretFile != "" && f.connect.clientID == "", "connect-client-id", "set both",
		"--connect-client-secret-file requires --connect-client-id")
	i := &f.introspection
	add((i.secretFile == "") != (i.clientID == ""), "auth-introspection-client-id", "set both",
		"--auth-introspection-client-id and --auth-introspection-secret-file require each other")
	add(i.clientID != "" && len(i.urls) == 0, "auth-introspection-url", "add --auth-introspection-url",
		"--auth-introspection-client-id requires --auth-introspection-url")
	all = append(all, f.signIn.conflicts(f)...)
	add(f.stdio && f.cluster.urls != "", "cluster", "omit one of them", "--stdio has no --cluster")
	add(f.cluster.urls == "" && f.cluster.listen != "", "replica-addr", "add --cluster", "--replica-addr needs --cluster")
	add(f.cluster.listen == "" && f.cluster.advertise != "", "replica-advertise-addr", "add --replica-addr :8081",
		"--replica-advertise-addr needs --replica-addr")
	add(f.stdio && f.AdminAddr != "", "admin-addr", "omit one of them", "--stdio has no --admin-addr")
	unused := len(f.auth.Scopes)+len(f.toolScopes)+len(f.implies)+len(f.auth.AuthorizationServers) > 0
	if unused && !tokens {
		all = append(all, conflict{"require-scope", "add --auth-token-file or --auth-issuer, or set " + envPrefix + "TOKEN",
			"scopes or keys are set, but no tokens are accepted", true})
	}
	if !tokens && f.TLS.ClientCA == "" && !f.RemoteWithoutAuth && !f.stdio && f.isRemote() {
		all = append(all, conflict{"addr", "export " + envPrefix + "TOKEN=VALUE",
			"other machines can reach the address, and neither --auth-token-file nor " + envPrefix +
				"TOKEN requires tokens", true})
	}
	open := !tokens && f.TLS.ClientCA == "" && f.RemoteWithoutAuth && !f.stdio && f.isRemote()
	add(open && len(f.HTTP.AllowedHosts) == 0 && f.PublicURL == "", "allow-host",
		"--allow-host NAME for each name or address at which clients reach the server, or --allow-host '*' for any",
		"--allow-remote-without-auth requires --allow-host or --public-url: without tokens, a web page under another "+
			"name that leads to this machine could call all tools")
	return all
}

// isRemote reports whether other machines can reach the address.
func (f *serveFlags) isRemote() bool {
	addr, err := serve.ParseAddr(f.Addr)
	if err != nil {
		return false
	}
	host, _, _ := net.SplitHostPort(addr)
	return !netguard.IsLoopbackHost(host)
}
