package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/nearest"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// accessFlags are the settings of serve for authentication, limits and addresses, bound to
// the options of the library.
type accessFlags struct {
	serve.Options
	auth serve.Auth
	jwt  serve.JWTOptions // of every issuer, except for Issuer and JWKSURL

	tokenFile           string
	issuers, jwksURLs   []string
	introspection       introspectionFlags
	claims              []string // NAME=PATH
	toolScopes, implies []string
	trustProxy          []string
	quotas              []string
	connect             connectFlags
	signIn              signInFlags

	policyFile, approvalsFile string
	// approvals are those of all policies, once one needs them. They outlive a reload.
	approvals *serve.Approvals
	// endpoints are NAME=ITEM, and the others NAME=SCOPE and NAME=FILE.
	endpoints, endpointScopes, endpointPolicies []string
	// hints are the hints in the lock file; nil without a lock.
	hints             func(server, tool string) (hints mcp.ToolAnnotations, locked bool)
	locked            func() any // the lock that hints reads
	tokens, tokenPath string     // from MCP_SERVER_TOKEN and MCP_SERVER_TOKEN_FILE
}

// introspectionFlags are the flags for issuers of opaque tokens.
type introspectionFlags struct {
	urls                 []string // URL or ISSUER=URL
	clientID, secretFile string
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
	f.TrustedProxies = nil
	for _, text := range f.trustProxy {
		proxies, err := parseProxy(text)
		if err != nil {
			return usage("--trust-proxy 10.0.0.0/8", "serve: --trust-proxy: %v", err)
		}
		f.TrustedProxies = append(f.TrustedProxies, proxies)
	}
	f.Limits.Quotas = nil
	for _, text := range f.quotas {
		quota, err := serve.ParseQuota(text)
		if err != nil {
			return usage("--quota 'github/*=100/day'", "serve: --quota: %v", err)
		}
		f.Limits.Quotas = append(f.Limits.Quotas, quota)
	}
	if f.Auth, err = f.authentication(log); err != nil {
		return err
	}
	if f.Policy, err = f.openPolicy(f.policyFile, "", log); err != nil {
		return err
	}
	return f.openEndpoints(log)
}

// openEndpoints sets the additional endpoints.
func (f *accessFlags) openEndpoints(log *slog.Logger) error {
	items, err := pairs("--endpoint", "support=tickets", f.endpoints)
	if err != nil {
		return err
	}
	scopes, err := pairs("--endpoint-scope", "support=read", f.endpointScopes)
	if err != nil {
		return err
	}
	policies, err := pairs("--endpoint-policy", "support=support.cedar", f.endpointPolicies)
	if err != nil {
		return err
	}
	// Scopes and policies only restrict endpoints that exist.
	for _, named := range []map[string][]string{scopes, policies} {
		for name := range named {
			if items[name] == nil {
				hint := "--endpoint " + name + "=SERVER"
				if near := nearest.DidYouMean(name, slices.Sorted(maps.Keys(items))); near != "" {
					hint = fmt.Sprintf("did you mean %q?", near)
				}
				return usage(hint, "serve: there is no endpoint %q", name)
			}
		}
	}
	// The order must not depend on that of a map: names appear in logs and pages.
	f.Endpoints = nil
	for _, name := range slices.Sorted(maps.Keys(items)) {
		e := serve.Endpoint{
			Name:   name,
			Items:  items[name],
			Scopes: scopes[name],
		}
		switch files := policies[name]; len(files) {
		case 0:
		case 1:
			if e.Policy, err = f.openPolicy(files[0], name, log); err != nil {
				return err
			}
		default:
			return usage("leave one of them out", "serve: endpoint %q has %d policies", name, len(files))
		}
		if err := e.Check(); err != nil {
			return usage("--endpoint support=tickets --endpoint 'support=crm/find_*'", "serve: %v", err)
		}
		f.Endpoints = append(f.Endpoints, e)
	}
	return nil
}

// openPolicy reads the rules in a file for an endpoint, or for all that have none of their own. It
// returns nil without a file.
func (f *accessFlags) openPolicy(path, endpoint string, log *slog.Logger) (*serve.Policy, error) {
	if path == "" {
		return nil, nil
	}
	if err := f.openApprovals(log); err != nil {
		return nil, err
	}
	o := &serve.PolicyOptions{
		Hints:     f.hints,
		Lock:      f.locked,
		Servers:   f.auth.SourceNames,
		Endpoint:  endpoint,
		Approvals: f.approvals,
		Logger:    log,
	}
	p, err := serve.OpenPolicy(path, o)
	if err != nil {
		return nil, badInput("slipway policy check "+shell.PathWord(path), "policy: %v", err)
	}
	return p, nil
}

// openApprovals opens the approvals that all policies share, unless they are open.
func (f *accessFlags) openApprovals(log *slog.Logger) (err error) {
	switch {
	case f.approvals != nil:
	case f.Cluster != nil:
		ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
		defer cancel()
		if f.approvals, err = serve.ShareApprovals(ctx, f.Cluster, log); err != nil {
			return remoteFailed("check that the cluster engine runs", "%v", err)
		}
	case f.approvalsFile != "":
		if f.approvals, err = serve.OpenApprovals(f.approvalsFile); err != nil {
			return badInput("fix or remove the file", "%v", err)
		}
	}
	return nil
}

// parseProxy parses an address or a network in CIDR form.
func parseProxy(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Prefix(addr.BitLen())
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is neither an address nor a network", text)
	}
	return p.Masked(), nil
}

// authentication returns the authentication settings, or nil if none are configured.
func (f *accessFlags) authentication(log *slog.Logger) (a *serve.Auth, err error) {
	a = &f.auth
	if a.ToolScopes, err = pairs("--tool-scope", "delete_city=write", f.toolScopes); err != nil {
		return nil, err
	}
	if a.Implies, err = pairs("--scope-implies", "admin=write", f.implies); err != nil {
		return nil, err
	}
	if a.Verifiers, err = f.lists(log); err != nil {
		return nil, err
	}
	for _, issuer := range f.issuers {
		v, err := f.tokenIssuer(issuer)
		if err != nil {
			return nil, err
		}
		a.Verifiers = append(a.Verifiers, v)
	}
	own, err := f.signInIssuer()
	if err != nil {
		return nil, err
	}
	if own != nil {
		a.Verifiers = append(a.Verifiers, own)
	}
	// Clients read from the metadata where to log in: first at this server, if it signs users in.
	if len(a.AuthorizationServers) == 0 {
		if own != nil {
			a.AuthorizationServers = []string{f.Broker.Issuer()}
		}
		a.AuthorizationServers = append(a.AuthorizationServers, f.issuers...)
	}
	if len(a.Verifiers) > 0 {
		return a, nil
	}
	// Without a verifier every request would be accepted, which is not what these settings ask for.
	for _, list := range [][]string{a.Scopes, f.toolScopes, f.implies, a.AuthorizationServers, f.jwt.Audience,
		f.jwt.Algorithms, f.jwksURLs, f.claims} {
		if len(list) > 0 {
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

// tokenIssuer returns the verifier for the tokens of an issuer.
func (f *accessFlags) tokenIssuer(issuer string) (serve.Verifier, error) {
	if len(f.jwt.Audience) == 0 && f.PublicURL != "" {
		f.jwt.Audience = []string{strings.TrimSuffix(f.PublicURL, "/") + serve.EndpointPath}
	}
	if len(f.jwt.Audience) == 0 {
		return nil, usage("--public-url https://mcp.example.com, or --auth-audience",
			"serve: --auth-issuer requires an audience")
	}
	o := f.jwt
	o.Issuer = issuer
	if err := f.mapClaims(&o.Claims); err != nil {
		return nil, err
	}
	introspection, err := f.forIssuer("--auth-introspection-url", f.introspection.urls, issuer)
	if err != nil {
		return nil, err
	}
	if introspection != "" {
		return f.introspecting(&o, introspection)
	}
	if o.JWKSURL, err = f.forIssuer("--auth-jwks-url", f.jwksURLs, issuer); err != nil {
		return nil, err
	}
	v, err := serve.NewJWT(&o)
	if err != nil {
		return nil, usage("", "serve: %v", err)
	}
	return v, nil
}

// introspecting returns the verifier that asks an issuer about its tokens.
func (f *accessFlags) introspecting(jwt *serve.JWTOptions, url string) (serve.Verifier, error) {
	secret, err := secretOfServer("--auth-introspection-secret-file", f.introspection.secretFile)
	if err != nil {
		return nil, err
	}
	v, err := serve.NewIntrospection(&serve.IntrospectionOptions{
		Issuer:   jwt.Issuer,
		URL:      url,
		ClientID: f.introspection.clientID,
		Secret:   secret,
		Audience: jwt.Audience,
		Claims:   jwt.Claims,
	})
	if err != nil {
		return nil, usage("--auth-introspection-url https://id.example.com/introspect", "serve: %v", err)
	}
	return v, nil
}

// secretOfServer returns a function that reads a secret from the file of a flag, or nil without
// one. It reads the file once, since a missing one would otherwise fail the first login.
func secretOfServer(flag, name string) (identity.Secret, error) {
	secret := secretInFile(name)
	if secret == nil {
		return nil, nil
	}
	text, err := secret(context.Background())
	if err != nil {
		return nil, badInput("write the secret of the client to that file", "serve: %s: %v", flag, err)
	}
	if strings.TrimSpace(text) == "" {
		return nil, badInput("write the secret of the client to that file", "serve: %s: %s is empty", flag, name)
	}
	return secret, nil
}

// secretInFile returns a function that reads a secret from a file, or nil without one.
func secretInFile(name string) identity.Secret {
	if name == "" {
		return nil
	}
	return func(context.Context) (string, error) {
		text, err := fsutil.ReadText(name, 64<<10)
		return string(text), err
	}
}

// forIssuer returns the URL for an issuer in a flag of URL or ISSUER=URL, or "".
func (f *accessFlags) forIssuer(flag string, all []string, issuer string) (string, error) {
	for _, given := range all {
		if url, ok := strings.CutPrefix(given, issuer+"="); ok {
			return url, nil
		}
		of, _, named := strings.Cut(given, "=http")
		switch {
		case named && slices.Contains(f.issuers, of):
		case len(f.issuers) > 1:
			return "", usage(flag+" "+issuer+"="+given, "serve: with several issuers, %s must be ISSUER=URL", flag)
		default:
			return given, nil
		}
	}
	return "", nil
}

// mapClaims adds the paths of --auth-claim.
func (f *accessFlags) mapClaims(o *serve.ClaimOptions) error {
	paths, err := pairs("--auth-claim", "groups=groups", f.claims)
	if err != nil {
		return err
	}
	o.Groups, o.Roles, o.Other = paths["groups"], paths["roles"], nil
	if tenant := paths["tenant"]; len(tenant) > 1 {
		return usage("omit one of them", "serve: --auth-claim: tenant has %d paths", len(tenant))
	} else if len(tenant) == 1 {
		o.Tenant = tenant[0]
	}
	for name, of := range paths {
		switch name {
		case "groups", "roles", "tenant":
		default:
			if o.Other == nil {
				o.Other = make(map[string][]string)
			}
			o.Other[name] = of
		}
	}
	return nil
}

// pairs parses a flag of NAME=VALUE pairs; a name may have several values. example is a valid
// pair.
func pairs(flag, example string, given []string) (map[string][]string, error) {
	values := make(map[string][]string)
	for _, pair := range given {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || value == "" {
			return nil, usage("for example "+flag+" "+example, "serve: %s: %q is not NAME=VALUE", flag, pair)
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}
