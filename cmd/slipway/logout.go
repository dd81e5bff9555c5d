package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

func newLogout() *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "logout [FILE...] SERVER|URL",
		Short: "Log out of a server and revoke its tokens",
		Long: `Remove the stored login to a server, and revoke its tokens at the authorization
server. If that is not supported or fails, the login is removed all the same,
and the tokens remain valid until they expire.`,
		Example: `  slipway logout https://mcp.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server := strings.TrimPrefix(args[len(args)-1], "live:")
			if !strings.Contains(server, "://") {
				var err error
				if server, _, err = f.defined(cmd, args[:len(args)-1], server); err != nil {
					return err
				}
			}
			allow, err := networks(cmd)
			if err != nil {
				return err
			}
			c, err := newIdentity(cmd, allow, nil)
			if err != nil {
				return err
			}
			revoked, err := c.Logout(cmd.Context(), server)
			gone := !errors.Is(err, identity.ErrNoLogin)
			if wantsJSON(cmd) {
				if err := printJSON(cmd.OutOrStdout(), map[string]bool{
					"loggedOut": gone,
					"revoked":   revoked,
				}); err != nil {
					return err
				}
			}
			switch {
			case errors.Is(err, identity.ErrNoLogin):
				return no("slipway login --list lists the logins", "logout: %v", err)
			case err != nil:
				return remoteFailed("", "logout: %v", err)
			case !revoked:
				say(cmd.ErrOrStderr(), "logged out of %s; its tokens cannot be revoked and remain valid until they expire",
					secrets.URL(server))
				return nil
			}
			say(cmd.ErrOrStderr(), "logged out of %s, and revoked its tokens", secrets.URL(server))
			return nil
		},
	}
	networkFlag(cmd)
	jsonFlag(cmd, "whether the tokens were revoked")
	return cmd
}
