package identity

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// LoginRequiredError reports that a server needs a login that only the user can make.
// Pass it to [Client.Login] as the reason for the login.
type LoginRequiredError struct {
	// Server is the URL of the server.
	Server string
	// Issuer is the authorization server of the login that is no longer accepted, or
	// empty.
	Issuer string
	// Scopes are what the server asks for; empty means that it does not say.
	Scopes []string
	// Reason says why, as a clause: "it requires a login".
	Reason string
	// Advertised reports whether the server names its metadata: it supports logins. Without
	// that, it may also want a token from elsewhere.
	Advertised bool
	// Repeated reports that the login already asked for these scopes, so another one is
	// unlikely to help.
	Repeated bool

	demand   demand
	settings *Settings
}

// Error implements the error interface. The text does not name the server, whose URL the
// clients of a gateway should not see.
func (e *LoginRequiredError) Error() string {
	text := e.Reason
	if len(e.Scopes) > 0 {
		text += " (scope " + strings.Join(e.Scopes, " ") + ")"
	}
	return text
}

// ServerError is an error response of an authorization server (RFC 6749, section 5.2).
type ServerError struct {
	// Host is the host that answered, and Status its HTTP status; 0 means that the answer
	// came through the browser.
	Host   string
	Status int
	// Code is the error, such as invalid_grant, or empty if the answer has none, and
	// Description the text for developers. Both are printable.
	Code, Description string
}

// Error implements the error interface.
func (e *ServerError) Error() string {
	text := e.Host + " answered"
	if e.Status != 0 {
		text += fmt.Sprintf(" with HTTP status %d", e.Status)
	}
	if e.Code != "" {
		text += ": " + e.Code
	}
	if e.Description != "" {
		text += ": " + e.Description
	}
	return text
}

// hasCode reports whether an authorization server answered with this error.
func hasCode(err error, code string) bool {
	var e *ServerError
	return errors.As(err, &e) && e.Code == code
}

// printable returns the first line of a text from a server, for messages.
func printable(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(strings.ToValidUTF8(text, "?")), "\n")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return visible.Line(text)
}

// Explains reports whether the error says more than the response of the server, which may
// want a token from elsewhere. Package client uses it.
func (e *LoginRequiredError) Explains() bool { return e.Advertised || e.Issuer != "" }

// Hint returns the next step for the user.
func (e *LoginRequiredError) Hint() string {
	if e.settings != nil && e.settings.Command != "" {
		return e.settings.Command
	}
	if e.Explains() {
		return CommandFor(e.Server)
	}
	return "set MCP_CLIENT_TOKEN to a bearer token for the server, or log in: " + CommandFor(e.Server)
}

// DiscoveryError reports that where to log in could not be found out: a document about it is
// missing, wrong or refused. Nothing was sent to an authorization server.
type DiscoveryError struct{ Err error }

// Error implements the error interface.
func (e *DiscoveryError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *DiscoveryError) Unwrap() error { return e.Err }

// SetupError reports that a login needs a setting that only the user can supply.
type SetupError struct {
	// Text is what is missing, and Hint how to supply it.
	Text, Hint string
}

// Error implements the error interface.
func (e *SetupError) Error() string { return e.Text }
