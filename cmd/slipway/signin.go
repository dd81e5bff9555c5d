package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// signInFlags say how users sign in if the server is the authorization server of its clients.
type signInFlags struct {
	issuer, clientID, secretFile, subject string
	// allow is CLAIM=VALUE, and endpoints NAME=URL.
	scopes, allow, endpoints, redirects []string
}

// conflicts returns the contradictions between these settings and others.
func (s *signInFlags) conflicts(f *serveFlags) (all []conflict) {
	add := func(found bool, flag, hint, message string) {
		if found {
			all = append(all, conflict{flag, hint, message, false})
		}
	}
	on := s.issuer != ""
	others := s.clientID+s.secretFile+s.subject != "" ||
		len(s.scopes)+len(s.allow)+len(s.endpoints)+len(s.redirects) > 0
	add(!on && others, "sign-in", "add --sign-in URL", "the other --sign-in flags require --sign-in")
	add(s.secretFile != "" && s.clientID == "", "sign-in-client-id", "set both",
		"--sign-in-client-secret-file requires --sign-in-client-id")
	add(on && f.PublicURL == "", "public-url", "--public-url https://mcp.example.com",
		"--sign-in requires --public-url, at which browsers reach the server")
	add(on && f.stdio, "sign-in", "omit one of them", "--stdio has no --sign-in")
	add(on && f.cluster.urls != "", "sign-in", "serve with one replica, or use --auth-issuer",
		"--sign-in does not work with --cluster: logins in progress are in the memory of one replica")
	add(on && len(s.allow) == 0 && f.policyFile == "" && identity.IsPublicProvider(s.issuer), "sign-in-allow",
		"--sign-in-allow hd=example.com for Google, --sign-in-allow login=NAME for GitHub, or --policy FILE",
		"everyone may have an account at the provider of --sign-in, so that everyone could use the server")
	return all
}

// openBroker makes the server the authorization server of its clients. It checks in the background
// whether users can sign in at the provider, until stop is called.
func (f *serveFlags) openBroker(
	cmd *cobra.Command,
	r *stax.Resolver,
	log *slog.Logger,
) (stop func(), err error) {
	s := &f.signIn
	if s.issuer == "" {
		return func() {}, nil
	}
	endpoints, err := pairs("--sign-in-endpoint", "token=https://id.example.com/token", s.endpoints)
	if err != nil {
		return nil, err
	}
	for name, urls := range endpoints {
		if name != "authorize" && name != "token" && name != "userinfo" ||
			len(urls) > 1 {
			return nil, usage("--sign-in-endpoint authorize=URL, token=URL and userinfo=URL",
				"serve: --sign-in-endpoint: %q is unknown or repeated", name)
		}
	}
	secret, err := secretOfServer("--sign-in-client-secret-file", s.secretFile)
	if err != nil {
		return nil, err
	}
	one := func(name string) string { return strings.Join(endpoints[name], "") }
	o := &identity.ProviderOptions{
		Issuer:    s.issuer,
		Scopes:    s.scopes,
		Authorize: one("authorize"),
		Token:     one("token"),
		UserInfo:  one("userinfo"),
		Subject:   s.subject,
		Client: identity.ClientSettings{
			ID:     s.clientID,
			Secret: secret,
		},
	}
	callback := strings.TrimSuffix(f.PublicURL, "/") + broker.CallbackPath
	provider, err := identity.NewProvider(r.Identity, o)
	if setup := (*identity.SetupError)(nil); errors.As(err, &setup) {
		return nil, usage("register a client there with the callback "+callback+", and pass its ID with --sign-in-client-id",
			"serve: --sign-in: %v", err)
	}
	if err != nil {
		return nil, usage("--sign-in https://id.example.com", "serve: --sign-in: %v", err)
	}
	allow, err := pairs("--sign-in-allow", "hd=example.com", s.allow)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(strings.TrimSuffix(f.PublicURL, "/"))) // each server has its own
	store, err := openStore(cmd, filepath.Join("sign-ins", fmt.Sprintf("%x", digest[:8])), "sign-ins")
	if err != nil {
		return nil, err
	}
	f.Broker, err = serve.NewBroker(&serve.BrokerOptions{
		PublicURL:    f.PublicURL,
		Provider:     provider,
		Store:        store,
		Allow:        allow,
		Redirects:    s.redirects,
		AllowNetwork: r.AllowNetwork,
		Logger:       log,
	})
	if err != nil {
		return nil, usage("slipway help serve describes the flags", "serve: --sign-in: %v", err)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	var checking sync.WaitGroup
	checking.Go(func() {
		if err := provider.Check(ctx, callback); err != nil && ctx.Err() == nil {
			warnOfProvider(err, s.issuer, log)
		}
	})
	return func() {
		cancel()
		checking.Wait()
	}, nil
}

// warnOfProvider logs why users cannot sign in at a provider. The server runs all the same: the
// provider may recover, and clients that are signed in work meanwhile.
func warnOfProvider(err error, issuer string, log *slog.Logger) {
	hint := "check that --sign-in is its address, and that it runs"
	var setup *identity.SetupError
	if errors.As(err, &setup) {
		hint = setup.Hint
	}
	log.Warn("users cannot sign in at the identity provider",
		"issuer", issuer,
		"error", err,
		"hint", hint,
	)
}

// signInIssuer returns the verifier for the tokens of the server itself, or nil.
func (f *accessFlags) signInIssuer() (*serve.JWT, error) {
	if f.Broker == nil {
		return nil, nil
	}
	if strings.TrimSuffix(f.PublicURL, "/") != f.Broker.Issuer() {
		return nil, usage("restart the server", "serve: with --sign-in, --public-url cannot change while the server runs")
	}
	var claims serve.ClaimOptions
	if err := f.mapClaims(&claims); err != nil {
		return nil, err
	}
	v, err := f.Broker.Verifier(&claims)
	if err != nil {
		return nil, usage("", "serve: --auth-claim: %v", err)
	}
	return v, nil
}
