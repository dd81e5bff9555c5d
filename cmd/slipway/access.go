package main

import (
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/serve"
)

// accessFlags are the flags of serve for authentication, limits and addresses.
type accessFlags struct {
	tokenFile                   string
	issuer, jwksURL             string
	audience, algorithms        []string
	atJWT                       bool
	servers                     []string
	scopes, toolScopes, implies []string

	sources []string // names of the sources, if there is more than one

	publicURL         string
	tlsCert, tlsKey   string
	rate              float64
	burst             int
	inFlight          int
	clientInFlight    int
	requestTimeout    time.Duration
	withoutMetrics    bool
	withoutFiles      bool
	hideAppTools      bool
	withoutWebSocket  bool
	tokens, tokenPath string // from MCP_SERVER_TOKEN and MCP_SERVER_TOKEN_FILE
}

func (f *accessFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokenFile, "auth-token-file", "", "`file` of accepted bearer tokens: lines of NAME TOKEN [SCOPE...], or JSON")
	flags.StringVar(&f.issuer, "auth-issuer", "", "accept JSON Web Tokens from the authorization server at this `URL`")
	flags.StringSliceVar(&f.audience, "auth-audience", nil, "`audience` that these tokens must have (default: --public-url plus /mcp)")
	flags.StringVar(&f.jwksURL, "auth-jwks-url", "", "`URL` of the issuer's keys (default: from its metadata)")
	flags.StringSliceVar(&f.algorithms, "auth-algorithm", nil, "accepted signature `algorithm`, such as ES256 (default: EdDSA and all ES, PS and RS)")
	flags.BoolVar(&f.atJWT, "auth-require-at-jwt", false, "accept only JSON Web Tokens with typ at+jwt (RFC 9068)")
	flags.StringSliceVar(&f.servers, "auth-server", nil, "`URL` of the authorization server that clients are sent to (default: the issuer)")
	flags.StringSliceVar(&f.scopes, "require-scope", nil, "`scope` that every token needs")
	flags.StringSliceVar(&f.toolScopes, "tool-scope", nil, "additional scope for tool calls, as `PATTERN=SCOPE`; PATTERN is TOOL or SOURCE/TOOL and may contain *; it matches original names, before prefixes and renames")
	flags.StringSliceVar(&f.implies, "scope-implies", nil, "as `SCOPE=OTHER`: a token with SCOPE also has OTHER")
	flags.StringVar(&f.publicURL, "public-url", "", "`URL` at which clients reach the server, such as https://mcp.example.com; accepts its host and publishes a server card")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "PEM `file` with the certificate for https; reloaded when it changes")
	flags.StringVar(&f.tlsKey, "tls-key", "", "PEM `file` with the certificate's private key")
	flags.Float64Var(&f.rate, "rate-limit", 0, "`requests` per second per client, identified by principal or address; 0 means no limit")
	flags.IntVar(&f.burst, "rate-burst", 0, "`requests` that a client may send at once after a pause (default: twice the rate, at least 10)")
	flags.IntVar(&f.inFlight, "max-in-flight", 0, "concurrent `requests` of all clients; 0 means no limit")
	flags.IntVar(&f.clientInFlight, "max-in-flight-per-client", 0, "concurrent `requests` of one client; 0 means no limit")
	flags.DurationVar(&f.requestTimeout, "request-timeout", 10*time.Minute, "maximum `time` for a request, regardless of progress; 0 means no limit")
	flags.BoolVar(&f.withoutMetrics, "no-metrics", false, "disable /metrics")
	flags.BoolVar(&f.withoutFiles, "no-files", false, "disable access to the files of a site next to the endpoint")
	flags.BoolVar(&f.hideAppTools, "hide-app-tools", false, "hide tools that are only for MCP Apps from clients that do not declare MCP Apps")
	flags.BoolVar(&f.withoutWebSocket, "no-websocket", false, "disable WebSocket at /ws and /mcp")
}

// fromEnvironment reads the variables without a flag: a secret on a command line would be
// visible to every process of the machine.
func (f *accessFlags) fromEnvironment(lookup func(string) (string, bool)) {
	f.tokens, _ = lookup(envPrefix + "TOKEN")
	f.tokenPath, _ = lookup(envPrefix + "TOKEN_FILE")
}

// apply sets the options that the flags control.
func (f *accessFlags) apply(o *serve.Options, log *slog.Logger) (err error) {
	o.PublicURL, o.NoMetrics, o.NoWebSocket = f.publicURL, f.withoutMetrics, f.withoutWebSocket
	o.NoFiles, o.HideAppTools = f.withoutFiles, f.hideAppTools
	o.Limits = serve.Limits{Rate: f.rate, Burst: f.burst, InFlight: f.inFlight, ClientInFlight: f.clientInFlight}
	o.Server.RequestTimeout = f.requestTimeout
	if f.requestTimeout <= 0 {
		o.Server.RequestTimeout = -1
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return usage("a certificate is both of them", "serve: --tls-cert and --tls-key belong together")
	}
	if f.tlsCert != "" {
		o.TLS = &serve.TLSFiles{Cert: f.tlsCert, Key: f.tlsKey}
	}
	o.Auth, err = f.auth(log)
	return err
}

// auth returns the authentication settings, or nil if none are configured.
func (f *accessFlags) auth(log *slog.Logger) (*serve.Auth, error) {
	a := &serve.Auth{Scopes: f.scopes, AuthorizationServers: f.servers, SourceNames: f.sources}
	var err error
	if a.ToolScopes, err = pairs("--tool-scope", f.toolScopes); err != nil {
		return nil, err
	}
	if a.Implies, err = pairs("--scope-implies", f.implies); err != nil {
		return nil, err
	}
	if a.Verifiers, err = f.lists(log); err != nil {
		return nil, err
	}
	if f.issuer != "" {
		v, err := f.jwt()
		if err != nil {
			return nil, err
		}
		a.Verifiers = append(a.Verifiers, v)
		if len(a.AuthorizationServers) == 0 {
			a.AuthorizationServers = []string{f.issuer}
		}
	}
	switch {
	case len(a.Verifiers) > 0:
		return a, nil
	case len(f.scopes)+len(f.toolScopes)+len(f.implies)+len(f.servers)+len(f.audience)+len(f.algorithms) > 0 || f.jwksURL != "":
		return nil, usage("--auth-token-file or --auth-issuer says who may come in", "serve: there are scopes or keys, but no tokens to have them")
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
			return nil, &failure{code: exitInput, text: err.Error(), hint: "a line is NAME TOKEN [SCOPE...]; openssl rand -hex 32 makes a good token"}
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
	return nil, usage("it is a token, or lines of NAME TOKEN [SCOPE...]", "%sTOKEN: %v", envPrefix, err)
}

func (f *accessFlags) jwt() (*serve.JWT, error) {
	audience := f.audience
	if len(audience) == 0 && f.publicURL != "" {
		audience = []string{strings.TrimSuffix(f.publicURL, "/") + serve.EndpointPath}
	}
	if len(audience) == 0 {
		return nil, usage("--public-url https://mcp.example.com, or --auth-audience", "serve: --auth-issuer needs to know whom tokens must be for")
	}
	v, err := serve.NewJWT(serve.JWTOptions{
		Issuer: f.issuer, Audience: audience, JWKSURL: f.jwksURL, Algorithms: f.algorithms, AccessTokensOnly: f.atJWT})
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
