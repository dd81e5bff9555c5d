package main

import (
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/serve"
)

// setDefaults sets the defaults that are not the zero value.
func (f *serveFlags) setDefaults() {
	f.maxSite = 1 << 30
	f.Addr = serve.DefaultAddr
	f.HTTP.MaxBody = 4 << 20
	f.Server.Budget.Bytes = 256 << 20
	f.Server.Budget.RequestBytes = 256 << 20
	f.Server.RequestTimeout = 10 * time.Minute
	f.DrainTimeout = 10 * time.Second
	f.logFormat = logText
	f.servers.settle = defaultSettle
	f.start.wait = defaultStartWait
}

// settings returns all settings of serve.
func (f *serveFlags) settings() (all []setting) {
	for _, group := range [][]setting{
		f.sourceSettings(), f.addressSettings(), f.endpointSettings(), f.accessSettings(), f.limitSettings(),
		f.loggingSettings(), f.servers.settings(), f.start.settings(),
	} {
		all = append(all, group...)
	}
	all = append(all, definitionsSettings()...)
	for i, s := range all {
		if strings.HasPrefix(s.key, "sources.") || strings.HasPrefix(s.key, "definitions.") {
			all[i].restart = true // sources are opened with them
		}
	}
	return all
}

func (f *serveFlags) sourceSettings() []setting {
	return []setting{
		{
			key:   "sources.name",
			flag:  "name",
			field: &f.shown.Name,
			usage: serverNameUsage,
		},
		{
			key:   "sources.title",
			flag:  "title",
			field: &f.shown.Title,
			usage: serverTitleUsage,
		},
		{
			key:   "sources.prefix",
			flag:  "prefix",
			field: oneOf(&f.prefix, "collision", "always", "never"),
			usage: "`when` to prefix tools and prompts with the name of their source: collision, always or never",
		},
		{
			key:     "sources.fallback",
			flag:    "fallback",
			field:   &f.fallback.source,
			usage:   "`SOURCE` for requests that the site has no answer for; - means the command after --",
			about:   "SOURCE for requests that the site, the only source, has no answer for",
			resolve: settings.ResolveSource,
		},
		{
			key:   "sources.fallbackWrite",
			flag:  "fallback-write",
			field: &f.fallback.write,
			usage: "store answers of the fallback in the site, a folder, if the tool is read-only and the answer contains no " +
				"secret",
		},
		{
			key:   "sources.maxSiteBytes",
			flag:  "max-site-bytes",
			field: &f.maxSite,
			usage: "maximum `size` of a site built in memory",
		},
		{
			key:   "sources.logSearches",
			flag:  "log-searches",
			field: &f.logSearches,
			usage: "log the words of searches without a good answer; they can be personal",
		},
		{
			key:     "sources.vectors",
			flag:    "vectors",
			field:   &f.vectors,
			usage:   vectorsUsage,
			resolve: settings.ResolvePath,
			probe:   probeVectors,
		},
		{key: "sources.set", flag: "set", kind: settings.Map, about: "Options of a bundle, without secrets"},
		{key: "sources.values", flag: "values", resolve: settings.ResolvePath, probe: probeValues},
		{key: "sources.requireSigner", flag: "require-signer", resolve: resolveSigner, probe: probeSigner},
	}
}

func (f *serveFlags) addressSettings() []setting {
	return []setting{
		{
			key:     "address.listen",
			flag:    "addr",
			field:   &f.Addr,
			usage:   "`address` to listen on: HOST:PORT, HOST or PORT; port 0 means any free port",
			kind:    settings.Address,
			restart: true,
			probe:   probeAddress,
		},
		{
			key:   "address.admin",
			flag:  "admin-addr",
			field: &f.AdminAddr,
			usage: "second `address`, for operators: /metrics, health checks and /debug/pprof/, without tokens; keep it away " +
				"from clients",
			kind:    settings.Address,
			restart: true,
			probe:   probeAddress,
		},
		{
			key:   "address.cluster",
			flag:  "cluster",
			field: &f.cluster.urls,
			usage: "serve as one of several replicas, coordinated by the NATS, Redis or Valkey at this `url`, such as " +
				"nats://nats:4222 or redis://valkey:6379/0 (tls:// or rediss:// with TLS); several servers separated " +
				"by commas",
			restart: true,
		},
		{
			key:     "address.replica",
			flag:    "replica-addr",
			field:   &f.cluster.listen,
			usage:   "`address` of this machine at which other replicas connect (default: any free port)",
			restart: true,
		},
		{
			key:   "address.replicaAdvertise",
			flag:  "replica-advertise-addr",
			field: &f.cluster.advertise,
			usage: "`address` at which other replicas connect, if it is not --replica-addr, such as that of a mapped port " +
				"of a container",
			restart: true,
		},
		{
			key:   "address.clusterPasswordFile",
			flag:  "cluster-password-file",
			field: &f.cluster.passwordFile,
			usage: "`file` with the password for the engine of --cluster; for NATS also a token, an NKey seed or " +
				"credentials (.creds)",
			resolve: settings.ResolvePath,
			restart: true,
		},
		{
			flag:  "stdio",
			field: &f.stdio,
			usage: "serve one client over stdin and stdout",
		},
		{
			key:   "address.publicURL",
			flag:  "public-url",
			field: &f.PublicURL,
			usage: "`URL` at which clients reach the server, such as https://mcp.example.com; accepts its host and publishes " +
				"a server card",
			probe: probePublicURL,
		},
		{
			key:   "address.allowedHosts",
			flag:  "allow-host",
			field: &f.HTTP.AllowedHosts,
			usage: "additional `name` under which clients may reach the server; * means any",
		},
		{
			key:   "address.allowedOrigins",
			flag:  "allow-origin",
			field: &f.HTTP.AllowedOrigins,
			usage: "additional `origin` whose web pages may use the server, such as https://app.example.com; * means any",
		},
		{
			key:   "address.trustProxy",
			flag:  "trust-proxy",
			field: &f.trustProxy,
			usage: "take the address of clients from X-Forwarded-For if the request comes from this `CIDR`, such as " +
				"10.0.0.0/8",
			restart: true,
			probe: func(text string) error {
				_, err := parseProxy(text)
				return err
			},
		},
	}
}

func (f *serveFlags) endpointSettings() []setting {
	return []setting{
		{
			key:      "endpoints.webSocket",
			flag:     "no-websocket",
			field:    &f.NoWebSocket,
			usage:    "disable WebSocket at /ws and /mcp",
			inverted: true,
		},
		{
			key:   "endpoints.legacySSE",
			flag:  "legacy-sse",
			field: &f.LegacySSE,
			usage: "also serve the HTTP+SSE transport of 2024-11-05 at /sse and /message",
		},
		{
			key:   "endpoints.postOnly",
			flag:  "post-only",
			field: &f.HTTP.PostOnly,
			usage: "reject GET at the endpoint, so that sessions have no event stream",
		},
		{
			key:      "endpoints.metrics",
			flag:     "no-metrics",
			field:    &f.NoMetrics,
			usage:    "disable /metrics",
			inverted: true,
		},
		{
			key:      "endpoints.files",
			flag:     "no-files",
			field:    &f.NoFiles,
			usage:    "disable access to the files of a site next to the endpoint",
			about:    "serve the files of a site next to the endpoint",
			inverted: true,
		},
		{
			key:   "endpoints.groups",
			flag:  "endpoint",
			field: &f.endpoints,
			usage: "also serve a part at /mcp/NAME, as `NAME=ITEM`: ITEM is SERVER, or SERVER/PATTERN for some of its tools, " +
				"prompts and resources",
			about: "additional endpoints /mcp/NAME for parts: SERVER, or SERVER/PATTERN for some of its tools, prompts and " +
				"resources, by name",
			kind:    settings.Groups,
			restart: true,
		},
		{
			key:     "endpoints.scopes",
			flag:    "endpoint-scope",
			field:   &f.endpointScopes,
			usage:   "additional scope for every request to an endpoint, as `NAME=SCOPE`",
			about:   "additional scopes for every request to an endpoint, by its name",
			kind:    settings.Groups,
			restart: true,
		},
		{
			key:     "endpoints.policies",
			flag:    "endpoint-policy",
			field:   &f.endpointPolicies,
			usage:   "policy of an endpoint in addition to --policy, as `NAME=FILE`",
			about:   "the policy of an endpoint, in addition to access.policy, by its name",
			kind:    settings.Groups,
			restart: true,
		},
		{
			key:     "endpoints.hideAppTools",
			flag:    "hide-app-tools",
			field:   &f.HideAppTools,
			usage:   "hide tools that are only for MCP Apps from clients that do not declare MCP Apps",
			restart: true,
		},
		{
			key:     "tls.cert",
			flag:    "tls-cert",
			field:   &f.TLS.Cert,
			usage:   "PEM `file` with the certificate for https; reloaded when it changes",
			resolve: settings.ResolvePath,
		},
		{
			key:     "tls.key",
			flag:    "tls-key",
			field:   &f.TLS.Key,
			usage:   "PEM `file` with the certificate's private key",
			resolve: settings.ResolvePath,
		},
		{
			key:     "tls.clientCA",
			flag:    "tls-client-ca",
			field:   &f.TLS.ClientCA,
			usage:   "PEM `file` with the authorities whose certificates clients need to connect; reloaded when it changes",
			resolve: settings.ResolvePath,
			restart: true,
		},
	}
}

func (f *serveFlags) accessSettings() []setting {
	return []setting{
		{
			key:     "access.tokenFile",
			flag:    "auth-token-file",
			field:   &f.tokenFile,
			usage:   "`file` of accepted bearer tokens: lines of NAME TOKEN [SCOPE...], or JSON",
			resolve: settings.ResolvePath,
			probe:   probeTokens,
		},
		{
			key:   "access.issuer",
			flag:  "auth-issuer",
			field: &f.issuers,
			usage: "accept JSON Web Tokens from the authorization server at this `URL`; repeat it for several",
		},
		{
			key:   "access.audiences",
			flag:  "auth-audience",
			field: &f.jwt.Audience,
			usage: "`audience` that these tokens must have (default: --public-url plus /mcp)",
		},
		{
			key:   "access.jwksURL",
			flag:  "auth-jwks-url",
			field: &f.jwksURLs,
			usage: "`URL` of the issuer's keys, or ISSUER=URL if there are several issuers (default: from their metadata)",
		},
		{
			key:   "access.introspectionURL",
			flag:  "auth-introspection-url",
			field: &f.introspection.urls,
			usage: "ask the issuer about its tokens at this `URL` (RFC 7662), because they are opaque; ISSUER=URL if there " +
				"are several issuers",
		},
		{
			key:   "access.introspectionClientID",
			flag:  "auth-introspection-client-id",
			field: &f.introspection.clientID,
			usage: "`ID` by which the server authenticates at --auth-introspection-url",
		},
		{
			key:     "access.introspectionSecretFile",
			flag:    "auth-introspection-secret-file",
			field:   &f.introspection.secretFile,
			usage:   "`file` with the secret of --auth-introspection-client-id",
			resolve: settings.ResolvePath,
		},
		{
			key:   "access.algorithms",
			flag:  "auth-algorithm",
			field: &f.jwt.Algorithms,
			usage: "accepted signature `algorithm`, such as ES256 (default: EdDSA and all ES, PS and RS)",
		},
		{
			key:   "access.connectClientID",
			flag:  "connect-client-id",
			field: &f.connect.clientID,
			usage: "`ID` of the gateway at --auth-issuer, by which callers prove on the page /connect/ who they are (default: " +
				"registered there)",
			restart: true,
		},
		{
			key:     "access.connectClientSecretFile",
			flag:    "connect-client-secret-file",
			field:   &f.connect.secretFile,
			usage:   "`file` with the secret of --connect-client-id",
			resolve: settings.ResolvePath,
			restart: true,
		},
		{
			key:     "access.connectScopes",
			flag:    "connect-scope",
			field:   &f.connect.scopes,
			usage:   "`scope` to ask --auth-issuer for on the page /connect/",
			restart: true,
		},
		{
			key:     "access.connectNoResource",
			flag:    "connect-no-resource",
			field:   &f.connect.noResource,
			usage:   "omit the resource parameter at --auth-issuer, for those that refuse it, such as Microsoft Entra ID",
			restart: true,
		},
		{
			key:   "access.signIn",
			flag:  "sign-in",
			field: &f.signIn.issuer,
			usage: "sign users in at the identity provider with this `URL`, and be the authorization server of MCP clients; " +
				"for providers that do not register clients, such as Entra ID, Google and GitHub",
			restart: true,
		},
		{
			key:     "access.signInClientID",
			flag:    "sign-in-client-id",
			field:   &f.signIn.clientID,
			usage:   "`ID` of the gateway at that provider, with the callback /oauth/callback below --public-url",
			restart: true,
		},
		{
			key:     "access.signInClientSecretFile",
			flag:    "sign-in-client-secret-file",
			field:   &f.signIn.secretFile,
			usage:   "`file` with the secret of --sign-in-client-id",
			resolve: settings.ResolvePath,
			restart: true,
		},
		{
			key:   "access.signInAllow",
			flag:  "sign-in-allow",
			field: &f.signIn.allow,
			usage: "users who may sign in, as `CLAIM=VALUE`: hd=example.com; several values of a claim are alternatives, " +
				"several claims are all required (default: all users of the provider)",
			about: "users who may sign in: the values of each claim that are permitted, by claim (default: all users of the " +
				"provider)",
			kind:    settings.Groups,
			restart: true,
		},
		{
			key:   "access.signInRedirects",
			flag:  "sign-in-redirect",
			field: &f.signIn.redirects,
			usage: "`address` of MCP clients that do not run on the user's machine: an origin such as https://claude.ai, a " +
				"whole redirect URI, or a scheme such as cursor:",
			restart: true,
		},
		{
			key:     "access.signInScopes",
			flag:    "sign-in-scope",
			field:   &f.signIn.scopes,
			usage:   "`scope` to ask that provider for (default: openid, profile, email and offline_access)",
			restart: true,
		},
		{
			key:   "access.signInEndpoints",
			flag:  "sign-in-endpoint",
			field: &f.signIn.endpoints,
			usage: "endpoint of a provider without OpenID Connect, as `NAME=URL`: authorize, token and userinfo; those of " +
				"GitHub are known",
			about:   "the endpoints of a provider without OpenID Connect: authorize, token and userinfo",
			kind:    settings.Groups,
			restart: true,
		},
		{
			key:     "access.signInSubject",
			flag:    "sign-in-subject",
			field:   &f.signIn.subject,
			usage:   "`claim` that identifies a user for good (default: sub; id for GitHub)",
			restart: true,
		},
		{
			key:   "access.claims",
			flag:  "auth-claim",
			field: &f.claims,
			usage: "use a claim of these tokens, as `NAME=PATH`: NAME is groups, roles, tenant or any other name, PATH " +
				"such as realm_access.roles",
			about: "the claims of these tokens to use, as paths such as realm_access.roles, by name: groups, roles, tenant " +
				"or any other name",
			kind: settings.Groups,
		},
		{
			key:   "access.allowNoAudience",
			flag:  "auth-allow-no-audience",
			field: &f.jwt.Claims.AllowNoAudience,
			usage: "accept JSON Web Tokens without aud, which their issuer may have issued for another server",
		},
		{
			key:   "access.allowNoSubject",
			flag:  "auth-allow-no-subject",
			field: &f.jwt.Claims.AllowNoSubject,
			usage: "accept JSON Web Tokens without sub; the client that they were issued to is then the caller",
		},
		{
			key:   "access.requireAccessTokenType",
			flag:  "auth-require-at-jwt",
			field: &f.jwt.AccessTokensOnly,
			usage: "accept only JSON Web Tokens with typ at+jwt (RFC 9068)",
		},
		{
			key:   "access.authorizationServers",
			flag:  "auth-server",
			field: &f.auth.AuthorizationServers,
			usage: "`URL` of the authorization server that clients are sent to (default: the issuer)",
		},
		{
			key:   "access.scopes",
			flag:  "require-scope",
			field: &f.auth.Scopes,
			usage: "`scope` that every token needs",
		},
		{
			key:   "access.toolScopes",
			flag:  "tool-scope",
			field: &f.toolScopes,
			usage: "additional scope for tool calls, as `PATTERN=SCOPE`; PATTERN is TOOL or SOURCE/TOOL and may contain *; it " +
				"matches original names, before prefixes and renames",
			about: "additional scopes for tool calls by pattern: TOOL or SOURCE/TOOL, which may contain * and matches " +
				"original names, before prefixes and renames",
			kind: settings.Groups,
		},
		{
			key:     "access.policy",
			flag:    "policy",
			field:   &f.policyFile,
			usage:   "`file` of Cedar rules that decide who may do what; nothing else is permitted; reloaded when it changes",
			resolve: settings.ResolvePath,
			restart: true,
			probe:   probePolicy,
		},
		{
			key:     "access.approvals",
			flag:    "approvals",
			field:   &f.approvalsFile,
			usage:   "`file` in which the permanent consent of users to calls is kept (default: in memory)",
			resolve: settings.ResolvePath,
			restart: true,
			probe:   probeFolder,
		},
		{
			key:   "access.scopeImplies",
			flag:  "scope-implies",
			field: &f.implies,
			usage: "as `SCOPE=OTHER`: a token with SCOPE also has OTHER",
			about: "the other scopes that a token with a scope also has",
			kind:  settings.Groups,
		},
		{
			key:   "access.stateKeyFile",
			flag:  "state-key-file",
			field: &f.stateKeys.path,
			usage: "`file` of keys shared by replicas, one per line: the first seals session IDs and requestState, all of " +
				"them unseal; reloaded on SIGHUP",
			resolve: settings.ResolvePath,
			restart: true,
			probe:   probeStateKeys,
		},
		{
			key:   "access.allowRemoteWithoutAuth",
			flag:  "allow-remote-without-auth",
			field: &f.RemoteWithoutAuth,
			usage: "permit a non-loopback address without tokens: everyone who can connect can call all tools",
		},
	}
}

func (f *serveFlags) limitSettings() []setting {
	return []setting{
		{
			key:   "limits.rate",
			flag:  "rate-limit",
			field: &f.Limits.Rate,
			usage: "`requests` per second per client, identified by principal or address; 0 means no limit",
		},
		{
			key:   "limits.burst",
			flag:  "rate-burst",
			field: &f.Limits.Burst,
			usage: "`requests` that a client may send at once after a pause (default: twice the rate, at least 10)",
		},
		{
			key:   "limits.maxInFlight",
			flag:  "max-in-flight",
			field: &f.Limits.InFlight,
			usage: "concurrent `requests` of all clients; 0 means no limit",
		},
		{
			key:   "limits.maxInFlightPerClient",
			flag:  "max-in-flight-per-client",
			field: &f.Limits.ClientInFlight,
			usage: "concurrent `requests` of one client; 0 means no limit",
		},
		{
			key:   "limits.quotas",
			flag:  "quota",
			field: &f.quotas,
			usage: "calls of tools per client, as `PATTERN=CALLS/PERIOD`: github/*=100/day; PERIOD is second, minute, hour, " +
				"day or concurrent; all:100 is shared by all clients",
			about: "calls of tools per client, as CALLS/PERIOD by pattern: 100/day, 5/concurrent, or all:1000/hour for all " +
				"clients together",
			kind:    settings.Groups,
			restart: true,
		},
		{
			key:   "limits.maxBody",
			flag:  "max-body",
			field: &f.HTTP.MaxBody,
			usage: "maximum `size` of a request, and of a line over stdin",
		},
		{
			key:     "limits.maxInFlightBytes",
			flag:    "max-in-flight-bytes",
			field:   &f.Server.Budget.RequestBytes,
			usage:   "memory `size` for requests being received or processed",
			restart: true,
		},
		{
			key:     "limits.maxInFlightBytesPerClient",
			flag:    "max-in-flight-bytes-per-client",
			field:   &f.Server.Budget.ClientRequestBytes,
			usage:   "the same for one client (default: a quarter of --max-in-flight-bytes)",
			about:   "memory size for the requests of one client (default: a quarter of maxInFlightBytes)",
			restart: true,
		},
		{
			key:     "limits.maxKept",
			flag:    "max-kept",
			field:   &f.Server.Budget.Bytes,
			usage:   "memory `size` for sessions, streams, subscriptions, tasks and their results",
			restart: true,
		},
		{
			key:     "limits.maxKeptPerClient",
			flag:    "max-kept-per-client",
			field:   &f.Server.Budget.ClientBytes,
			usage:   "the same for one client (default: a quarter of --max-kept)",
			about:   "memory size for the sessions and the rest of one client (default: a quarter of maxKept)",
			restart: true,
		},
		{
			key:     "limits.requestTimeout",
			flag:    "request-timeout",
			field:   &f.Server.RequestTimeout,
			usage:   "maximum `time` for a request, regardless of progress; 0 means no limit",
			restart: true,
		},
		{
			key:   "limits.drainDelay",
			flag:  "drain-delay",
			field: &f.DrainDelay,
			usage: "`time` to keep accepting requests after a stop signal, while /readyz returns 503",
		},
		{
			key:   "limits.drainTimeout",
			flag:  "drain-timeout",
			field: &f.DrainTimeout,
			usage: "`time` for requests in flight to finish",
		},
	}
}

func (f *serveFlags) loggingSettings() []setting {
	return append([]setting{
		{
			key:   "logging.level",
			flag:  "log-level",
			field: &f.logLevel,
			usage: "log `level` on stderr: debug, info, warn or error",
		},
		{
			key:     "logging.format",
			flag:    "log-format",
			field:   optional(&f.logFormat, logText, logJSON),
			usage:   "log `format`: text or json",
			restart: true,
		},
		{
			key:   "logging.otlp",
			flag:  "otlp",
			field: &f.telemetry.endpoint,
			usage: "base `URL` of an OpenTelemetry collector for traces, metrics and logs, such as http://127.0.0.1:4318; " +
				"OTEL_* variables configure the rest",
			restart: true,
			probe:   probeCollector,
		},
	}, append(f.audit.settings(), []setting{
		{
			key:   "logging.record",
			flag:  "record",
			field: &f.recorder.output,
			usage: "record all messages with clients in this new `FILE`.mcplog, with arguments and results but without known " +
				"secrets; {time} in its name is replaced",
			resolve: settings.ResolvePath,
			restart: true,
			probe:   probeFolder,
		},
		{
			key:     "logging.redact",
			flag:    "redact",
			field:   &f.recorder.redact,
			usage:   "also redact the values at this `PATH` of recorded messages, such as $.params.arguments.pin",
			restart: true,
		},
	}...)...)
}

// definitionsSettings are those whose flags other commands have, too.
func definitionsSettings() []setting {
	return []setting{
		{key: "definitions.secretsFrom", flag: "secrets-from", resolve: resolveStore, probe: probeStore},
		{key: "definitions.allowNetworks", flag: "allow-network", probe: probeNetwork},
		{
			key:     "definitions.lock",
			flag:    "lock",
			words:   []string{lockOff, lockRequired},
			resolve: settings.ResolvePath,
			probe:   probeLock,
		},
		{key: "definitions.lockPolicy", flag: "lock-policy"},
	}
}

// resolveStore makes the path of a source of secrets independent of the current folder.
func resolveStore(dir, store string) string {
	if path, ok := strings.CutPrefix(store, "file:"); ok {
		return "file:" + settings.ResolvePath(dir, path)
	}
	return store
}

// resolveSigner is resolveStore for a signer, which may be a fingerprint.
func resolveSigner(dir, signer string) string {
	if strings.Trim(strings.ToLower(signer), "0123456789abcdef:") == "" {
		return signer
	}
	return settings.ResolvePath(dir, signer)
}
