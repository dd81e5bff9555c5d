package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// StatusError is an HTTP response that is not part of the protocol.
type StatusError struct {
	Status int
	// Body is the first line of a body of text, for messages. It is empty for HTML.
	Body string
	// Start is the first 500 bytes of the body, whatever its type, without secrets.
	Start string
	// ContentType is the Content-Type of the response, truncated and printable.
	ContentType string
	// Challenge is the WWW-Authenticate of the response, usually of a 401 or 403: a scheme,
	// and its realm, scope and resource_metadata. It is truncated and printable.
	Challenge string
	// Token reports whether the request had an Authorization header.
	Token bool
	// Err is the error of [Credentials.Refused], or nil.
	Err error
}

// Unwrap returns the error of the credentials, or nil.
func (e *StatusError) Unwrap() error { return e.Err }

// Refused reports whether the server requires a token, or another one (401), or whether
// the token does not allow the request (403).
func (e *StatusError) Refused() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// busy reports whether the server may accept the same request later.
func (e *StatusError) busy() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
}

// Error implements the error interface.
func (e *StatusError) Error() string {
	if e.explained() {
		return e.Err.Error()
	}
	return "the server answered with " + e.text()
}

// text describes the response for people.
func (e *StatusError) text() string {
	text := fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		text += ": " + e.Body
	}
	// A bare challenge says nothing that the status does not.
	if e.Challenge != "" && !strings.EqualFold(e.Challenge, "Bearer") {
		text += "; WWW-Authenticate: " + e.Challenge
	}
	return text
}

// mayRejectHandshake reports whether the status may mean that the server does not know the
// handshake, so that another one should be tried.
func (e *StatusError) mayRejectHandshake() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// mayForgetSession reports whether the status may mean that the server has forgotten the
// session. Servers use different statuses for that.
func (e *StatusError) mayForgetSession(inSession bool) bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusBadRequest:
		return inSession
	case http.StatusServiceUnavailable:
		return true
	}
	return false
}

// doubtError is a response of a server that either did not understand the request, and so
// did not act on it, or reports an error of the request itself.
type doubtError struct{ error }

func (e doubtError) Unwrap() error { return e.error }

// markDoubt marks an error whose status may mean that the server now uses another version:
// after a restart it may be a different server.
func (e *StatusError) markDoubt(err error) error {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusGone,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
		http.StatusUpgradeRequired, http.StatusNotImplemented:
		return doubtError{err}
	}
	return err
}

// Limits of what errors keep of a response, in bytes.
const (
	maxStart       = 500
	maxContentType = 200
)

// start returns the beginning of a body. Secrets are redacted before it is truncated, so
// that none is cut into something else.
func (e *Endpoint) start(text []byte) string {
	shown := e.redact(strings.ToValidUTF8(string(text), "?"))
	if len(shown) > maxStart {
		shown = strings.ToValidUTF8(shown[:maxStart], "")
	}
	return shown
}

// maxChallenge is the maximum length of a WWW-Authenticate header in errors.
const maxChallenge = 400

// statusError returns the error for a response, whose body begins with text.
func (e *Endpoint) statusError(resp *http.Response, text []byte) *StatusError {
	status := &StatusError{
		Status:      resp.StatusCode,
		Body:        e.excerpt(resp, text),
		Start:       e.start(text),
		ContentType: visible.Line(truncate(resp.Header.Get("Content-Type"), maxContentType)),
		Err:         refusalOf(resp),
	}
	if resp.Request != nil {
		status.Token = resp.Request.Header.Get("Authorization") != ""
	}
	challenge := e.redact(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	status.Challenge = visible.Line(strings.ToValidUTF8(truncate(challenge, maxChallenge), "?"))
	return status
}

// maxRefusal and refusalTime limit what is read of the body of an unexpected response, and
// for how long.
const (
	maxRefusal  = 64 << 10
	refusalTime = 2 * time.Second
)

// refusal reads the body of a response that is not part of the protocol, taps it, and
// returns the error for it. It closes the body.
func (l *httpLink) refusal(resp *http.Response) *StatusError {
	timer := time.AfterFunc(refusalTime, func() {
		_ = resp.Body.Close()
	}) // unblocks the read
	defer timer.Stop()
	defer drainAndClose(resp.Body)
	return l.endpoint.statusError(resp, l.readRefusal(resp))
}

// readRefusal reads and taps the body of a response that is not part of the protocol.
func (l *httpLink) readRefusal(resp *http.Response) []byte {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what there is, is shown
	if x := l.tapOf(resp); x != nil && len(text) > 0 {
		x.Received(text, tap.Body)
	}
	return text
}

// excerpt returns the first line of a body for errors, or "" for HTML.
func (e *Endpoint) excerpt(resp *http.Response, text []byte) string {
	if mediatype.IsHTML(resp.Header.Get("Content-Type")) {
		return ""
	}
	return e.firstLine(string(text))
}

// firstLine returns the start of the first line of a text, without secrets.
func (e *Endpoint) firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(text, "?")), "\n")
	return truncate(e.redact(line), 200)
}

// truncate returns at most limit bytes of a text, with an ellipsis if there are more.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
