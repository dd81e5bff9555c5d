package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// Failure is an error as the page shows it.
type Failure struct {
	// Text is what failed and why.
	Text string `json:"text"`
	// Hint is the next step, Command a command to type for it.
	Hint    string `json:"hint,omitempty"`
	Command string `json:"command,omitempty"`
	// Code is a word for programs.
	Code string `json:"code,omitempty"`
	// RPC is the code of a JSON-RPC error, and Data its data.
	RPC  int             `json:"rpc,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	// Status, Challenge (WWW-Authenticate), ContentType and the start of the Body are those of
	// an HTTP response.
	Status      int    `json:"status,omitempty"`
	Challenge   string `json:"challenge,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"`
	// Login is how to log in to a server that requires a login, once that is known.
	Login *Login `json:"login,omitempty"`
	// Step is the step of connecting that failed.
	Step string `json:"step,omitempty"`

	http     int       // status of the response of the API
	problems []Problem // in arguments
}

// Login is what a server's metadata says about logins.
type Login struct {
	// Issuer is the authorization server, and Error why there is none.
	Issuer string `json:"issuer,omitempty"`
	Error  string `json:"error,omitempty"`
	// Scopes are those that the server asks for.
	Scopes []string `json:"scopes,omitempty"`
	// Registers reports whether the authorization server registers clients.
	Registers bool `json:"registers,omitempty"`
}

// Error implements the error interface.
func (f *Failure) Error() string { return f.Text }

// failure returns an error of the API: status is that of the response, and code the word by which
// the page tells failures apart.
func failure(status int, code, format string, args ...any) *Failure {
	return &Failure{
		Text: fmt.Sprintf(format, args...),
		Code: code,
		http: status,
	}
}

func badRequest(format string, args ...any) *Failure {
	return failure(http.StatusBadRequest, "bad_request", format, args...)
}

func notFound(format string, args ...any) *Failure {
	return failure(http.StatusNotFound, "not_found", format, args...)
}

// hinter is an error that knows the next step.
type hinter interface{ Hint() string }

// explain returns an error of a source as the page shows it.
func (in *Inspector) explain(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	f = &Failure{
		Text: in.clean(err.Error()),
		http: http.StatusBadGateway,
	}
	var rpc *mcp.Error
	if errors.As(err, &rpc) {
		f.RPC = int(rpc.Code)
		f.Text = in.clean(rpc.Message)
		f.Data = in.feed.redactor.JSON(rpc.Data)
	}
	var status *client.StatusError
	if errors.As(err, &status) {
		f.Status = status.Status
		f.Challenge = in.clean(status.Challenge)
		f.ContentType = in.clean(status.ContentType)
		f.Body = in.clean(status.Start)
		f.Hint = statusHint(status)
	}
	var h hinter
	if errors.As(err, &h) && f.Hint == "" {
		f.Hint = h.Hint()
	}
	return f
}

// statusHint returns the next step after an HTTP status.
func statusHint(s *client.StatusError) string {
	switch {
	case s.Refused() && s.Token:
		return "the server does not accept the token in MCP_CLIENT_TOKEN for this"
	case s.Refused():
		return "start again with a bearer token in MCP_CLIENT_TOKEN"
	case s.Status == http.StatusNotFound:
		return "check the path of the URL: most servers answer at /mcp"
	case s.Status == http.StatusMethodNotAllowed:
		return "this URL does not accept POST: check its path"
	case s.Status >= 500:
		return "the server or a proxy in front of it failed: read its log"
	}
	return ""
}
