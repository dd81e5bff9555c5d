package main

import (
	"errors"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/stax"
)

// serverHint returns the next step for a server that could not be opened, or "". file is
// the definitions file that defines it.
func serverHint(err error, file string) string {
	var exit *client.ExitError
	var status *client.StatusError
	var login *identity.LoginRequiredError
	var setup *identity.SetupError
	list := "slipway config secrets " + shell.PathWord(file)
	switch {
	case errors.As(err, new(*stax.MissingError)):
		return "--secrets-from specifies where secrets are stored"
	case errors.As(err, &setup):
		return setup.Hint
	case errors.Is(err, stax.ErrUserLogin):
		return userLoginHint
	case errors.Is(err, stax.ErrCallerToken):
		return "serve with --auth-issuer or --sign-in"
	case errors.As(err, &login) && login.Advertised:
		return login.Hint()
	case errors.As(err, &exit):
		return exit.Hint()
	case !errors.As(err, &status) || !status.Refused():
		return ""
	case status.Token:
		return "check the token that the server gets: " + list + " shows where it comes from"
	}
	return "name a token below secrets of the server, and set it: " + list + " shows what is missing"
}
