package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/stax"
)

// connectFlags say how callers prove who they are on the page on which they log in to servers.
type connectFlags struct {
	clientID, secretFile string
	scopes               []string
	noResource           bool
}

// settings returns how to log in at the issuers of callers.
func (f *connectFlags) settings(cmd *cobra.Command) identity.Settings {
	s := identity.Settings{
		Scopes:       f.scopes,
		OmitResource: f.noResource,
	}
	s.Client.ID = f.clientID
	s.Client.Secret = secretFile(cmd, f.secretFile)
	return s
}

// openVault makes the servers of definitions usable with the login of each caller. Without an
// issuer of callers and an address for their browsers, servers that need it are refused.
func (f *serveFlags) openVault(cmd *cobra.Command, r *stax.Resolver, log *slog.Logger) error {
	r.Shared = !f.stdio
	proof := f.connect.settings(cmd)
	if err := proof.Check(); err != nil {
		return usage("set both, or neither", "serve: --connect-client-id: %v", err)
	}
	if f.stdio || len(f.issuers) == 0 || f.PublicURL == "" || f.cluster.urls != "" {
		return nil
	}
	f.Vault = identity.NewVault(&identity.VaultOptions{
		Client: r.Identity,
		Proof:  proof,
		Logger: log,
	})
	r.Vault = f.Vault
	return nil
}

// userLoginHint is the next step for a server that is used with the login of each caller.
const userLoginHint = "serve with --auth-issuer and --public-url, and without --cluster; or let the gateway log in: " +
	`"by": "gateway"`
