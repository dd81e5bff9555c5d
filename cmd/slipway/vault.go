package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/stax"
)

// connectFlags say how callers prove who they are on the page on which they log in to servers.
type connectFlags struct {
	// clientID and secretFile are the client of the gateway at the issuers of its callers.
	clientID, secretFile string
	scopes               []string
	// noResource omits the parameter of RFC 8707, which some issuers refuse.
	noResource bool
}

// settings returns how to log in at the issuers of callers.
func (f *connectFlags) settings() (identity.Settings, error) {
	s := identity.Settings{
		Scopes:       f.scopes,
		OmitResource: f.noResource,
	}
	s.Client.ID = f.clientID
	var err error
	s.Client.Secret, err = secretOfServer("--connect-client-secret-file", f.secretFile)
	return s, err
}

// openVault makes the servers of definitions usable with the login of each caller. Without an
// issuer of callers and an address for their browsers, servers that need it are refused.
func (f *serveFlags) openVault(
	cmd *cobra.Command,
	r *stax.Resolver,
	log *slog.Logger,
) error {
	r.Shared = !f.stdio
	issued := len(f.issuers) > 0 || f.signIn.issuer != ""
	r.Tokens = r.Shared && issued
	proof, err := f.connect.settings()
	if err != nil {
		return err
	}
	if err := proof.Check(); err != nil {
		return usage("set both, or neither", "serve: --connect-client-id: %v", err)
	}
	if f.stdio || !issued || f.PublicURL == "" {
		return nil
	}
	logins := r.Identity
	if f.Cluster != nil { // logins of the gateway itself stay in the store of this machine
		allow, err := networks(cmd)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), joinWithin)
		defer cancel()
		store, err := identity.OpenSharedStore(ctx, f.Cluster)
		if err != nil {
			return remoteFailed("check that the engine runs, and the URL", "%v", err)
		}
		logins = identity.New(&identity.Options{
			Store:        store,
			AllowNetwork: allow,
			Logger:       log,
		})
	}
	f.Vault = identity.NewVault(&identity.VaultOptions{
		Client: logins,
		Proof:  proof,
		Logger: log,
	})
	r.Vault = f.Vault
	if f.signIn.issuer == "" {
		r.CheckVault = func() error {
			return f.checkProof(cmd.Context(), logins, &proof, log)
		}
	}
	return nil
}

// checkProof returns why no caller can prove in a browser who they are, if that is certain: all
// issuers have opaque tokens, and none has a login page that the gateway can use. Issuers of
// opaque tokens need no such page, and many are for programs alone.
func (f *serveFlags) checkProof(
	ctx context.Context, logins *identity.Client, proof *identity.Settings, log *slog.Logger,
) error {
	ctx, cancel := context.WithTimeout(ctx, checkProofWithin)
	defer cancel()
	var missing []error
	for _, issuer := range f.issuers {
		url, err := f.forIssuer("--auth-introspection-url", f.introspection.urls, issuer)
		if err != nil {
			return err
		}
		if url == "" {
			continue
		}
		err = logins.CheckProof(ctx, issuer, &identity.BeginOptions{
			Redirect: strings.TrimSuffix(f.PublicURL, "/") + identity.ConnectCallback,
			Settings: proof,
		})
		var setup *identity.SetupError
		switch {
		case errors.As(err, &setup):
			missing = append(missing, err)
			log.Warn("callers of an issuer cannot log in to servers",
				"issuer", issuer,
				"error", err,
				"hint", setup.Hint,
			)
		case err != nil: // it may recover
			log.Warn("issuer not reached, its callers may be unable to log in to servers",
				"issuer", issuer,
				"error", err,
			)
		}
	}
	if len(missing) < len(f.issuers) {
		return nil
	}
	return errors.Join(missing...)
}

// checkProofWithin bounds the question to all issuers of opaque tokens.
const checkProofWithin = 10 * time.Second

// userLoginHint is the next step for a server that is used with the login of each caller.
const userLoginHint = "serve with --auth-issuer or --sign-in, and --public-url; or let the gateway log in: " +
	`"by": "gateway"`
