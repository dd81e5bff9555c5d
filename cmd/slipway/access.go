package main

import (
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/serve"
)

// accessFlags are the flags of serve for authentication, limits and addresses, bound to
// the options of the library.
type accessFlags struct {
	serve.Options
	auth serve.Auth
	jwt  serve.JWTOptions

	tokenFile           string
	toolScopes, implies []string
	tokens, tokenPath   string // from MCP_SERVER_TOKEN and MCP_SERVER_TOKEN_FILE
}

func (f *accessFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokenFile, "auth-token-file", "",
		"`file` of accepted bearer tokens: lines of NAME TOKEN [SCOPE...], or JSON")
	flags.StringVar(&f.jwt.Issuer, "auth-issuer", "", "accept JSON Web Tokens from the authorization server at this `URL`")
	flags.StringSliceVar(&f.jwt.Audience, "auth-audience", nil,
		"`audience` that these tokens must have (default: --public-url plus /mcp)")
	flags.StringVar(&f.jwt.JWKSURL, "auth-jwks-url", "", "`URL` of the issuer's keys (default: from its metadata)")
	flags.StringSliceVar(&f.jwt.Algorithms, "auth-algorithm", nil,
		"accepted signature `algorithm`, such as ES256 (default: EdDSA and all ES, PS and RS)")
	flags.BoolVar(&f.jwt.AccessTokensOnly, "auth-require-at-jwt", false,
		"accept only JSON Web Tokens with typ at+jwt (RFC 9068)")
	flags.StringSliceVar(&f.auth.AuthorizationServers, "auth-server", nil,
		"`URL` of the authorization server that clients are sent to (default: the issuer)")
	flags.StringSliceVar(&f.auth.Scopes, "require-scope", nil, "`scope` that every token needs")
	flags.StringSliceVar(&f.toolScopes, "tool-scope", nil, "additional scope for tool calls, as `PATTERN=SCOPE`; "+
		"PATTERN is TOOL or SOURCE/TOOL and may contain *; it matches original names, before prefixes and renames")
	flags.StringSliceVar(&f.implies, "scope-implies", nil, "as `SCOPE=OTHER`: a token with SCOPE also has OTHER")
	flags.StringVar(&f.PublicURL, "public-url", "", "`URL` at which clients reach the server, such as "+
		"https://mcp.example.com; accepts its host and publishes a server card")
	flags.StringVar(&f.TLS.Cert, "tls-cert", "", "PEM `file` with the certificate for https; reloaded when it changes")
	flags.StringVar(&f.TLS.Key, "tls-key", "", "PEM `file` with the certificate's private key")
	flags.StringVar(&f.Addr, "addr", serve.DefaultAddr,
		"`address` to listen on: HOST:PORT, HOST or PORT; port 0 means any free port")
	flags.BoolVar(&f.RemoteWithoutAuth, "allow-remote-without-auth", false,
		"permit a non-loopback address without tokens: everyone who can connect can call all tools")
	flags.StringSliceVar(&f.HTTP.AllowedHosts, "allow-host", nil,
		"additional `name` under which clients may reach the server; * means any")
	flags.StringSliceVar(&f.HTTP.AllowedOrigins, "allow-origin", nil,
		"additional `origin` whose web pages may use the server, such as https://app.example.com; * means any")
	flags.BoolVar(&f.HTTP.PostOnly, "post-only", false,
		"reject GET at the endpoint, so that sessions have no event stream")
	flags.BoolVar(&f.LegacySSE, "legacy-sse", false,
		"also serve the HTTP+SSE transport of 2024-11-05 at /sse and /message")
	flags.BoolVar(&f.NoMetrics, "no-metrics", false, "disable /metrics")
	flags.BoolVar(&f.NoFiles, "no-files", false, "disable access to the files of a site next to the endpoint")
	flags.BoolVar(&f.HideAppTools, "hide-app-tools", false,
		"hide tools that are only for MCP Apps from clients that do not declare MCP Apps")
	flags.BoolVar(&f.NoWebSocket, "no-websocket", false, "disable WebSocket at /ws and /mcp")
	f.addLimits(flags)
}

func (f *accessFlags) addLimits(flags *pflag.FlagSet) {
	flags.Float64Var(&f.Limits.Rate, "rate-limit", 0,
		"`requests` per second per client, identified by principal or address; 0 means no limit")
	flags.IntVar(&f.Limits.Burst, "rate-burst", 0,
		"`requests` that a client may send at once after a pause (default: twice the rate, at least 10)")
	flags.IntVar(&f.Limits.InFlight, "max-in-flight", 0, "concurrent `requests` of all clients; 0 means no limit")
	flags.IntVar(&f.Limits.ClientInFlight, "max-in-flight-per-client", 0,
		"concurrent `requests` of one client; 0 means no limit")
	flags.DurationVar(&f.Server.RequestTimeout, "request-timeout", 10*time.Minute,
		"maximum `time` for a request, regardless of progress; 0 means no limit")
	flags.DurationVar(&f.DrainDelay, "drain-delay", 0,
		"`time` to keep accepting requests after a stop signal, while /readyz returns 503")
	flags.DurationVar(&f.DrainTimeout, "drain-timeout", 10*time.Second, "`time` for requests in flight to finish")
	for _, s := range []struct {
		name, usage string
		bytes       *int64
		value       int64
	}{
		{"max-body", "maximum `size` of a request, and of a line over stdin", &f.HTTP.MaxBody, 4 << 20},
		{"max-kept",
			"memory `size` for sessions, streams, subscriptions, tasks and their results", &f.Server.Budget.Bytes, 256 << 20},
		{"max-kept-per-client",
			"the same for one client (default: a quarter of --max-kept)", &f.Server.Budget.ClientBytes, 0},
		{"max-in-flight-bytes",
			"memory `size` for requests being received or processed", &f.Server.Budget.RequestBytes, 256 << 20},
		{"max-in-flight-bytes-per-client", "the same for one client (default: a quarter of --max-in-flight-bytes)",
			&f.Server.Budget.ClientRequestBytes, 0},
	} {
		*s.bytes = s.value
		flags.Var((*size)(s.bytes), s.name, s.usage)
	}
}

// fromEnvironment reads the variables without a flag: a secret on a command line would be
// visible to every process of the machine.
func (f *accessFlags) fromEnvironment(lookup func(string) (string, bool)) {
	f.tokens, _ = lookup(envPrefix + "TOKEN")
	f.tokenPath, _ = lookup(envPrefix + "TOKEN_FILE")
}

// complete checks the options that the flags set, and adds Auth.
func (f *accessFlags) complete(log *slog.Logger) (err error) {
	if f.Server.RequestTimeout <= 0 {
		f.Server.RequestTimeout = -1 // 0 would mean the default
	}
	if (f.TLS.Cert == "") != (f.TLS.Key == "") {
		return usage("set both", "serve: --tls-cert and --tls-key require each other")
	}
	f.Auth, err = f.authentication(log)
	return err
}

// authentication returns the authentication settings, or nil if none are configured.
func (f *accessFlags) authentication(log *slog.Logger) (a *serve.Auth, err error) {
	a = &f.auth
	if a.ToolScopes, err = pairs("--tool-scope", f.toolScopes); err != nil {
		return nil, err
	}
	if a.Implies, err = pairs("--scope-implies", f.implies); err != nil {
		return nil, err
	}
	if a.Verifiers, err = f.lists(log); err != nil {
		return nil, err
	}
	if f.jwt.Issuer != "" {
		v, err := f.tokenIssuer()
		if err != nil {
			return nil, err
		}
		a.Verifiers = append(a.Verifiers, v)
		if len(a.AuthorizationServers) == 0 {
			a.AuthorizationServers = []string{f.jwt.Issuer}
		}
	}
	if len(a.Verifiers) > 0 {
		return a, nil
	}
	for _, list := range [][]string{a.Scopes, f.toolScopes, f.implies, a.AuthorizationServers, f.jwt.Audience,
		f.jwt.Algorithms} {
		if len(list) > 0 || f.jwt.JWKSURL != "" {
			return nil, usage("add --auth-token-file or --auth-issuer",
				"serve: scopes or keys are set, but no tokens are accepted")
		}
	}
	return nil, nil
}

// lists returns a verifier for each token list.
func (f *accessFlags) lists(log *slog.Logger) (all []serve.Verifier, err error) {
	for _, path := range []string{f.tokenFile, f.tokenPath} {
		if path == "" {
			continue
		}
		t, err := serve.OpenTokens(path, log)
		if err != nil {
			return nil, badInput("a line is NAME TOKEN [SCOPE...]; create a token with openssl rand -hex 32", "%v", err)
		}
		all = append(all, t)
	}
	if f.tokens == "" {
		return all, nil
	}
	list, err := serve.ParseTokens([]byte(f.tokens))
	if err == nil {
		var t *serve.Tokens
		if t, err = serve.NewTokens(list...); err == nil {
			return append(all, t), nil
		}
	}
	return nil, usage("set it to a token, or lines of NAME TOKEN [SCOPE...]", "%sTOKEN: %v", envPrefix, err)
}

// tokenIssuer returns the verifier for the tokens of the issuer.
func (f *accessFlags) tokenIssuer() (*serve.JWT, error) {
	if len(f.jwt.Audience) == 0 && f.PublicURL != "" {
		f.jwt.Audience = []string{strings.TrimSuffix(f.PublicURL, "/") + serve.EndpointPath}
	}
	if len(f.jwt.Audience) == 0 {
		return nil, usage("--public-url https://mcp.example.com, or --auth-audience",
			"serve: --auth-issuer requires an audience")
	}
	v, err := serve.NewJWT(&f.jwt)
	if err != nil {
		return nil, usage("", "serve: %v", err)
	}
	return v, nil
}

// pairs parses a flag of NAME=VALUE pairs; a name may have several values.
func pairs(flag string, given []string) (map[string][]string, error) {
	values := make(map[string][]string)
	for _, pair := range given {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || value == "" {
			return nil, usage("for example "+flag+" delete_city=write", "serve: %s: %q is not NAME=VALUE", flag, pair)
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}
