package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/visible"
)

func newLogout() *cobra.Command {
	var f loginFlags
	var caller string
	cmd := &cobra.Command{
		Use:   "logout [FILE...] [SERVER|URL]",
		Short: "Log out of a server and revoke its tokens",
		Long: `Remove the stored login to a server, and revoke its tokens at the authorization
server. If that is not supported or fails, the login is removed all the same,
and the tokens remain valid until they expire.

With --caller, end logins that a caller of slipway serve has made on the page of
the gateway: to one server, or without SERVER to all. Gateways that run notice
it at the next request.`,
		Example: `  slipway logout https://mcp.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if caller != "" {
				return f.logoutCaller(cmd, args, caller)
			}
			if len(args) == 0 {
				return usage("slipway login --list lists the logins", "logout: no server")
			}
			server, err := f.server(cmd, args)
			if err != nil {
				return err
			}
			c, err := loginsOf(cmd)
			if err != nil {
				return err
			}
			wait := waitFor(cmd, secrets.URL(server))
			revoked, err := c.Logout(cmd.Context(), server)
			wait.finish()
			gone := err == nil || errors.Is(err, identity.ErrNotRevoked)
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
			case err != nil && !gone:
				return storeFailed(err)
			case err != nil:
				return remoteFailed("end the session in your account there; slipway login --list lists the remaining logins",
					"logout: %s", inOneLine(err))
			case !revoked:
				say(cmd.ErrOrStderr(), "logged out of %s; its tokens cannot be revoked and remain valid until they expire",
					secrets.URL(server))
				return nil
			}
			say(cmd.ErrOrStderr(), "logged out of %s, and revoked its tokens", secrets.URL(server))
			return nil
		},
	}
	cmd.Flags().StringVar(&caller, "caller", "",
		"end logins of this `caller` of a gateway, as in slipway ps: ISSUER#SUBJECT")
	networkFlag(cmd)
	jsonFlag(cmd, "whether the tokens were revoked")
	return cmd
}

// inOneLine returns the text of an error that may consist of several, one a line.
func inOneLine(err error) string {
	return visible.Line(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// storeFailed returns the failure for an error of the store of logins.
func storeFailed(err error) *failure {
	f := explain(fmt.Errorf("logout: %w", err))
	return &failure{
		code:  f.code,
		text:  inOneLine(f),
		hint:  f.hint,
		cause: err,
	}
}

// server returns the URL of the server that the arguments name.
func (f *loginFlags) server(cmd *cobra.Command, args []string) (string, error) {
	server := strings.TrimPrefix(args[len(args)-1], "live:")
	if strings.Contains(server, "://") {
		return server, nil
	}
	server, _, err := f.defined(cmd, args[:len(args)-1], server)
	return server, err
}

// logoutCaller ends logins of a caller of a gateway.
func (f *loginFlags) logoutCaller(cmd *cobra.Command, args []string, caller string) error {
	server := ""
	var err error
	if len(args) > 0 {
		if server, err = f.server(cmd, args); err != nil {
			return err
		}
	}
	c, err := loginsOf(cmd)
	if err != nil {
		return err
	}
	wait := waitFor(cmd, visible.Line(caller))
	ended, err := c.Disconnect(cmd.Context(), caller, server)
	wait.finish()
	if wantsJSON(cmd) {
		if err := printJSON(cmd.OutOrStdout(), map[string]any{
			"loggedOut": ended > 0,
			"ended":     ended,
			"revoked":   err == nil,
		}); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, identity.ErrNoLogin):
		return no("slipway ps lists the logins of callers", "logout: %v", err)
	case err != nil && !errors.Is(err, identity.ErrNotRevoked):
		return storeFailed(err)
	case err != nil:
		return remoteFailed("slipway ps lists the logins that remain", "logout: %s", inOneLine(err))
	}
	say(cmd.ErrOrStderr(), "ended %s of %s", count(ended, "login"), visible.Line(caller))
	return nil
}

// loginsOf opens the stored logins, within the networks that the flags of cmd permit.
func loginsOf(cmd *cobra.Command) (*identity.Client, error) {
	allow, err := networks(cmd)
	if err != nil {
		return nil, err
	}
	return newIdentity(cmd, allow, nil)
}
