package open

import (
	"errors"

	"github.com/slipway-mcp/slipway/client"
)

// Hint returns the next step for a server that could not be opened, or "". definitions is
// the file that defines it, or empty if it was given as a URL.
func Hint(err error, definitions string) string {
	var exit *client.ExitError
	if errors.As(err, &exit) {
		return exit.Hint()
	}
	var status *client.StatusError
	if !errors.As(err, &status) || !status.Refused() {
		return ""
	}
	switch listed := "slipway config secrets " + definitions; {
	case definitions != "" && status.Token:
		return "check the token that the server gets: " + listed + " shows where it comes from"
	case definitions != "":
		return "name a token below secrets of the server, and set it: " + listed + " shows what is missing"
	case status.Token:
		return "check the token in MCP_CLIENT_TOKEN: the server does not accept it for this"
	}
	return "set MCP_CLIENT_TOKEN to a bearer token for the server, or name one below secrets in definitions"
}
