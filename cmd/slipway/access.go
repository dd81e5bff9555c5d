package main

import (
	"log/slog"
	"strings"

	"github.com/slipway-mcp/slipway/serve"
)

// accessFlags are the settings of serve for authentication, limits and addresses, bound to
// the options of the library.
type accessFlags struct {
	serve.Options
	auth serve.Auth
	jwt  serve.JWTOptions

	tokenFile           string
	toolScopes, implies []string
	tokens, tokenPath   string // from MCP_SERVER_TOKEN and MCP_SERVER_TOKEN_FILE
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
