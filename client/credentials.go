package client

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Credentials authorize the requests to an [Endpoint], for example with tokens that
// expire. They must be safe for concurrent use. Package identity has an implementation.
type Credentials interface {
	// Authorize adds headers to a request that is about to be sent. The request's body must
	// not be read. Without credentials it adds nothing. The request fails with its error.
	Authorize(r *http.Request) error
	// Refused is called with a response of status 401 or 403, whose body must not be read.
	// It reports whether to send the request again, which calls Authorize again. An error
	// explains to the user why the request cannot be authorized.
	Refused(resp *http.Response) (retry bool, err error)
}

// maxAuthorizations is how often a request is sent: with the first token, with a nonce
// that the server demands, and with another token.
const maxAuthorizations = 3

// AuthorizeError is the error of a request that was not sent because its [Credentials] or the Describe
// of its [Endpoint] failed. The connection is not affected.
type AuthorizeError struct{ Err error }

// Error implements error.
func (e *AuthorizeError) Error() string { return e.Err.Error() }

// Unwrap returns the error of [Credentials.Authorize] or Describe.
func (e *AuthorizeError) Unwrap() error { return e.Err }

// refusalKey is the context key of the error that explains a refused request.
type refusalKey struct{}

// refusalOf returns the error of [Credentials.Refused] for a response, or nil.
func refusalOf(resp *http.Response) error {
	if resp.Request == nil {
		return nil
	}
	err, _ := resp.Request.Context().Value(refusalKey{}).(error)
	return err
}

// authorizes reports whether Credentials apply: a token of Header has precedence.
func (e *Endpoint) authorizes() bool {
	return e.Credentials != nil && e.header().Get("Authorization") == ""
}

// doAuthorized makes a request with the credentials, and again if they change.
func (e *Endpoint) doAuthorized(r *http.Request, t *tap.Tapper) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		if err := e.Credentials.Authorize(r); err != nil {
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			return nil, &AuthorizeError{err}
		}
		e.rememberToken(r)
		resp, err := e.send(r, t)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden ||
			resp.Request == nil || !sameHost(resp.Request.URL, r.URL) {
			return resp, err
		}
		retry, refusal := e.Credentials.Refused(resp)
		if refusal != nil {
			resp.Request = resp.Request.WithContext(context.WithValue(resp.Request.Context(), refusalKey{}, refusal))
		}
		if !retry || attempt == maxAuthorizations {
			return resp, nil
		}
		drainAndClose(resp.Body)
		if r, err = again(r); err != nil {
			return nil, err
		}
	}
}

// again returns a copy of a request that has been sent.
func again(r *http.Request) (*http.Request, error) {
	copied := r.Clone(r.Context())
	for _, name := range authorizationHeaders {
		copied.Header.Del(name)
	}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		copied.Body = body
	}
	return copied, nil
}

// authorizationHeaders are the headers that credentials set.
var authorizationHeaders = []string{"Authorization", "Dpop"}

// rememberToken keeps the token of a request, to redact it in errors.
func (e *Endpoint) rememberToken(r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if last := e.token.Load(); token != "" && (last == nil || *last != token) {
		e.token.Store(&token)
	}
}

// authorizationError returns the error of the credentials in err, or nil if err is about
// the connection or the server.
func authorizationError(err error) error {
	var unsent *AuthorizeError
	if errors.As(err, &unsent) {
		return unsent.Err
	}
	var refused *StatusError
	if errors.As(err, &refused) && refused.explained() {
		return refused.Err
	}
	return nil
}

// explained reports whether the error of the credentials says more than the response. An
// error may have a method Explains to deny that.
func (e *StatusError) explained() bool {
	var explains interface{ Explains() bool }
	return e.Err != nil && (!errors.As(e.Err, &explains) || explains.Explains())
}
