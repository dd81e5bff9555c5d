package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
)

// Auth controls who may use a served Source, by bearer tokens in the Authorization header
// (RFC 6750; "Authorization" in the MCP specification). It covers the endpoint, the files
// of the Source and /metrics. Health checks, the landing page and paths below
// /.well-known/ stay open.
//
// A Source gets the caller from [mcp.PrincipalFrom]. Sessions and tasks belong to the
// principal that created them.
type Auth struct {
	// Verifiers verify tokens; they are tried in turn until one recognizes the token: see
	// [Tokens] and [JWT]. Without any, every request is refused.
	Verifiers []Verifier
	// Scopes are required for every request.
	Scopes []string
	// ToolScopes are the additional scopes for calling tools, by pattern: TOOL or
	// SOURCE/TOOL, in which "*" matches any text and "?" any single byte. A tool that
	// matches several patterns needs the scopes of all. At most 256.
	//
	// A pattern applies to the original name of a tool in its source, regardless of
	// prefixes, edits and name collisions ([mcp.Tool.Origins]). Names under which a tool is
	// shown also count, and stay bound to the tool that had them. [Run], [Serve] and [Stdio]
	// return a [*ToolScopeError] for a pattern that matches nothing, unless it may
	// match a source whose tools are not yet known.
	//
	// The files of a Source need the same scopes. Over stdio the principal is that of the
	// context; without one, no tool with a scope can be called.
	//
	// Lists include such tools for every caller: a client can only learn which scopes it
	// lacks for a tool that it knows. Lists that vary by caller are up to the Source.
	ToolScopes map[string][]string
	// SourceNames are names of the Source itself, for patterns such as NAME/TOOL.
	SourceNames []string
	// Implies lists the scopes that a scope includes, also transitively.
	Implies map[string][]string
	// AuthorizationServers are the issuers where a client gets a token. If there are any,
	// the metadata of RFC 9728 is served below /.well-known/oauth-protected-resource, and
	// every refusal refers to it.
	AuthorizationServers []string
}

// Verifier verifies bearer tokens and identifies their holders. It must be safe for
// concurrent use.
type Verifier interface {
	// Verify returns the holder of a token. The error wraps [ErrToken] if the token is
	// invalid or has expired; its text is not logged, as it might contain the token. Any
	// other error means that the token cannot be verified at the moment; the client is then
	// asked to retry, without the reason.
	Verify(ctx context.Context, token string) (*mcp.Principal, error)
}

// ErrToken is the error of a [Verifier] for an invalid token.
var ErrToken = errors.New("the token is not valid")

// verify returns the holder of a token, from the first verifier that recognizes it.
func (a *Auth) verify(ctx context.Context, token string) (*mcp.Principal, error) {
	var unknown error
	var reasons []string
	for _, v := range a.Verifiers {
		p, err := v.Verify(ctx, token)
		if err == nil && p != nil {
			return p, nil
		}
		var why *tokenError
		switch {
		case errors.As(err, &why):
			reasons = append(reasons, why.reason.Error())
		case err != nil && !errors.Is(err, ErrToken):
			unknown = err
		}
	}
	switch {
	case unknown != nil:
		return nil, unknown
	case len(reasons) > 0:
		return nil, invalid("%.500s", strings.Join(reasons, "; "))
	}
	return nil, ErrToken
}

// tokenError is [ErrToken] with a reason for logs, which is not sent to the client. It is made
// only in this package, so that no reason contains the token.
type tokenError struct{ reason error }

// invalid returns a *tokenError.
func invalid(format string, args ...any) error {
	return &tokenError{fmt.Errorf(format, args...)}
}

func (e *tokenError) Error() string { return ErrToken.Error() + ": " + e.reason.Error() }

// Unwrap makes [errors.Is] find ErrToken.
func (e *tokenError) Unwrap() []error { return []error{ErrToken, e.reason} }

// lacks reports whether p does not have all of the scopes.
func (a *Auth) lacks(p *mcp.Principal, scopes []string) bool {
	for _, s := range scopes {
		if !slices.Contains(p.Scopes, s) && !a.implied(p.Scopes, s, nil) {
			return true
		}
	}
	return false
}

// implied reports whether one of the held scopes includes scope. seen are the scopes
// already checked.
func (a *Auth) implied(held []string, scope string, seen []string) bool {
	for _, h := range held {
		if slices.Contains(seen, h) {
			continue
		}
		seen = append(seen, h)
		included := a.Implies[h]
		if slices.Contains(included, scope) || a.implied(included, scope, seen) {
			return true
		}
	}
	return false
}

// supported returns all configured scopes, for the metadata.
func (a *Auth) supported() []string {
	scopes := slices.Clone(a.Scopes)
	for _, of := range a.ToolScopes {
		scopes = append(scopes, of...)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// refusal is the reason, as sent to the client, why a request is not admitted.
type refusal struct {
	// status is the HTTP status of the answer.
	status int
	// kind is the error of RFC 6750, or "" if the request had no token.
	kind string
	// message is for the client, without details that would help to guess a token.
	message string
	// reason is for logs, with such details; "" is message.
	reason string
	scopes []string // required for the request
	after  int      // seconds after which to retry
	// burst is how many requests are possible at once after a pause of window seconds, if the rate is
	// exceeded.
	burst, window int
}

func (r *refusal) Error() string { return r.message }

// logged returns the reason for logs.
func (r *refusal) logged() string { return cmp.Or(r.reason, r.message) }

// Errors of RFC 6750.
const (
	kindRequest = "invalid_request"
	kindToken   = "invalid_token"
	kindScope   = "insufficient_scope"
)

// bearer returns the token of a request, or "" if it has none.
func bearer(r *http.Request) (string, *refusal) {
	if queryToken(r) {
		return "", malformed("send the token in the Authorization header: addresses are logged")
	}
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", malformed("more than one Authorization header")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	if !isToken(token) {
		return "", malformed("malformed bearer token")
	}
	return token, nil
}

// queryToken reports whether the client sent its token in the query, which is not
// allowed.
func queryToken(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, "access_token=")
}

// malformed refuses a request whose credentials cannot be parsed (RFC 6750, section 3.1).
func malformed(message string) *refusal {
	return &refusal{
		status:  http.StatusBadRequest,
		kind:    kindRequest,
		message: message,
	}
}

// maxToken is the longest token that is accepted, in bytes.
const maxToken = 16 << 10

// isToken reports whether s has the syntax that RFC 6750 gives to tokens.
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" || len(s) > maxToken {
		return false
	}
	for i := range len(body) {
		if c := body[i]; c >= utf8.RuneSelf || tokenBytes[c/64]>>(c%64)&1 == 0 {
			return false
		}
	}
	return true
}

// tokenBytes has a bit for each byte that a token may have. It is a table because the bytes of a token are
// random: branches on them would be mispredicted.
var tokenBytes = func() (bits [2]uint64) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/") {
		bits[c/64] |= 1 << (c % 64)
	}
	return bits
}()

// sumOf returns the hash by which a known token is found, so that the time of a
// comparison reveals nothing about the token itself.
func sumOf(token string) [sha256.Size]byte {
	var buf [1 << 10]byte // large enough for most tokens
	return sha256.Sum256(append(buf[:0], token...))
}

// challenge returns the value of WWW-Authenticate. metadata is the address of the
// protected resource's metadata, or "".
func (r *refusal) challenge(metadata string) string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	add("error", r.kind)
	if r.kind != "" {
		add("error_description", r.message)
	}
	add("scope", strings.Join(r.scopes, " "))
	add("resource_metadata", metadata)
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}
